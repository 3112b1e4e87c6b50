"""A topic is copied by Spark while workers, broker and driver are killed: each row is there once.

Under each key, the target must have exactly what the source has, in the same order.
"""

import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.committed_records import committed_records
from tests.crash.pipeline_kills import ALL_THE_TIME, Kills, Numbers, Scene

from kafkaesque.pipelines.files import load

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]

PARTITIONS = 2
FILE = """
from kafkaesque.pipelines import TopicSink, TopicSource, pipeline

rows = TopicSource({source!r}, options={{"maxOffsetsPerTrigger": "2000"}})
copies = TopicSink({target!r}, options={{"markColumn": "offset", "markBy": "topic,partition"}})


@pipeline(to="copies")
def copied(rows):
    return rows.select("key", "value", "topic", "partition", "offset")
"""


class Copying:
    def __init__(self, broker: BrokerProcess, place: Path) -> None:
        self._brokers = broker.bootstrap
        self._source = foreign.create_topic(self._brokers, partitions=PARTITIONS)
        self._target = foreign.create_topic(self._brokers, partitions=PARTITIONS)
        file = place / "copies.py"
        file.write_text(FILE.format(source=self._source, target=self._target))
        self._scene = Scene(
            "copies",
            [str(file), *ALL_THE_TIME],
            lambda context: load(file).start(context),
            Numbers(self._brokers, self._source, PARTITIONS).feed,
        )
        self.kills = Kills(self._scene, broker, place)

    def compare(self) -> None:
        wanted, found = self._by_key(self._source), self._by_key(self._target)
        assert sum(map(len, wanted.values())) > 100
        assert {key: len(values) for key, values in found.items()} == {
            key: len(values) for key, values in wanted.items()
        }
        assert found == wanted

    def _by_key(self, topic: str) -> dict[bytes, list[bytes]]:
        found: dict[bytes, list[bytes]] = {}
        for message in committed_records(self._brokers, topic, PARTITIONS):
            found.setdefault(message.key(), []).append(message.value())
        return found


@pytest.fixture
def copying(broker: BrokerProcess, tmp_path: Path) -> Copying:
    return Copying(broker, tmp_path)


@pytest.mark.crash
@pytest.mark.timeout(3600)
def test_each_row_is_written_once_whatever_is_killed_again_and_again(
    copying: Copying, spark: SparkSession
) -> None:
    kills = copying.kills
    workers = [kills.worker, kills.committer, kills.planner]
    drivers = [kills.driver, kills.driver_alone, kills.checkpoint]
    kills.play_at_random([*workers, kills.broker, *drivers], spark)
    copying.compare()
