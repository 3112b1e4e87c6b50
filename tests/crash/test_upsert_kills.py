"""`upsert` while its driver, or its database, is killed with -9: the table is an undisturbed run's.

Each round: more events are written, and when some of them are in the table, the driver is killed
or, if it is PostgreSQL, its server, in turns. A killed server recovers at its next start.
"""

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.postgres_process import PostgresProcess
from tests.table_contents import Contents, in_postgres, in_sqlite, model
from tests.upsert_run import KEYS, TABLE, UpsertProcess, make_topic, produce, rows

EVENTS = 6000
FIRST_MS, ROUND_MS = 1_700_000_000_000, 1000
WAIT_S = 240


class Kills:
    def __init__(self, brokers: str, directory: Path, server: PostgresProcess | None) -> None:
        self._brokers = brokers
        self._server = server
        self._path = directory / "t.db"
        url = server.url if server else f"sqlite:///{self._path}"
        self._topic = make_topic(brokers)
        self._process = UpsertProcess(directory, brokers, self._topic, url)
        self._random = random.Random(7)
        self.mid_work = 0

    def play(self, rounds: int) -> None:
        with self._process:
            for number in range(rounds):
                start_ms = FIRST_MS + number * ROUND_MS
                produce(self._brokers, self._topic, self._random, EVENTS, start_ms)
                self._until_some_are_there(start_ms, self._random.randrange(1, KEYS // 2))
                self._strike(number)
            produce(self._brokers, self._topic, self._random, 100, FIRST_MS + rounds * ROUND_MS)
            expected = model(rows(self._brokers, self._topic))
            self._until(lambda: self._contents() == expected)
        assert self.mid_work > rounds // 4, "hardly any kill came in the middle of something"

    def _strike(self, number: int) -> None:
        expected = model(rows(self._brokers, self._topic))
        self.mid_work += self._contents() != expected
        if self._server is not None and number % 2:
            self._server.kill()
            self._server.start()
        else:
            self._process.kill()
            self._process.start()

    def _until(self, condition: Callable[[], bool]) -> None:
        def met() -> bool:
            self._process.require_running()
            return condition()

        foreign.until(met, timeout_s=WAIT_S)

    def _until_some_are_there(self, start_ms: int, count: int) -> None:
        """So many rows of events since then."""
        self._until(
            lambda: sum(place[0] >= start_ms for place, _ in self._contents().values()) >= count
        )

    def _contents(self) -> Contents:
        try:
            if self._server is not None:
                return in_postgres(self._server.url, TABLE)
            return in_sqlite(self._path, TABLE)
        except (psycopg.errors.UndefinedTable, sqlite3.OperationalError):
            return {}  # It is not made yet.


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[str]:
    with BrokerProcess(tmp_path / "data") as process:
        yield process.bootstrap


@pytest.mark.timeout(300)
def test_a_killed_driver_leaves_the_table_of_an_undisturbed_run(
    brokers: str, tmp_path: Path
) -> None:
    Kills(brokers, tmp_path, None).play(1)


@pytest.mark.crash
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_driver_and_database_are_killed_again_and_again(
    database: str, brokers: str, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(PostgresProcess()) if database == "postgres" else None
        Kills(brokers, tmp_path, server).play(30)
