"""`upsert` while its workers, broker, driver and database are killed: as if it were undisturbed.

A database is PostgreSQL, which recovers when it is started again, or SQLite, which is killed with
the driver.
"""

import random
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from tests.broker_process import BrokerProcess
from tests.crash.pipeline_kills import ALL_THE_TIME, Kills, Scene
from tests.postgres_process import PostgresProcess
from tests.table_contents import Contents, in_postgres, in_sqlite, model
from tests.upsert_events import make_topic, rows, send

from kafkaesque.pipelines import upsert

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]

TABLE = "t"
FIRST_MS = 1_700_000_000_000


class Upserts:
    def __init__(self, broker: BrokerProcess, place: Path, url: str) -> None:
        self._brokers = broker.bootstrap
        self._topic = make_topic(self._brokers)
        settings = {"reconnect.backoff.max.ms": 200, "log_level": 0}
        self._producer = Producer({"bootstrap.servers": self._brokers, **settings})
        self._chance = random.Random(7)
        self._next_ms = FIRST_MS
        scene = Scene(
            "upsert",
            ["upsert", "--topic", self._topic, "--to", url, "--table", TABLE, *ALL_THE_TIME],
            partial(upsert.start, topic=self._topic, to=url, table=TABLE),
            self._send_some,
        )
        self.kills = Kills(scene, broker, place)

    def expected(self) -> Contents:
        found = rows(self._brokers, self._topic)
        assert len(found) > 100
        return model(found)

    def _send_some(self) -> None:
        send(self._producer, self._topic, self._chance, 20, self._next_ms)
        self._next_ms += 10


@pytest.fixture
def server() -> Iterator[PostgresProcess]:
    with PostgresProcess() as process:
        yield process


def restart(server: PostgresProcess) -> None:
    server.kill()
    server.start()


@pytest.mark.timeout(600)
def test_a_killed_worker_broker_database_or_driver_leaves_the_table_of_an_undisturbed_run(
    broker: BrokerProcess, server: PostgresProcess, spark: SparkSession, tmp_path: Path
) -> None:
    upserts = Upserts(broker, tmp_path, server.url)
    kills = upserts.kills
    kills.play([kills.worker, kills.broker, partial(restart, server), kills.driver], spark)
    assert in_postgres(server.url, TABLE) == upserts.expected()


@pytest.mark.crash
@pytest.mark.timeout(3600)
def test_a_table_in_postgres_is_right_whatever_is_killed_again_and_again(
    broker: BrokerProcess, server: PostgresProcess, spark: SparkSession, tmp_path: Path
) -> None:
    upserts = Upserts(broker, tmp_path, server.url)
    kills = upserts.kills
    strikes = [kills.worker, kills.planner, kills.broker, kills.driver]
    kills.play_at_random([*strikes, partial(restart, server)], spark)
    assert in_postgres(server.url, TABLE) == upserts.expected()


@pytest.mark.crash
@pytest.mark.timeout(3600)
def test_a_table_in_sqlite_is_right_whatever_is_killed_again_and_again(
    broker: BrokerProcess, spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t.db"
    upserts = Upserts(broker, tmp_path, f"sqlite:///{path}")
    kills = upserts.kills
    workers = [kills.worker, kills.planner]
    kills.play_at_random([*workers, kills.broker, kills.driver, kills.checkpoint], spark)
    assert in_sqlite(path, TABLE) == upserts.expected()
