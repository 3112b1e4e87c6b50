"""Typed columns from topics in Spark: one session, a broker and a registry."""

import datetime as dt
import decimal
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest
from confluent_kafka import Producer
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from tests import foreign
from tests.schema_world import SchemaWorld, schema_world

from kafkaesque.client.registry import RegistryClient, Schema
from kafkaesque.client.schemas import frame

pytestmark = pytest.mark.slow

PLAIN = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
AT = dt.datetime(2023, 11, 30, 14, 43, 29, 700245, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemaWorld]:
    with schema_world(tmp_path_factory.mktemp("decode")) as found:
        yield found


@pytest.fixture(scope="module")
def registry(world: SchemaWorld) -> Iterator[RegistryClient]:
    with RegistryClient(world.url) as client:
        yield client


def batch(spark: SparkSession, world: SchemaWorld, topic: str, **options: Any) -> DataFrame:
    given = {"kafka.bootstrap.servers": world.bootstrap, "subscribe": topic, **options}
    return spark.read.format("kafkaesque").options(**given).load()


def rows(frame: DataFrame) -> list[Row]:
    return sorted(frame.collect(), key=lambda row: (row.partition, row.offset))


def write(world: SchemaWorld, topic: str, values: list[bytes | None]) -> None:
    producer = Producer({"bootstrap.servers": world.bootstrap, "log_level": 0})
    for number, value in enumerate(values):
        key = b"k%d" % number
        headers: list[Any] = [("h", b"%d" % number)]
        producer.produce(topic, value, key, headers=headers, timestamp=1_700_000_000_000 + number)
    assert producer.flush(foreign.TIMEOUT_S) == 0


def avro(schema: dict[str, Any], schema_id: int, **value: Any) -> bytes:
    payload = io.BytesIO()
    fastavro.schemaless_writer(payload, fastavro.parse_schema(schema), value)
    return frame(schema_id, payload.getvalue())


def utc(moment: dt.datetime) -> dt.datetime:
    """What is collected has the time of this machine's zone, and does not say so."""
    return moment.astimezone(dt.UTC)


def test_json_has_the_columns_that_the_user_names(spark: SparkSession, world: SchemaWorld) -> None:
    topic = world.topic()
    good = {"ticker": "A", "price": 1, "at": "2023-11-30T14:43:29.700245", "more": {"x": 1}}
    write(
        world,
        topic,
        [
            json.dumps(good).encode(),
            None,
            b'{"ticker": "B", "price": "dear"}',
            b"not json",
            frame(7, b'{"ticker": "C", "tags": ["x", null], "at": "2023-11-30T16:43:29+02:00"}'),
            b'{"at": "yesterday"}',
        ],
    )
    columns = "ticker STRING, price DOUBLE, at TIMESTAMP, tags ARRAY<STRING>"
    frame_ = batch(spark, world, topic, decode="json", valueSchema=columns, includeHeaders="true")
    assert frame_.columns == [*PLAIN, "headers", "_error"]
    found = rows(frame_)
    assert [bytes(row.key) for row in found] == [b"k%d" % each for each in range(6)]
    assert [row.value is None for row in found] == [False, True, True, True, False, True]
    assert utc(found[0].value["at"]) == AT
    assert (found[0].value.ticker, found[0].value.price, found[0].value.tags) == ("A", 1.0, None)
    assert (found[4].value.ticker, found[4].value.tags) == ("C", ["x", None])
    assert utc(found[4].value["at"]) == AT.replace(microsecond=0)
    assert [row._error for row in found] == [
        None,
        None,
        "field price takes double, not this text",
        "the value is no JSON (line 1, column 1)",
        None,
        "field at takes timestamp[us, tz=UTC], not this text",
    ]
    assert found[5].headers == [Row(key="h", value=bytearray(b"5"))]
    assert frame_.where("value.price > 0.5").select("value.ticker").collect() == [Row(ticker="A")]
    few = batch(spark, world, topic, decode="json", valueSchema=columns, columns="offset,value")
    assert few.columns == ["offset", "value"]
    assert few.where("offset = 0").select("value.ticker").collect() == [Row(ticker="A")]


FIRST = {"type": "record", "name": "Tick", "fields": [{"name": "ticker", "type": "string"}]}
KINDS = {
    "type": "record",
    "name": "Tick",
    "fields": [
        {"name": "ticker", "type": "string"},
        {"name": "price", "type": ["null", "double"], "default": None},
        {"name": "side", "type": {"type": "enum", "name": "Side", "symbols": ["BUY", "SELL"]},
         "default": "BUY"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}, "default": 0},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}, "default": 0},
        {"name": "id", "type": ["null", {"type": "string", "logicalType": "uuid"}],
         "default": None},
        {"name": "cost", "type": ["null", {"type": "bytes", "logicalType": "decimal",
                                           "precision": 9, "scale": 2}], "default": None},
        {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []},
        {"name": "counts", "type": {"type": "map", "values": "long"}, "default": {}},
        {"name": "odd", "type": ["null", "long", "string"], "default": None},
        {"name": "inner", "type": ["null", {"type": "record", "name": "Inner", "fields": [
            {"name": "flag", "type": "boolean"}, {"name": "raw", "type": "bytes"}]}],
         "default": None},
        {"name": "next", "type": ["null", "Tick"], "default": None},
    ],
}  # fmt: skip


def test_avro_of_any_version_has_the_columns_of_the_latest(
    spark: SparkSession, world: SchemaWorld, registry: RegistryClient
) -> None:
    topic = world.topic()
    first = registry.register(f"{topic}-value", Schema(json.dumps(FIRST))).id
    latest = registry.register(f"{topic}-value", Schema(json.dumps(KINDS))).id
    other = registry.register("other-value", Schema('{"type": "object"}', "JSON")).id
    full = {
        "ticker": "B",
        "price": 2.5,
        "side": "SELL",
        "at": AT,
        "day": dt.date(2023, 11, 30),
        "id": "12345678-1234-5678-1234-567812345678",
        "cost": decimal.Decimal("12.34"),
        "tags": ["x", "y"],
        "counts": {"a": 1},
        "odd": "text",
        "inner": {"flag": True, "raw": b"\1"},
        "next": {"ticker": "C", "at": 0, "side": "BUY", "day": 0, "tags": [], "counts": {}},
    }
    write(
        world,
        topic,
        [
            avro(FIRST, first, ticker="A"),
            avro(KINDS, latest, **full),
            avro(KINDS, 99_999, **full),
            b'{"ticker": "D"}',
            frame(latest, b"\x08ab"),
            frame(other, b"{}"),
            None,
        ],
    )
    frame_ = batch(spark, world, topic, decode="avro", **{"schema.registry.url": world.url})
    found = rows(frame_)
    assert [row._error for row in found] == [
        None,
        None,
        "the registry has no schema 99999",
        "no schema id is in front of the value",
        "a length is negative, or runs past the end of the value",
        f"schema {other} does not help: it is one of JSON",
        None,
    ]
    old, new = found[0].value, found[1].value
    assert (old.ticker, old.price, old.side, old.tags, old.counts) == ("A", None, "BUY", [], {})
    assert utc(old["at"]) == dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    assert utc(new["at"]) == AT.replace(microsecond=700_000)
    assert (new.ticker, new.price, new.side, new.day) == ("B", 2.5, "SELL", full["day"])
    assert (new.id, new.cost, new.tags, new.counts) == (
        full["id"],
        full["cost"],
        ["x", "y"],
        {"a": 1},
    )
    assert (new.odd.member0, new.odd.member1) == (None, "text")
    assert (new.inner.flag, bytes(new.inner.raw)) == (True, b"\1")
    assert json.loads(new.next)["ticker"] == "C"
    assert all(row.value is None for row in found[2:])


PROTO = """syntax = "proto3";
import "google/protobuf/timestamp.proto";
message Tick {
  string ticker = 1;
  double price = 2;
  google.protobuf.Timestamp at = 3;
  repeated Part parts = 4;
  map<string, uint64> counts = 5;
  Side side = 6;
  message Part { bytes raw = 1; }
}
enum Side { BUY = 0; SELL = 1; }
"""


def test_protobuf_and_json_of_a_registry_have_the_columns_of_their_schemas(
    spark: SparkSession, world: SchemaWorld, registry: RegistryClient
) -> None:
    topic = world.topic()
    subject = {"schema.registry.url": world.url, "subject": f"{topic}-proto"}
    proto = registry.register(f"{topic}-proto", Schema(PROTO, "PROTOBUF")).id
    tick = b"\0\x0a\x01A\x11\0\0\0\0\0\0\xf8\x3f\x22\x03\x0a\x01\2\x2a\x05\x0a\x01x\x10\x07\x30\x01"
    write(world, topic, [frame(proto, tick), frame(proto, b"\2\2"), frame(proto, b"\0\x0a\x7f")])
    found = rows(batch(spark, world, topic, decode="protobuf", **subject))
    value = found[0].value
    assert (value.ticker, value.price, value["at"], value.side) == ("A", 1.5, None, "SELL")
    assert value.parts == [Row(raw=bytearray(b"\2"))]
    assert value.counts == {"x": decimal.Decimal(7)}
    assert [row.value for row in found[1:]] == [None, None]
    assert found[1]._error == "the query reads Tick, and at [1] there is none"
    assert found[2]._error is not None

    topic = world.topic()
    properties = {
        "ticker": {"type": "string"},
        "at": {"type": "string", "format": "date-time"},
        "size": {"type": ["integer", "null"]},
        "sides": {"type": "object", "additionalProperties": {"type": "number"}},
        "any": {},
    }
    text = json.dumps({"type": "object", "properties": properties})
    schema_id = registry.register(f"{topic}-value", Schema(text, "JSON")).id
    value = {"ticker": "A", "at": "2023-11-30T14:43:29.700245Z", "sides": {"b": 1}, "any": [1, {}]}
    texts = [json.dumps(value), '{"size": 1.5}', "[]"]
    write(world, topic, [*(frame(schema_id, each.encode()) for each in texts), b"{}"])
    found = rows(batch(spark, world, topic, decode="json", **{"schema.registry.url": world.url}))
    value = found[0].value
    assert (value.ticker, value.size, value.sides, value.any) == ("A", None, {"b": 1.0}, "[1,{}]")
    assert utc(value["at"]) == AT
    assert [row._error for row in found[1:]] == [
        "field size takes int64, not this number",
        "the value is no JSON object",
        "no schema id is in front of the value",
    ]


def test_a_stream_sends_what_it_refuses_to_a_topic(
    spark: SparkSession, world: SchemaWorld, tmp_path: Path
) -> None:
    topic = world.topic()
    write(world, topic, [b'{"n": 1}', b"bad", b'{"n": 2}', b'{"n": "x"}'])
    options = {
        "kafka.bootstrap.servers": world.bootstrap,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "groupId": "readers",
        "decode": "json",
        "valueSchema": "n INT",
        "deadLetterTopic": f"{topic}-dead",
    }
    stream = spark.readStream.format("kafkaesque").options(**options).load()
    assert stream.columns == PLAIN
    kept: list[Row] = []
    writer = stream.writeStream.foreachBatch(lambda each, _: kept.extend(each.collect()))
    placed = writer.option("checkpointLocation", str(tmp_path / "c"))
    query = placed.trigger(availableNow=True).start()
    query.awaitTermination(100)
    query.stop()
    assert [(row.offset, row.value.n) for row in kept] == [(0, 1), (2, 2)]
    letters = foreign.read(world.bootstrap, f"{topic}-dead", 2)
    assert [(letter.key(), letter.value()) for letter in letters] == [
        (b"k1", b"bad"),
        (b"k3", b'{"n": "x"}'),
    ]
    told = dict(letters[1].headers() or [])
    error = b"the value is not json: field n takes int32, not this text"
    assert told["kafkaesque.error"] == error
    assert (told["h"], told["kafkaesque.topic"]) == (b"3", topic.encode())
    assert (told["kafkaesque.partition"], told["kafkaesque.offset"]) == (b"0", b"3")
    assert (told["kafkaesque.timestamp"], told["kafkaesque.group"]) == (
        b"1700000000003",
        b"readers",
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"decode": "json", "valueSchema": "n INT NOT NULL"}, "value.n cannot be NOT NULL"),
        ({"decode": "avro", "schema.registry.url": "URL"}, "has no subject .*-value"),
        (
            {"decode": "avro", "schema.registry.url": "URL", "subject": "other-value"},
            "subject other-value has a schema of JSON: give decode=json",
        ),
        (
            {"decode": "json", "schema.registry.url": "URL", "subject": "other-value"},
            "needs properties to become columns",
        ),
        (
            {"decode": "json", "schema.registry.url": "http://127.0.0.1:1"},
            "no schema registry answers at http://127.0.0.1:1",
        ),
    ],
)
def test_what_cannot_be_decoded_at_all_says_why(
    spark: SparkSession,
    world: SchemaWorld,
    registry: RegistryClient,
    options: dict[str, str],
    words: str,
) -> None:
    registry.register("other-value", Schema('{"type": "object"}', "JSON"))
    given = {name: world.url if each == "URL" else each for name, each in options.items()}
    with pytest.raises(PySparkException, match=words):
        batch(spark, world, "some", **given).collect()
