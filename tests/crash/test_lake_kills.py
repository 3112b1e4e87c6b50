"""An archive, its broker and the maintenance of its table are killed at random, thirty times over.

The table must then be what an undisturbed run makes: every record once, in its columns.
"""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.lake_process import LakeProcess
from tests.lake_rows import foreign_rows, places

from kafkaesque.pipelines.lake.warehouse import table_name

ROUNDS = 30
ROWS = 40_000
MAINTAIN = """
import sys
from kafkaesque.pipelines.lake.maintenance import Upkeep, maintain
from kafkaesque.pipelines.lake.warehouse import Warehouse
warehouse = Warehouse.of(sys.argv[1])
while True:
    for name in warehouse.names():
        maintain(warehouse, name, Upkeep(keep_snapshots=2, snapshots_older_ms=0), lambda _: None)
"""


@pytest.mark.crash
@pytest.mark.timeout(7200)
def test_a_table_is_right_after_thirty_kills(tmp_path: Path) -> None:
    chance = random.Random(9)
    with BrokerProcess(tmp_path / "data") as broker:
        topic = foreign.create_topic(broker.bootstrap, partitions=2)
        name = table_name(topic)
        produced = [0, 0]
        archive = LakeProcess(broker.bootstrap, topic, tmp_path, 200)
        for number in range(ROUNDS):
            for partition in (0, 1):
                first = produced[partition]
                more = [b"%08d" % each for each in range(first, first + ROWS // ROUNDS // 2)]
                foreign.produce(broker.bootstrap, topic, more, partition=partition)
                produced[partition] += len(more)
            archive.start()
            lake = str(tmp_path / "lake")
            upkeep = subprocess.Popen(
                [sys.executable, "-c", MAINTAIN, lake], stderr=subprocess.DEVNULL
            )
            try:
                archive.until(lambda: archive.batches() >= 1, 110)
                time.sleep(chance.random() * 2)
                if number % 3 == 2:
                    broker.kill()
                    time.sleep(chance.random())
                    broker.start()
                    done = archive.batches()
                    archive.until(lambda enough=done: archive.batches() > enough, 110)  # type: ignore[misc]
            finally:
                upkeep.kill()
                upkeep.wait()
                archive.kill()
            found = places(tmp_path / "lake", name)
            assert len(found) == len(set(found)), f"a record is there twice after round {number}"
        with archive:
            archive.until(lambda: len(places(tmp_path / "lake", name)) >= sum(produced), 300)
        expected = [
            (partition, offset, b"%08d" % offset)
            for partition in (0, 1)
            for offset in range(produced[partition])
        ]
        rows = foreign_rows(tmp_path / "lake", name)
        assert [(row["partition"], row["offset"], row["value"]) for row in rows] == expected
