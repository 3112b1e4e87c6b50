"""A running stream while its cluster has trouble: a broker that is killed, a topic that goes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from tests import foreign, group_state
from tests.broker_process import BrokerProcess

from kafkaesque.types import TopicPartition

pytestmark = pytest.mark.slow

WAIT_S = 60.0


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("trouble") / "data") as process:
        yield process


class Running:
    """A stream whose values are kept as they come."""

    def __init__(self, spark: SparkSession, bootstrap: str, place: Path, **options: Any) -> None:
        given = {"kafka.bootstrap.servers": bootstrap, "startingOffsets": "earliest", **options}
        frame = spark.readStream.format("kafkaesque").options(**given).load()
        self.values: list[bytes] = []
        writer = frame.writeStream.foreachBatch(self._keep)
        self.query: StreamingQuery = writer.option("checkpointLocation", str(place)).start()

    def wait_for(self, values: list[bytes]) -> None:
        self._until(lambda: len(self.values) >= len(values))
        assert self.values == values

    def wait_until_committed(self, bootstrap: str, group: str, topic: str, offset: int) -> None:
        place = TopicPartition(topic, 0)

        def is_there() -> bool:
            commits = group_state.commits(bootstrap, group)
            return place in commits and commits[place].offset == offset

        self._until(is_there)

    def _until(self, condition: Callable[[], bool]) -> None:
        """Raises what has ended the query, if anything has."""

        def holds() -> bool:
            if problem := self.query.exception():
                raise problem
            assert self.query.isActive
            return condition()

        foreign.until(holds, WAIT_S)

    def _keep(self, frame: DataFrame, _: int) -> None:
        self.values += [bytes(row.value) for row in frame.collect()]


@pytest.fixture
def running(spark: SparkSession, broker: BrokerProcess, tmp_path: Path) -> Callable[..., Any]:
    @contextmanager
    def start(**options: Any) -> Iterator[Running]:
        found = Running(spark, broker.bootstrap, tmp_path / "checkpoint", **options)
        try:
            yield found
        finally:
            found.query.stop()

    return start


def values(first: int, stop: int) -> list[bytes]:
    return [b"%04d" % each for each in range(first, stop)]


def test_a_broker_that_comes_back_is_read_on_and_the_lag_reaches_zero(
    running: Callable[..., Any], broker: BrokerProcess
) -> None:
    topic, group = foreign.create_topic(broker.bootstrap), foreign.name("group")
    foreign.produce(broker.bootstrap, topic, values(0, 10))
    with running(subscribe=topic, groupId=group) as stream:
        stream.wait_for(values(0, 10))
        stream.wait_until_committed(broker.bootstrap, group, topic, 10)
        broker.kill()
        broker.start()
        foreign.produce(broker.bootstrap, topic, values(10, 20))
        stream.wait_for(values(0, 20))
        stream.wait_until_committed(broker.bootstrap, group, topic, 20)


def test_a_topic_that_goes_and_comes_back_is_read_from_its_first_record(
    running: Callable[..., Any], broker: BrokerProcess
) -> None:
    topic, other = foreign.create_topic(broker.bootstrap), foreign.create_topic(broker.bootstrap)
    foreign.produce(broker.bootstrap, topic, values(0, 10))
    with running(subscribe=f"{topic},{other}", failOnDataLoss="false") as stream:
        stream.wait_for(values(0, 10))
        foreign.delete_topic(broker.bootstrap, topic)
        foreign.produce(broker.bootstrap, other, values(10, 12))
        stream.wait_for(values(0, 12))
        foreign.create_topic(broker.bootstrap, topic)
        foreign.produce(broker.bootstrap, topic, values(12, 15))
        stream.wait_for(values(0, 15))


def test_a_topic_that_goes_stops_the_stream_with_a_word_on_what_to_do(
    running: Callable[..., Any], broker: BrokerProcess
) -> None:
    topic = foreign.create_topic(broker.bootstrap)
    foreign.produce(broker.bootstrap, topic, values(0, 10))
    with running(subscribe=topic) as stream:
        stream.wait_for(values(0, 10))
        foreign.delete_topic(broker.bootstrap, topic)
        with pytest.raises(PySparkException, match=f"there is no {topic} in the cluster.*=false"):
            stream.query.awaitTermination(WAIT_S)


def test_a_topic_that_was_made_anew_is_told_from_the_old_one_though_it_is_longer(
    running: Callable[..., Any], broker: BrokerProcess, tmp_path: Path
) -> None:
    topic = foreign.create_topic(broker.bootstrap)
    foreign.produce(broker.bootstrap, topic, values(0, 3))
    with running(subscribe=topic) as stream:
        stream.wait_for(values(0, 3))
        foreign.until((tmp_path / "checkpoint/commits/0").exists, WAIT_S)
    foreign.delete_topic(broker.bootstrap, topic)
    foreign.create_topic(broker.bootstrap, topic)
    foreign.produce(broker.bootstrap, topic, values(100, 105))
    with (
        pytest.raises(PySparkException, match=f"{topic}-0 at offset 3, .* made anew.*=false"),
        running(subscribe=topic) as stream,
    ):
        stream.query.awaitTermination(WAIT_S)
    with running(subscribe=topic, failOnDataLoss="false") as stream:
        stream.wait_for(values(100, 105))


def test_a_first_batch_that_runs_again_begins_where_the_topic_ended_then(
    running: Callable[..., Any], broker: BrokerProcess, tmp_path: Path
) -> None:
    topic = foreign.create_topic(broker.bootstrap)
    foreign.produce(broker.bootstrap, topic, values(0, 3))
    with running(subscribe=topic, startingOffsets="latest") as stream:
        # Spark runs a first batch in any case: here there is nothing in it.
        foreign.until((tmp_path / "checkpoint/commits/0").exists, WAIT_S)
    (tmp_path / "checkpoint/commits/0").unlink()
    foreign.produce(broker.bootstrap, topic, values(3, 9))
    with running(subscribe=topic, startingOffsets="latest") as stream:
        stream.wait_for(values(3, 9))
