"""Topics to Iceberg tables: one local session, a broker of its own, read by pyiceberg."""

import datetime as dt
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import NewPartitions
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.lake_rows import foreign_rows, foreign_table

from kafkaesque.client.connection import ClusterError
from kafkaesque.client.profiles import connection_of
from kafkaesque.pipelines import archive
from kafkaesque.pipelines.context import Context
from kafkaesque.pipelines.lake.committing import written_of
from kafkaesque.pipelines.lake.errors import LakeError
from kafkaesque.pipelines.lake.history import history
from kafkaesque.pipelines.lake.warehouse import table_name

pytestmark = pytest.mark.slow

WAIT_S = 100


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with BrokerProcess(tmp_path_factory.mktemp("lake") / "data") as process:
        yield process.bootstrap


class Archive:
    """Runs until a topic is in the lake, again and again."""

    def __init__(self, spark: SparkSession, brokers: str, place: Path) -> None:
        self.spark, self.brokers, self.place = spark, brokers, place
        self.lake = place / "lake"

    def run(self, topic: str, **more: Any) -> None:
        finish(self.start(topic, **more))

    def start(self, topic: str, name: str = "kept", **more: Any) -> StreamingQuery:
        connection = connection_of(self.brokers)
        context = Context(name, self.spark, connection, str(self.place / name), once=True)
        (query,) = archive.start(context, topics=[topic], warehouse=str(self.lake), **more)
        return query

    def rows(self, topic: str) -> list[dict[str, Any]]:
        return foreign_rows(self.lake, table_name(topic))

    def values(self, topic: str) -> list[bytes]:
        return [row["value"] for row in self.rows(topic)]

    def sink(self, topic: str, columns: str, checkpoint: str, **options: str) -> None:
        """The sink alone, with the columns of a test's own choice."""
        source = {"kafka.bootstrap.servers": self.brokers, "startingOffsets": "earliest"}
        frame = self.spark.readStream.format("kafkaesque").options(**source, subscribe=topic).load()
        writer = frame.selectExpr(*columns.split("; ")).writeStream.format("kafkaesque_lake")
        told = {"table": table_name(topic), "warehouse": str(self.lake), **options}
        placed = writer.options(**told, checkpointLocation=str(self.place / checkpoint))
        finish(placed.trigger(availableNow=True).start())


def finish(query: StreamingQuery) -> None:
    try:
        query.awaitTermination(WAIT_S)
    finally:
        query.stop()


@pytest.fixture
def archived(spark: SparkSession, brokers: str, tmp_path: Path) -> Archive:
    return Archive(spark, brokers, tmp_path)


def values(first: int, stop: int) -> list[bytes]:
    return [b"%04d" % each for each in range(first, stop)]


def produced(brokers: str, topic: str) -> list[dict[str, Any]]:
    """Records of every kind, and the rows that they must become."""
    producer = Producer({"bootstrap.servers": brokers, "compression.type": "zstd", "log_level": 0})
    rows = []
    for each in range(90):
        headers: list[Any] = [("a", b"1"), ("b", None)] if each % 2 else []
        row: dict[str, Any] = {
            "partition": each % 3,
            "offset": each // 3,
            "timestamp": dt.datetime.fromtimestamp(1_700_000_000 + each, dt.UTC),
            "key": None if each % 7 else b"key-%d" % each,
            "value": None if each % 11 == 10 else b"x" * each,
            "headers": [{"key": key, "value": value} for key, value in headers] or None,
        }
        time_ms = (1_700_000_000 + each) * 1000
        producer.produce(
            topic, row["value"], row["key"], each % 3, timestamp=time_ms, headers=headers
        )
        rows.append(row)
    assert producer.flush(foreign.TIMEOUT_S) == 0
    return sorted(rows, key=lambda row: (row["partition"], row["offset"]))


def test_a_table_has_exactly_the_records_of_its_topic(archived: Archive, brokers: str) -> None:
    topic = foreign.create_topic(brokers, partitions=3)
    expected = produced(brokers, topic)
    archived.run(topic, rows_per_batch=40)
    assert archived.rows(topic) == expected
    table = foreign_table(archived.lake, table_name(topic))
    assert len(table.snapshots()) == 3, "one for each batch"
    assert written_of(table).marks == {"0": 29, "1": 29, "2": 29}
    admin = foreign.admin(brokers)
    admin.create_partitions([NewPartitions(topic, 4)])[topic].result(foreign.TIMEOUT_S)
    foreign.produce(brokers, topic, values(0, 5), partition=3)
    archived.run(topic)
    assert archived.values(topic) == [row["value"] for row in expected] + values(0, 5)


def test_a_lost_checkpoint_neither_doubles_nor_skips(archived: Archive, brokers: str) -> None:
    topic = foreign.create_topic(brokers)
    foreign.produce(brokers, topic, values(0, 20))
    archived.run(topic)
    shutil.rmtree(archived.place / "kept")
    foreign.produce(brokers, topic, values(20, 25))
    archived.run(topic)
    assert archived.values(topic) == values(0, 25)
    # A query that begins at the beginning again, with batches cut in other places.
    foreign.produce(brokers, topic, values(25, 30))
    columns = "partition; offset; timestamp; key; value"
    archived.sink(topic, columns, "anew", markColumn="offset", markBy="partition")
    assert archived.values(topic) == values(0, 30)


def test_a_batch_that_spark_runs_again_is_recognised(archived: Archive, brokers: str) -> None:
    topic = foreign.create_topic(brokers)
    foreign.produce(brokers, topic, values(0, 10))
    # No marks: it is known by its number alone.
    archived.sink(topic, "partition; offset; value", "kept")
    (done,) = (archived.place / "kept" / "commits").glob("[0-9]*")
    done.unlink()
    foreign.produce(brokers, topic, values(10, 12))
    archived.sink(topic, "partition; offset; value", "kept")
    assert archived.values(topic) == values(0, 12)


def test_a_table_grows_with_its_rows_and_refuses_what_cannot_be(
    archived: Archive, brokers: str
) -> None:
    topic = foreign.create_topic(brokers)
    foreign.produce(brokers, topic, values(0, 2))
    marks = {"markColumn": "offset", "markBy": "partition"}
    kept = "partition; offset; struct({}) AS value"
    archived.sink(topic, kept.format("int(offset) AS a"), "kept", **marks)
    foreign.produce(brokers, topic, values(2, 3))
    wider = kept.format("offset + 5000000000 AS a, 'x' AS b")
    archived.sink(topic, wider, "kept", **marks)
    foreign.produce(brokers, topic, values(3, 4))
    with pytest.raises(PySparkException, match=r"value\.a is int64 in the table, and string here"):
        archived.sink(topic, kept.format("'much' AS a"), "kept", **marks)
    archived.sink(topic, wider, "kept", **marks)
    assert [row["value"] for row in archived.rows(topic)] == [
        {"a": 0, "b": None},
        {"a": 1, "b": None},
        {"a": 5_000_000_002, "b": "x"},
        {"a": 5_000_000_003, "b": "x"},
    ]


def test_decoded_values_are_columns_that_come_and_grow(archived: Archive, brokers: str) -> None:
    topic = foreign.create_topic(brokers)
    foreign.produce(brokers, topic, [b'{"ticker": "A", "price": 1.5, "size": 3}', b"no JSON"])
    archived.run(topic, decode="json", valueSchema="ticker STRING, price DOUBLE")
    foreign.produce(brokers, topic, [b'{"ticker": "B", "price": 2.5, "size": 4}'])
    archived.run(topic, decode="json", valueSchema="ticker STRING, price DOUBLE, size LONG")
    first, bad, second = archived.rows(topic)
    assert first["value"] == {"ticker": "A", "price": 1.5, "size": None}
    assert (bad["value"], bool(bad["_error"])) == (None, True)
    assert (second["value"], second["_error"]) == ({"ticker": "B", "price": 2.5, "size": 4}, None)


def test_a_topic_that_is_not_there_has_no_table(archived: Archive) -> None:
    with pytest.raises(ClusterError, match="there is no topic ordres in the cluster"):
        archived.start("ordres")
    assert not (archived.lake / "catalog.db").exists()


def test_a_place_that_cannot_be_written_to_loses_nothing(archived: Archive, brokers: str) -> None:
    topic = foreign.create_topic(brokers)
    foreign.produce(brokers, topic, values(0, 5))
    archived.lake.write_text("in the way")
    with pytest.raises(LakeError, match=r"cannot open the lake .* the file that is in the way"):
        archived.run(topic)
    archived.lake.unlink()
    archived.run(topic)
    data = archived.lake / "lake" / table_name(topic).removeprefix("lake.") / "data"
    aside = data.rename(data.with_name("aside"))
    data.write_text("in the way")
    foreign.produce(brokers, topic, values(5, 9))
    with pytest.raises(PySparkException, match=r"cannot write to .*nothing is lost"):
        archived.run(topic)
    data.unlink()
    aside.rename(data)
    archived.run(topic)
    assert archived.values(topic) == values(0, 9)


def test_a_dropped_table_is_filled_again_from_the_beginning(
    archived: Archive, brokers: str
) -> None:
    topic = foreign.create_topic(brokers)
    foreign.produce(brokers, topic, values(0, 5))
    archived.run(topic)
    table = foreign_table(archived.lake, table_name(topic))
    table.catalog.drop_table(table.name())
    foreign.produce(brokers, topic, values(5, 7))
    archived.run(topic)
    assert archived.values(topic) == values(0, 7)
    foreign.delete_topic(brokers, topic)
    with pytest.raises(Exception, match=topic):
        archived.run(topic)
    assert archived.values(topic) == values(0, 7), "what is in the lake stays"


def test_a_topic_that_was_made_anew_does_not_get_into_the_table_of_the_old_one(
    archived: Archive, brokers: str
) -> None:
    topic = foreign.create_topic(brokers)
    foreign.produce(brokers, topic, values(0, 3))
    archived.run(topic)
    foreign.delete_topic(brokers, topic)
    foreign.create_topic(brokers, topic)
    foreign.produce(brokers, topic, values(10, 15))
    with pytest.raises(LakeError, match=r"made anew.*--namespace"):
        archived.run(topic, name="without a checkpoint")
    assert archived.values(topic) == values(0, 3)
    archived.run(topic, namespace="again")
    assert [row["value"] for row in foreign_rows(archived.lake, table_name(topic, "again"))] == (
        values(10, 15)
    )


def test_history_is_the_lake_and_then_the_topic(archived: Archive, brokers: str) -> None:
    topic = foreign.create_topic(brokers, partitions=2)
    foreign.produce(brokers, topic, values(0, 30))
    archived.run(topic)
    truncated = foreign.admin(brokers).delete_records([TopicPartition(topic, 0, 20)])
    for future in truncated.values():
        future.result(foreign.TIMEOUT_S)
    foreign.produce(brokers, topic, values(30, 40))
    foreign.produce(brokers, topic, values(40, 45), partition=1)
    connection = connection_of(brokers)
    found = history(archived.spark, topic, connection, warehouse=str(archived.lake)).collect()
    assert sorted(bytes(row.value) for row in found) == values(0, 45)
    lake = archived.spark.read.format("kafkaesque_lake").option("warehouse", str(archived.lake))
    some = lake.options(table=table_name(topic), where="offset >= 25", columns="offset,value")
    assert sorted((row.offset, bytes(row.value)) for row in some.load().collect()) == [
        (each, b"%04d" % each) for each in range(25, 30)
    ]
    with pytest.raises(PySparkException, match="there is no such table"):
        lake.options(table="lake.nothing").load()


def test_two_archives_of_a_topic_write_each_record_once(archived: Archive, brokers: str) -> None:
    topic = foreign.create_topic(brokers)
    foreign.produce(brokers, topic, values(0, 10))
    archived.run(topic)
    foreign.produce(brokers, topic, values(10, 300))
    # Both from this thread: in another one, Spark does not find sources of Python's.
    started = [
        archived.start(topic, name, rows_per_batch=rows) for name, rows in (("a", 50), ("b", 61))
    ]
    for query in started:
        finish(query)
    assert archived.values(topic) == values(0, 300)
