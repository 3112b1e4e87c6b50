"""The pipeline `upsert` in one local session: events of a topic, and the table they end in."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.registry_process import RegistryProcess
from tests.table_contents import in_sqlite
from tests.upsert_events import make_topic

from kafkaesque import Producer as OurProducer
from kafkaesque.client.profiles import connection_of
from kafkaesque.pipelines.context import Context
from kafkaesque.pipelines.tables import TableError
from kafkaesque.pipelines.upsert import Counts, start, table_writer

pytestmark = pytest.mark.slow

TIME_MS = 1_700_000_000_000
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with BrokerProcess(tmp_path_factory.mktemp("upsert") / "data") as process:
        yield process.bootstrap


class Upsert:
    """The pipeline, run until it has taken all there is, again and again."""

    def __init__(self, spark: SparkSession, brokers: str, directory: Path) -> None:
        self._spark = spark
        self.brokers = brokers
        self._directory = directory
        self.path = directory / "t.db"
        self.topic = make_topic(brokers)
        self.counts = Counts()

    def produce(self, *events: tuple[str | None, Any], partition: int = 0) -> None:
        """Keys, and values that become JSON; all of the same time."""
        producer = Producer({"bootstrap.servers": self.brokers, "log_level": 0})
        for key, value in events:
            raw = value if value is None or isinstance(value, bytes) else json.dumps(value)
            producer.produce(
                self.topic, raw, key, partition=partition, timestamp=TIME_MS, headers=[("h", b"1")]
            )
        assert producer.flush(foreign.TIMEOUT_S) == 0

    def context(self, checkpoint: str, registry: str | None = None) -> Context:
        place = str(self._directory / checkpoint)
        connection = connection_of(self.brokers)
        return Context("upsert", self._spark, connection, place, registry, once=True)

    def run(
        self, *, checkpoint: str = "checkpoint", registry: str | None = None, **options: Any
    ) -> None:
        context = self.context(checkpoint, registry)
        given = {"topic": self.topic, "to": f"sqlite:///{self.path}", "table": "t"} | options
        (query,) = start(context, counts=self.counts, **given)
        try:
            query.awaitTermination(100)
        finally:
            query.stop()

    def contents(self) -> dict[Any, Any]:
        """Without versions."""
        return {key: fields for key, (_, fields) in in_sqlite(self.path, "t").items()}


@pytest.fixture
def upsert(spark: SparkSession, brokers: str, tmp_path: Path) -> Upsert:
    return Upsert(spark, brokers, tmp_path)


def test_the_newest_event_of_each_id_is_kept_and_deletes_are(upsert: Upsert) -> None:
    upsert.produce(("a", {"id": "a", "n": 1}), ("b", {"id": "b", "n": 1}), ("c", {"id": "c"}))
    upsert.produce(("a", {"id": "a", "n": 9, "new": [1]}), partition=1)
    upsert.run()
    assert upsert.counts == Counts(events=4, rows=3)
    upsert.produce(("b", None), ("c", {"id": "c", "n": 2, "later": True}))
    upsert.run()
    expected = {"a": {"n": 9, "new": "[1]"}, "b": None, "c": {"n": 2, "later": 1}}
    assert upsert.contents() == expected
    assert upsert.counts == Counts(events=6, rows=5)
    upsert.run(checkpoint="another")
    assert upsert.contents() == expected
    assert upsert.counts == Counts(events=12, rows=5)


def test_what_is_no_row_stops_it_and_nothing_is_written(upsert: Upsert) -> None:
    upsert.produce(("a", {"id": "a", "n": 1}), ("x", b"{not json"), ("y", b"[1]"))
    with pytest.raises(PySparkException, match=rf"{upsert.topic}/0 @1: .*not JSON") as raised:
        upsert.run()
    assert "(1 more in this batch)" in str(raised.value)
    assert "--dead-letters TOPIC" in str(raised.value)
    assert upsert.counts == Counts()
    with closing(sqlite3.connect(upsert.path)) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


def test_two_topics_for_one_table_are_refused(upsert: Upsert) -> None:
    with pytest.raises(TableError, match="from one topic, not from a,b"):
        upsert.run(topic="a,b")


def test_what_is_no_row_goes_to_the_dead_letters_and_the_rest_is_written(upsert: Upsert) -> None:
    upsert.produce(("a", {"id": "a", "n": 1}), ("x", b"{"), (None, None), ("b", {"id": "b"}))
    upsert.run(dead_letters=f"{upsert.topic}.dead")
    assert upsert.contents() == {"a": {"n": 1}, "b": {}}
    assert upsert.counts == Counts(events=4, rows=2, refused=2)
    letters = foreign.read(upsert.brokers, f"{upsert.topic}.dead", 2)
    assert [(letter.key(), letter.value()) for letter in letters] == [(b"x", b"{"), (None, None)]
    headers: Any = letters[0].headers()
    facts = dict(headers)
    assert (facts["h"], facts["kafkaesque.offset"]) == (b"1", b"1")
    assert b"not JSON" in facts["kafkaesque.error"]


def test_a_value_that_its_column_cannot_hold_stops_it_until_it_is_mended(upsert: Upsert) -> None:
    upsert.produce(("a", {"id": "a", "n": 1}))
    upsert.run()
    upsert.produce(("b", {"id": "b", "n": 1}), ("a", {"id": "a", "n": "many"}))
    with pytest.raises(PySparkException, match=r"partition 0, offset 2.*'n': str 'many' does not"):
        upsert.run()
    assert upsert.contents() == {"a": {"n": 1}}
    with closing(sqlite3.connect(upsert.path)) as connection, connection:
        connection.execute("ALTER TABLE t RENAME n TO n_before")
    upsert.run(columns={"n": "json"})
    assert upsert.contents() == {"a": {"n": '"many"'}, "b": {"n": "1"}}


def test_columns_come_from_a_schema(upsert: Upsert, tmp_path: Path) -> None:
    at = {"type": "long", "logicalType": "timestamp-millis"}
    fields = {"id": "long", "price": "double", "at": at, "none": ["null", "string"]}
    schema = {
        "type": "record",
        "name": "Order",
        "fields": [{"name": name, "type": kind} for name, kind in fields.items()],
    }
    with RegistryProcess(upsert.brokers, tmp_path / "registry.log") as registry:
        order = {"id": 1, "price": 2.5, "at": NOON, "none": None}
        settings: dict[str, Any] = {"value": "avro", "schema": schema, "registry": registry.url}
        with OurProducer(upsert.brokers, upsert.topic, **settings) as producer:
            producer.send(
                upsert.topic, order | {"price": 1.5}, key="1", partition=0, timestamp=TIME_MS
            )
            producer.send(upsert.topic, order, key="1", partition=0, timestamp=TIME_MS)
            producer.send(upsert.topic, order | {"id": 2}, key="2", partition=0, timestamp=TIME_MS)
        upsert.produce(("2", None))
        upsert.run(decode="avro", registry=registry.url, checkpoint="avro")
        upsert.produce(("3", b"no Avro"))
        with pytest.raises(PySparkException, match=r"/0 @4: the value cannot be read: .*--dead"):
            upsert.run(decode="avro", registry=registry.url, checkpoint="avro")
    expected = {1: {"price": 2.5, "at": "2026-01-02T12:00:00.000000+00:00"}, 2: None}
    assert upsert.contents() == expected
    with closing(sqlite3.connect(upsert.path)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM pragma_table_info('t')")]
    assert "none" in names


def test_a_frame_of_ones_own_is_written(upsert: Upsert) -> None:
    upsert.produce(("a", {"id": "a", "n": 1}), ("a", {"id": "a", "n": 2}), ("b", {"id": "b"}))
    context = upsert.context("own")
    events = context.read(upsert.topic, "rows", startingOffsets="earliest")
    typed = events.selectExpr(
        "from_json(cast(value as string), 'id STRING, n INT') AS it",
        "timestamp",
        "partition",
        "offset",
    )
    frame = typed.select("it.*", "timestamp", "partition", "offset")
    writer = table_writer(frame, to=f"sqlite:///{upsert.path}", table="t")
    query = context.start(writer, "rows")
    query.awaitTermination(100)
    query.stop()
    assert upsert.contents() == {"a": {"n": 2}, "b": {}}
