"""An archive while its workers, its broker, its driver and the maintenance of its table are killed.

The table must then be what an undisturbed run makes: every record once, in its columns.
"""

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.committed_records import committed_records
from tests.crash.pipeline_kills import ALL_THE_TIME, Kills, Numbers, Scene
from tests.lake_rows import foreign_rows

from kafkaesque.pipelines import archive
from kafkaesque.pipelines.lake.warehouse import table_name

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]

PARTITIONS = 2
MAINTAIN = """
import sys
import time
from kafkaesque.pipelines.lake.maintenance import Upkeep, maintain
from kafkaesque.pipelines.lake.warehouse import Warehouse
warehouse = Warehouse.of(sys.argv[1])
while True:
    for name in warehouse.names():
        maintain(warehouse, name, Upkeep(keep_snapshots=2, snapshots_older_ms=0), lambda _: None)
    time.sleep(0.5)
"""


class Archiving:
    def __init__(self, broker: BrokerProcess, place: Path) -> None:
        self._brokers, self.lake = broker.bootstrap, place / "lake"
        self._topic = foreign.create_topic(self._brokers, partitions=PARTITIONS)
        scene = Scene(
            "archive",
            ["archive", "--topic", self._topic, "--warehouse", str(self.lake), *ALL_THE_TIME],
            partial(archive.start, topics=[self._topic], warehouse=str(self.lake)),
            Numbers(self._brokers, self._topic, PARTITIONS).feed,
        )
        self.kills = Kills(scene, broker, place)

    def compare(self) -> None:
        records = committed_records(self._brokers, self._topic, PARTITIONS)
        assert len(records) > 100
        rows = foreign_rows(self.lake, table_name(self._topic))
        assert [(row["partition"], row["offset"], row["key"], row["value"]) for row in rows] == [
            (each.partition(), each.offset(), each.key(), each.value()) for each in records
        ]


class Maintenance:
    """Of all tables of a lake, twice a second, in a process of its own."""

    def __init__(self, lake: Path, log_path: Path) -> None:
        self._command = [sys.executable, "-c", MAINTAIN, str(lake)]
        self._log_path = log_path

    def start(self) -> None:
        with self._log_path.open("ab") as log:
            self._process = subprocess.Popen(self._command, stderr=log)

    def kill(self) -> None:
        ended = self._process.poll()
        self._process.kill()
        self._process.wait()
        assert ended is None, f"it has ended:\n{self._log_path.read_text()[-5000:]}"

    def strike(self) -> None:
        self.kill()
        self.start()

    def __enter__(self) -> "Maintenance":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


@pytest.fixture
def archiving(broker: BrokerProcess, tmp_path: Path) -> Archiving:
    return Archiving(broker, tmp_path)


@pytest.mark.crash
@pytest.mark.timeout(3600)
def test_a_table_is_right_whatever_is_killed_again_and_again(
    archiving: Archiving, spark: SparkSession, tmp_path: Path
) -> None:
    kills = archiving.kills
    with Maintenance(archiving.lake, tmp_path / "maintenance.log") as maintenance:
        workers = [kills.worker, kills.committer, kills.planner]
        drivers = [kills.driver, kills.checkpoint]
        kills.play_at_random([*workers, kills.broker, *drivers, maintenance.strike], spark)
    archiving.compare()
