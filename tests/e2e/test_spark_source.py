"""Topics in Spark by `format("kafkaesque")`: one local session, a broker of its own."""

import datetime as dt
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import NewPartitions
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.steady_writer import SteadyWriter

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with BrokerProcess(tmp_path_factory.mktemp("spark") / "data") as process:
        yield process.bootstrap


def batch(spark: SparkSession, brokers: str, **options: Any) -> DataFrame:
    reader = spark.read.format("kafkaesque").option("kafka.bootstrap.servers", brokers)
    return reader.options(**options).load()


class Query:
    """A stream that is run until it has read all there is, again and again."""

    def __init__(self, spark: SparkSession, brokers: str, place: Path, **options: Any) -> None:
        self._spark = spark
        self._options = {"kafka.bootstrap.servers": brokers, "startingOffsets": "earliest"}
        self._options |= options
        self._place = place
        self.batches: list[list[Row]] = []

    def run(self, **more: Any) -> list[bytes]:
        """The values that this run has brought, in the order of their topics and offsets."""
        self.batches = []
        frame = self._spark.readStream.format("kafkaesque").options(**self._options | more).load()
        writer = frame.writeStream.foreachBatch(self._keep)
        query = (
            writer.option("checkpointLocation", str(self._place)).trigger(availableNow=True).start()
        )
        try:
            query.awaitTermination(100)
        finally:
            query.stop()
        rows = [row for rows in self.batches for row in rows]
        return [bytes(row.value) for row in sorted(rows, key=_order)]

    def _keep(self, frame: DataFrame, _: int) -> None:
        self.batches.append(frame.collect())


@pytest.fixture
def stream(spark: SparkSession, brokers: str, tmp_path: Path) -> Callable[..., Query]:
    return lambda **options: Query(spark, brokers, tmp_path / "checkpoint", **options)


def _order(row: Row) -> tuple[str, int, int]:
    return row.topic, row.partition, row.offset


def values(first: int, stop: int) -> list[bytes]:
    return [b"%04d" % each for each in range(first, stop)]


def truncate(brokers: str, topic: str, offset: int) -> None:
    place = TopicPartition(topic, 0, offset)
    for future in foreign.admin(brokers).delete_records([place]).values():
        future.result(foreign.TIMEOUT_S)


def aborted(brokers: str, topic: str, produced: list[bytes]) -> None:
    settings = {"transactional.id": foreign.name("t"), "log_level": 0}
    producer = Producer({"bootstrap.servers": brokers, **settings})
    producer.init_transactions(foreign.TIMEOUT_S)
    producer.begin_transaction()
    for value in produced:
        producer.produce(topic, value, partition=0)
    producer.flush(foreign.TIMEOUT_S)
    producer.abort_transaction(foreign.TIMEOUT_S)


def test_a_batch_is_what_was_produced(spark: SparkSession, brokers: str) -> None:
    topic = foreign.create_topic(brokers, partitions=2)
    expected = []
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        config = {"bootstrap.servers": brokers, "compression.type": codec, "log_level": 0}
        producer = Producer(config)
        for each in range(30):
            key = None if each % 3 else f"{codec}-{each}".encode()
            value = None if each % 5 == 4 else b"x" * each
            headers: list[Any] = [("a", b"1"), ("b", None)] if each % 2 else []
            time_ms = 1_700_000_000_000 + each
            producer.produce(
                topic, value, key, partition=each % 2, timestamp=time_ms, headers=headers
            )
            expected.append((each % 2, key, value, time_ms, headers or None))
        assert producer.flush(foreign.TIMEOUT_S) == 0
    rows = batch(spark, brokers, subscribe=topic, includeHeaders="true").collect()
    found = [
        (
            row.partition,
            row.key and bytes(row.key),
            None if row.value is None else bytes(row.value),
            # What is collected has the time of this machine's zone, and does not say so.
            round(row.timestamp.astimezone(dt.UTC).timestamp() * 1000),
            row.headers and [(each.key, each.value and bytes(each.value)) for each in row.headers],
        )
        for row in sorted(rows, key=_order)
    ]
    assert found == sorted(expected, key=lambda record: record[0])
    assert {(row.topic, row.timestampType) for row in rows} == {(topic, 0)}
    for partition in (0, 1):
        offsets = sorted(row.offset for row in rows if row.partition == partition)
        assert offsets == list(range(75))


def test_a_batch_has_the_bounds_it_was_given(spark: SparkSession, brokers: str) -> None:
    topic = foreign.create_topic(brokers)
    foreign.produce(brokers, topic, values(0, 100), timestamps=list(range(1000, 1100)))
    cut = batch(
        spark,
        brokers,
        assign=f'{{"{topic}": [0]}}',
        startingOffsets=f'{{"{topic}": {{"0": 20}}}}',
        endingTimestamp=1090,
        minPartitions=4,
    )
    assert cut.rdd.getNumPartitions() == 4
    assert sorted(bytes(row.value) for row in cut.collect()) == values(20, 90)
    assert batch(spark, brokers, subscribePattern=f"{topic[:-1]}.", startingTimestamp=1099).count()
    assert batch(spark, brokers, subscribePattern=f"no-{topic}").count() == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"subscribe": "nothing-here"}, "there is no nothing-here in the cluster"),
        ({"subscribe": "a", "startingOffset": "earliest"}, "did you mean startingOffsets"),
        ({"subscribe": "a", "assign": "{}"}, "subscribe and assign are both given"),
    ],
)
def test_what_cannot_be_read_says_why(
    spark: SparkSession, brokers: str, options: dict[str, str], words: str
) -> None:
    with pytest.raises(PySparkException, match=words):
        batch(spark, brokers, **options).collect()


def test_a_stream_goes_in_steps_and_goes_on_from_its_checkpoint(
    stream: Callable[..., Query], brokers: str
) -> None:
    topic = foreign.create_topic(brokers, partitions=2)
    foreign.produce(brokers, topic, values(0, 60))
    foreign.produce(brokers, topic, values(60, 100), partition=1)
    group = foreign.name("group")
    query = stream(subscribe=topic, maxOffsetsPerTrigger="30", groupId=group)
    assert query.run() == values(0, 100)
    assert [len(rows) for rows in query.batches] == [30, 30, 30, 10]
    assert query.run() == []
    foreign.produce(brokers, topic, values(100, 105), partition=1)
    admin = foreign.admin(brokers)
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(foreign.TIMEOUT_S)
    foreign.produce(brokers, topic, values(105, 110), partition=2)
    assert query.run() == values(100, 110)
    places = [TopicPartition(topic, each) for each in range(3)]
    reader = foreign.consumer(brokers, group)
    assert [place.offset for place in reader.committed(places, 10)] == [60, 45, 5]
    reader.close()


def test_a_running_stream_finds_new_partitions(
    spark: SparkSession, brokers: str, tmp_path: Path
) -> None:
    topic = foreign.create_topic(brokers)
    options = {"kafka.bootstrap.servers": brokers, "subscribe": topic}
    frame = spark.readStream.format("kafkaesque").options(**options).load()
    kept = frame.selectExpr("cast(value as string) as value").writeStream.format("memory")
    name = topic.replace("-", "_")
    query = kept.queryName(name).option("checkpointLocation", str(tmp_path / "c")).start()
    try:
        deadline_s = time.monotonic() + 60
        while query.lastProgress is None and time.monotonic() < deadline_s:
            time.sleep(0.1)
        admin = foreign.admin(brokers)
        admin.create_partitions([NewPartitions(topic, 2)])[topic].result(foreign.TIMEOUT_S)
        foreign.produce(brokers, topic, [b"old"])
        foreign.produce(brokers, topic, [b"new"], partition=1)
        query.processAllAvailable()
        assert sorted(row.value for row in spark.table(name).collect()) == ["new", "old"]
    finally:
        query.stop()


def test_a_stream_begins_at_the_end_of_a_topic_that_grows_meanwhile(
    spark: SparkSession, brokers: str, tmp_path: Path
) -> None:
    topic = foreign.create_topic(brokers)
    offsets: list[int] = []

    def keep(frame: DataFrame, _: int) -> None:
        offsets.extend(row.offset for row in frame.select("offset").collect())

    options = {"kafka.bootstrap.servers": brokers, "subscribe": topic}
    with SteadyWriter(brokers, topic) as writer:
        writer.wait_for(10)
        frame = spark.readStream.format("kafkaesque").options(**options).load()
        checkpoint = str(tmp_path / "checkpoint")
        query = (
            frame.writeStream.foreachBatch(keep).option("checkpointLocation", checkpoint).start()
        )
        try:
            foreign.until(lambda: query.exception() or len(query.recentProgress) >= 2, 60)
            assert query.exception() is None
        finally:
            query.stop()
    offsets.sort()
    assert offsets[0] >= 10
    assert offsets == list(range(offsets[0], offsets[-1] + 1))


def test_records_that_are_gone_stop_a_stream_unless_it_is_told_to_go_on(
    stream: Callable[..., Query], brokers: str
) -> None:
    topic = foreign.create_topic(brokers)
    foreign.produce(brokers, topic, values(0, 10))
    query = stream(subscribe=topic)
    assert query.run() == values(0, 10)
    foreign.produce(brokers, topic, values(10, 30))
    truncate(brokers, topic, 20)
    with pytest.raises(PySparkException, match="from 10 to 30, but begins at 20"):
        query.run()
    assert query.run(failOnDataLoss="false") == values(20, 30)
    foreign.delete_topic(brokers, topic)
    foreign.create_topic(brokers, topic)
    foreign.produce(brokers, topic, values(30, 35))
    with pytest.raises(PySparkException, match=r"stands in .* at offset 30, which is not there"):
        query.run()


def test_what_was_aborted_is_not_seen_unless_it_is_asked_for(
    spark: SparkSession, brokers: str
) -> None:
    topic = foreign.create_topic(brokers)
    foreign.produce(brokers, topic, values(0, 3))
    aborted(brokers, topic, values(3, 6))
    foreign.produce(brokers, topic, values(6, 9))
    seen = batch(spark, brokers, subscribe=topic).collect()
    assert [bytes(row.value) for row in seen] == values(0, 3) + values(6, 9)
    raw = {"subscribe": topic, "kafka.isolation.level": "read_uncommitted"}
    assert batch(spark, brokers, **raw).count() == 9
