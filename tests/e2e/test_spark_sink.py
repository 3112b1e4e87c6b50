"""Frames of Spark into topics by `format("kafkaesque")`: exactly once, whatever comes again."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.committed_records import committed_records

from kafkaesque.pipelines.session import session
from kafkaesque.records.murmur2 import partition_for_key

pytestmark = pytest.mark.slow

PARTITIONS = 3
MARKED = {"markColumn": "offset", "markBy": "topic,partition"}
ALL = ("key", "value", "topic", "partition", "offset")


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with BrokerProcess(tmp_path_factory.mktemp("sink") / "data") as process:
        yield process.bootstrap


class Copy:
    """A query that copies a topic, run until it has read all there is, again and again."""

    def __init__(self, spark: SparkSession, brokers: str, place: Path) -> None:
        self._spark = spark
        self.brokers = brokers
        self.checkpoint = place
        self.source = foreign.create_topic(brokers, partitions=2)
        self.target = foreign.create_topic(brokers, partitions=PARTITIONS)

    def produce(self, first: int, stop: int) -> None:
        producer = Producer({"bootstrap.servers": self.brokers, "log_level": 0})
        for each in range(first, stop):
            value = None if each % 10 == 9 else f"value-{each}"
            producer.produce(self.source, value, f"key-{each % 7}", partition=each % 2)
        assert producer.flush(foreign.TIMEOUT_S) == 0

    def frame(self, *columns: str) -> DataFrame:
        reader = self._spark.readStream.format("kafkaesque").options(
            **{
                "kafka.bootstrap.servers": self.brokers,
                "subscribe": self.source,
                "startingOffsets": "earliest",
                "maxOffsetsPerTrigger": "30",
            }
        )
        return reader.load().selectExpr(*columns)

    def run(self, *columns: str, **options: str) -> None:
        frame = self.frame(*(columns or ("key", "value")))
        writer = frame.writeStream.format("kafkaesque").options(
            **{"kafka.bootstrap.servers": self.brokers, "topic": self.target, **options}
        )
        placed = writer.option("checkpointLocation", str(self.checkpoint))
        query = placed.trigger(availableNow=True).start()
        try:
            assert query.awaitTermination(600)
        finally:
            query.stop()

    def forget_the_last_commit(self) -> None:
        """As after a driver that died between the sink's commit and Spark's."""
        commits = self.checkpoint / "commits"
        last = max(int(each.name) for each in commits.glob("[0-9]*"))
        (commits / str(last)).unlink()
        (commits / f".{last}.crc").unlink(missing_ok=True)

    def written(self) -> dict[bytes, list[bytes | None]]:
        """What was written under each key, in the order in which it was."""
        found: dict[bytes, list[bytes | None]] = {}
        for message in committed_records(self.brokers, self.target, PARTITIONS):
            assert message.partition() == partition_for_key(message.key(), PARTITIONS)
            found.setdefault(message.key(), []).append(message.value())
        return found


def expected(stop: int) -> dict[bytes, list[bytes | None]]:
    found: dict[bytes, list[bytes | None]] = {}
    for partition in (0, 1):
        for each in range(partition, stop, 2):
            value = None if each % 10 == 9 else b"value-%d" % each
            found.setdefault(b"key-%d" % (each % 7), []).append(value)
    return {key: sorted(values, key=str) for key, values in found.items()}


def in_any_order(found: dict[bytes, list[bytes | None]]) -> dict[bytes, list[bytes | None]]:
    """Two partitions of the source have no order between them."""
    return {key: sorted(values, key=str) for key, values in found.items()}


@pytest.fixture
def copy(spark: SparkSession, brokers: str, tmp_path: Path) -> Copy:
    return Copy(spark, brokers, tmp_path / "checkpoint")


def test_batches_are_written_once_though_they_come_again(copy: Copy) -> None:
    copy.produce(0, 100)
    copy.run()
    assert in_any_order(copy.written()) == expected(100)
    copy.forget_the_last_commit()
    copy.produce(100, 110)
    copy.run()
    assert in_any_order(copy.written()) == expected(110)


def test_without_its_checkpoint_a_query_writes_what_is_new(copy: Copy) -> None:
    copy.produce(0, 70)
    copy.run(*ALL, **MARKED)
    shutil.rmtree(copy.checkpoint)
    copy.produce(70, 110)
    copy.run(*ALL, **MARKED)
    copy.forget_the_last_commit()
    copy.run(*ALL, **MARKED)
    assert in_any_order(copy.written()) == expected(110)


def test_large_tasks_stage_files_and_a_place_without_room_loses_nothing(
    copy: Copy, tmp_path: Path
) -> None:
    copy.produce(0, 60)
    columns = ("key", "concat(coalesce(value, ''), repeat(uuid(), 3000)) as value")
    blocked = tmp_path / "blocked"
    blocked.touch()
    with pytest.raises(PySparkException, match="give another stagingDir"):
        copy.run(*columns, stagingDir=str(blocked))
    assert copy.written() == {}
    blocked.unlink()
    copy.run(*columns, stagingDir=str(blocked))
    values = [value for values in copy.written().values() for value in values if value]
    assert len({value[:10] for value in values}) == len(values) == 60
    assert all(len(value) > 100_000 for value in values)
    assert list(blocked.rglob("*.arrow")) == []


def test_rows_go_where_their_columns_say(spark: SparkSession, brokers: str) -> None:
    topics = [foreign.create_topic(brokers, partitions=2) for _ in range(2)]
    header = "array(named_struct('key', 'h', 'value', cast('1' as binary))) as headers"
    frame = spark.range(4).selectExpr(
        f"if(id < 2, '{topics[0]}', '{topics[1]}') as topic",
        "if(id = 3, null, cast(id as string)) as value",
        "cast(id % 2 as int) as partition",
        header,
    )
    writer = frame.write.format("kafkaesque").option("kafka.bootstrap.servers", brokers)
    writer.mode("append").save()
    found = [
        (number, message.partition(), message.key(), message.value(), message.headers())
        for number, topic in enumerate(topics)
        for message in committed_records(brokers, topic, 2)
    ]
    headers = [("h", b"1")]
    assert found == [
        (0, 0, None, b"0", headers),
        (0, 1, None, b"1", headers),
        (1, 0, None, b"2", headers),
        (1, 1, None, None, headers),
    ]


def test_a_frame_with_marks_is_written_once_however_often_it_comes(
    spark: SparkSession, brokers: str
) -> None:
    topic = foreign.create_topic(brokers)
    marks = {"writerId": foreign.name("writer"), "markColumn": "id"}
    for count in (3, 3, 5):
        frame = spark.range(count).selectExpr("id", "cast(id as string) as value")
        writer = frame.write.format("kafkaesque").options(**marks, topic=topic)
        writer.option("kafka.bootstrap.servers", brokers).mode("append").save()
    values = [message.value() for message in committed_records(brokers, topic)]
    assert sorted(values) == [b"0", b"1", b"2", b"3", b"4"]


def test_a_thread_that_asks_for_the_session_writes_as_well(
    spark: SparkSession, brokers: str
) -> None:
    topic = foreign.create_topic(brokers)

    def write() -> None:
        frame = session("tests", "local[2]").sql("select 'here' as value")
        writer = frame.write.format("kafkaesque").option("kafka.bootstrap.servers", brokers)
        writer.option("topic", topic).mode("append").save()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(write).result()
    assert [message.value() for message in committed_records(brokers, topic)] == [b"here"]


def test_a_frame_of_foreach_batch_is_written_once_by_the_number_of_its_batch(copy: Copy) -> None:
    copy.produce(0, 40)
    writer_id, accidents = foreign.name("writer"), ["after the first batch"]

    def write(frame: DataFrame, _: int) -> None:
        options = {"kafka.bootstrap.servers": copy.brokers, "topic": copy.target}
        writer = frame.write.format("kafkaesque").options(**options, writerId=writer_id)
        writer.mode("append").save()
        if accidents:
            raise ValueError(accidents.pop())

    def run() -> None:
        writer = copy.frame("key", "value").writeStream.foreachBatch(write)
        placed = writer.option("checkpointLocation", str(copy.checkpoint))
        query = placed.trigger(availableNow=True).start()
        try:
            assert query.awaitTermination(600)
        finally:
            query.stop()

    with pytest.raises(PySparkException, match="after the first batch"):
        run()
    run()
    assert in_any_order(copy.written()) == expected(40)


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        (["id"], {"topic": "t"}, "the rows have no column value"),
        (["'v' as value", "id"], {"topic": "t"}, "column id has no place in a record"),
        (["'v' as value"], {"topik": "t"}, "did you mean topic"),
    ],
)
def test_what_cannot_be_written_says_why(
    spark: SparkSession, brokers: str, columns: list[str], options: dict[str, Any], words: str
) -> None:
    frame = spark.range(1).selectExpr(*columns)
    writer = frame.write.format("kafkaesque").option("kafka.bootstrap.servers", brokers)
    with pytest.raises(PySparkException, match=words):
        writer.options(**options).mode("append").save()
