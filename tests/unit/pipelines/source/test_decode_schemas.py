"""Avro and Protobuf values as rows of the types that Spark has for them."""

import datetime as dt
import io
import json
from base64 import b64encode
from decimal import Decimal
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from kafkaesque.client.registry import Reference, Schema
from kafkaesque.client.schemas import frame
from kafkaesque.pipelines.source.decoding.avro import AvroRows, avro_type, whole
from kafkaesque.pipelines.source.decoding.frames import schema_ids
from kafkaesque.pipelines.source.decoding.protobuf import ProtobufRows, protobuf_type
from kafkaesque.pipelines.source.decoding.types import ddl_of

AT = dt.datetime(2023, 11, 30, 14, 43, 29, 700245, tzinfo=dt.UTC)
UTC = pa.timestamp("us", "UTC")


def record(*fields: tuple[str, Any], name: str = "R") -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": field, "type": kind} for field, kind in fields],
    }


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


def no_other(reference: Reference, format: str | None = None) -> Schema:  # noqa: A002
    raise AssertionError(reference)


def payloads(schema: Any, *values: Any) -> pa.BinaryArray:
    found = []
    for value in values:
        payload = io.BytesIO()
        fastavro.schemaless_writer(payload, fastavro.parse_schema(schema), value)
        found.append(frame(1, payload.getvalue()))
    return pa.array(found)


CASES: list[tuple[Any, Any, str, pa.DataType, Any]] = [
    (logical("long", "timestamp-millis"), AT, "TIMESTAMP", UTC, AT.replace(microsecond=700_000)),
    (logical("long", "timestamp-micros"), AT, "TIMESTAMP", UTC, AT),
    (
        logical("long", "local-timestamp-micros"),
        AT.replace(tzinfo=None),
        "TIMESTAMP_NTZ",
        pa.timestamp("us"),
        AT.replace(tzinfo=None),
    ),
    (logical("int", "date"), AT.date(), "DATE", pa.date32(), AT.date()),
    (logical("long", "time-micros"), dt.time(1, 2, 3), "STRING", pa.string(), "01:02:03.000000"),
    (
        logical("bytes", "decimal", precision=9, scale=2),
        Decimal("1.25"),
        "DECIMAL(9, 2)",
        pa.decimal128(9, 2),
        Decimal("1.25"),
    ),
    (
        logical("bytes", "decimal", precision=50, scale=2),
        Decimal("1.25"),
        "STRING",
        pa.string(),
        "1.25",
    ),
    (
        logical("string", "uuid"),
        "12345678-9abc-def0-1234-56789abcdef0",
        "STRING",
        pa.string(),
        "12345678-9abc-def0-1234-56789abcdef0",
    ),
    (
        {"type": "enum", "name": "E", "symbols": ["A", "B"]},
        "B",
        "STRING",
        pa.string(),
        "B",
    ),
    ({"type": "fixed", "name": "F", "size": 2}, b"ab", "BINARY", pa.binary(), b"ab"),
    (
        ["null", "long", "string"],
        "x",
        "STRUCT<`member0`: BIGINT, `member1`: STRING>",
        pa.struct([("member0", pa.int64()), ("member1", pa.string())]),
        {"member0": None, "member1": "x"},
    ),
    (
        {"type": "map", "values": {"type": "array", "items": logical("string", "uuid")}},
        {"a": []},
        "MAP<STRING, ARRAY<STRING>>",
        pa.map_(pa.string(), pa.list_(pa.string())),
        [("a", [])],
    ),
    ("null", None, "STRING", pa.string(), None),
]


@pytest.mark.parametrize(("kind", "value", "ddl", "declared", "expected"), CASES)
def test_each_avro_type_has_one_of_spark(
    kind: Any, value: Any, ddl: str, declared: pa.DataType, expected: Any
) -> None:
    schema = record(("f", kind), ("maybe", ["null", record(("g", "int"), name="Inner")]))
    text = Schema(json.dumps(schema))
    found = avro_type(text, no_other)
    assert ddl_of(found) == f"STRUCT<`f`: {ddl}, `maybe`: STRUCT<`g`: INT>>"
    kinds = pa.struct([("f", declared), ("maybe", pa.struct([("g", pa.int32())]))])
    reader = AvroRows(schema, schema, kinds)
    values = payloads(schema, {"f": value, "maybe": None}, {"f": value, "maybe": {"g": 7}})
    rows = reader.read(pa.chunked_array([values, pa.array([frame(1, b"")])]).combine_chunks())
    rows.array.validate(full=True)
    assert rows.array.type == kinds
    good = [{"f": expected, "maybe": None}, {"f": expected, "maybe": {"g": 7}}]
    assert rows.array.to_pylist() == [*good, None]
    assert list(rows.reasons) == [2]


def test_a_moment_that_microseconds_cannot_hold_is_the_last_that_they_can() -> None:
    schema = record(("at", logical("long", "timestamp-millis")))
    plain = record(("at", "long"))
    values = payloads(plain, {"at": 2**62}, {"at": -(2**62)})
    rows = AvroRows(schema, schema, pa.struct([("at", UTC)])).read(values)
    last = (2**63 - 1) // 1000 * 1000
    assert rows.array.field(0).cast(pa.int64()).to_pylist() == [last, -last]


def test_a_type_that_another_schema_has_is_written_out_where_it_is_first_used() -> None:
    inner = Schema(json.dumps(record(("g", "int"), name="Inner")))
    reference = Reference("Inner", "inner-value", 3)
    outer = record(("a", "Inner"), ("b", {"type": "array", "items": "Inner"}))
    found = whole(Schema(json.dumps(outer), references=(reference,)), lambda *_: inner)
    fastavro.parse_schema(found)
    assert [field["name"] for field in found["fields"][0]["type"]["fields"]] == ["g"]
    assert found["fields"][1]["type"]["items"] == "Inner"


def test_values_of_an_older_schema_are_resolved_to_the_newer() -> None:
    old, new = record(("a", "int")), record(("a", "long"))
    new["fields"].append({"name": "b", "type": "string", "default": "?"})
    reader = AvroRows(old, new, pa.struct([("a", pa.int64()), ("b", pa.string())]))
    assert reader.read(payloads(old, {"a": 1})).array.to_pylist() == [{"a": 1, "b": "?"}]


def test_only_records_become_columns() -> None:
    with pytest.raises(ValueError, match="only a record becomes columns"):
        avro_type(Schema('"string"'), no_other)


def test_ids_are_found_for_all_values_at_once() -> None:
    values = pa.array([b"cut", frame(7, b"x"), None, b"{}", b"\0\0", frame(2**31, b""), b""])
    assert schema_ids(values).tolist() == [-2, 7, -1, -2, -2, -2, -2]
    assert schema_ids(values[1:3]).tolist() == [7, -1]
    assert schema_ids(pa.array([], pa.binary())).tolist() == []
    assert schema_ids(pa.array([None, None], pa.binary())).tolist() == [-1, -1]
    assert schema_ids(values).dtype == np.int64


def proto(*fields: tuple[str, int, str], before: int = 0) -> Schema:
    """A file with a message Tick, after as many others."""
    file = FileDescriptorProto(name="t.proto", syntax="proto3")
    file.dependency.extend(["google/protobuf/duration.proto", "google/protobuf/struct.proto"])
    for number in range(before):
        file.message_type.add(name=f"Other{number}")
    tick = file.message_type.add(name="Tick")
    for number, (name, kind, type_name) in enumerate(fields, 1):
        field = tick.field.add(name=name, number=number, type=kind, label=Field.LABEL_OPTIONAL)
        if type_name:
            field.type_name = type_name
    return Schema(b64encode(file.SerializeToString()).decode(), "PROTOBUF")


def test_protobuf_types_have_types_of_spark() -> None:
    schema = proto(
        ("big", Field.TYPE_UINT64, ""),
        ("count", Field.TYPE_UINT32, ""),
        ("raw", Field.TYPE_BYTES, ""),
        ("took", Field.TYPE_MESSAGE, ".google.protobuf.Duration"),
        ("any", Field.TYPE_MESSAGE, ".google.protobuf.Struct"),
        ("next", Field.TYPE_MESSAGE, ".Tick"),
    )
    kind = protobuf_type(schema, no_other)
    assert ddl_of(kind) == (
        "STRUCT<`big`: DECIMAL(20, 0), `count`: BIGINT, `raw`: BINARY, "
        "`took`: INTERVAL DAY TO SECOND, `any`: STRING, `next`: STRING>"
    )
    declared = pa.struct(
        [
            ("big", pa.decimal128(20, 0)),
            ("count", pa.int64()),
            ("raw", pa.binary()),
            ("took", pa.duration("us")),
            ("any", pa.string()),
            ("next", pa.string()),
        ]
    )
    reader = ProtobufRows(schema, schema, no_other, declared)
    message = (
        b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x22\x02\x08\x05\x2a\x00\x32\x02\x10\x09"
    )
    values = [frame(1, b"\0" + message), frame(1, b"\x02\x02"), frame(1, b"\0\x0a"), frame(1, b"")]
    found = reader.read(pa.array(values))
    row = found.array.to_pylist()[0]
    assert (row["big"], row["count"], row["raw"]) == (Decimal(2**64 - 1), 0, b"")
    assert (row["took"], row["any"]) == (dt.timedelta(seconds=5), "{}")
    assert json.loads(row["next"])["count"] == 9
    assert found.array.null_count == 3
    assert found.reasons[1] == "the query reads Tick, and at [1] there is none"
    assert sorted(found.reasons) == [1, 2, 3]


def test_a_message_is_known_by_its_name_and_its_fields_by_their_numbers() -> None:
    reader = proto(("price", Field.TYPE_INT64, ""))
    writer = proto(("cost", Field.TYPE_INT64, ""), ("extra", Field.TYPE_STRING, ""), before=1)
    rows = ProtobufRows(writer, reader, no_other, pa.struct([("price", pa.int64())]))
    tick, other = frame(1, b"\x02\x02\x08\x07\x12\x01x"), frame(1, b"\0\x08\x07")
    found = rows.read(pa.array([tick, other]))
    assert found.array.to_pylist() == [{"price": 7}, None]
    assert found.reasons == {1: "the query reads Tick, and at [0] there is Other0"}
