"""Each Avro type as a column: Arrow's type of it, and values at its edges."""

import datetime as dt
import io
import math
from decimal import Decimal
from typing import Any
from uuid import UUID

import fastavro
import pyarrow as pa
import pytest

from kafkaesque.client.columns import SchemaError, avro_decoder


def encoded(schema: Any, *values: Any) -> pa.Array:
    parsed = fastavro.parse_schema(schema, named_schemas={})
    payloads = []
    for value in values:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, value)
        payloads.append(out.getvalue())
    return pa.array(payloads, pa.binary())


def decimal(precision: int, scale: int, **more: Any) -> dict[str, Any]:
    more = more or {"type": "bytes"}
    return {"logicalType": "decimal", "precision": precision, "scale": scale, **more}


def logical(kind: str, name: str) -> dict[str, str]:
    return {"type": kind, "logicalType": name}


UTC = dt.UTC
MOMENT = dt.datetime(2024, 2, 29, 1, 2, 3, 456789, UTC)
CASES = [
    ("null", pa.null(), [None, None]),
    ("boolean", pa.bool_(), [True, False]),
    ("int", pa.int32(), [0, -1, 63, 64, -(2**31), 2**31 - 1]),
    ("long", pa.int64(), [0, 8191, 8192, -(2**55), 2**55, 2**56, -(2**63), 2**63 - 1]),
    ("float", pa.float32(), [0.5, -math.inf]),
    ("double", pa.float64(), [0.1, 1e300, -0.0]),
    ("bytes", pa.binary(), [b"", b"\xff" * 300]),
    ("string", pa.string(), ["", "é☃𝄞", "x" * 9000]),
    (
        {"type": "enum", "name": "E", "symbols": ["A", "B"]},
        pa.dictionary(pa.int32(), pa.string()),
        ["B", "A", "B"],
    ),
    ({"type": "fixed", "name": "F", "size": 3}, pa.binary(3), [b"abc", b"\0\0\0"]),
    ({"type": "fixed", "name": "F", "size": 300}, pa.binary(), [b"a" * 300, b"b" * 300]),
    (["null", "long"], pa.int64(), [None, 1, 300]),
    (["string", "null"], pa.string(), ["a", None]),
    (["null", "string", "long"], None, [None, "a", 2, "b"]),
    ({"type": "array", "items": "long"}, pa.list_(pa.int64()), [[], [1, 300, -(2**63)], [5]]),
    (
        {"type": "array", "items": {"type": "array", "items": "string"}},
        pa.list_(pa.list_(pa.string())),
        [[], [[], ["a", "b"]], [["c"]]],
    ),
    ({"type": "map", "values": "int"}, pa.map_(pa.string(), pa.int32()), [{}, {"a": 1, "b": 2}]),
    (logical("int", "date"), pa.date32(), [dt.date(1969, 12, 31), dt.date(2024, 2, 29)]),
    (logical("int", "time-millis"), pa.time32("ms"), [dt.time(23, 59, 59, 999000)]),
    (logical("long", "time-micros"), pa.time64("us"), [dt.time(0), dt.time(1, 2, 3, 4)]),
    (
        logical("long", "timestamp-millis"),
        pa.timestamp("ms", "UTC"),
        [MOMENT.replace(microsecond=456000)],
    ),
    (logical("long", "timestamp-micros"), pa.timestamp("us", "UTC"), [MOMENT]),
    (
        logical("long", "local-timestamp-micros"),
        pa.timestamp("us"),
        [MOMENT.replace(tzinfo=None)],
    ),
    (
        logical("string", "uuid"),
        pa.uuid(),
        [UUID(int=0), UUID("12345678-90ab-cdef-1234-567890abcdef")],
    ),
    (decimal(9, 2), pa.decimal128(9, 2), [Decimal("-1234567.89"), Decimal("0.00")]),
    (decimal(60, 3), pa.decimal256(60, 3), [Decimal("-1.234"), Decimal(10) ** 50]),
    (
        decimal(4, 1, type="fixed", name="D", size=20),
        pa.decimal128(4, 1),
        [Decimal("-99.9"), Decimal("3.5")],
    ),
]


@pytest.mark.parametrize(("schema", "kind", "values"), CASES, ids=lambda each: str(each)[:30])
@pytest.mark.parametrize("times", [1, 30])
def test_values_are_those_that_were_written(
    schema: Any, kind: pa.DataType | None, values: list[Any], times: int
) -> None:
    decoder = avro_decoder(schema)
    found = decoder.decode(encoded(schema, *values * times))
    found.validate(full=True)
    assert found.type == decoder.type
    assert kind is None or found.type == kind
    assert found.to_pylist(maps_as_pydicts="lossy") == values * times
    assert not decoder.fallback


def test_a_union_of_several_is_dense() -> None:
    found = avro_decoder(["null", "string", "long"]).decode(
        encoded(["null", "string", "long"], "a", None, 7)
    )
    assert [field.type for field in found.type] == [pa.null(), pa.string(), pa.int64()]
    assert found.type_codes.to_pylist() == [1, 0, 2]


def test_nanoseconds_are_a_timestamp() -> None:
    schema = logical("long", "timestamp-nanos")
    found = avro_decoder(schema).decode(encoded("long", 1_700_000_000_123_456_789))
    assert found.type == pa.timestamp("ns", "UTC")
    assert found.cast(pa.int64()).to_pylist() == [1_700_000_000_123_456_789]


def test_a_logical_type_that_is_unknown_or_misplaced_is_ignored() -> None:
    for schema in (logical("long", "date"), logical("string", "colour"), logical("long", "uuid")):
        value: Any = "x" if schema["type"] == "string" else 5
        assert avro_decoder(schema).decode(encoded(schema["type"], value)).to_pylist() == [value]


@pytest.mark.parametrize(
    "text",
    [
        "12345678-90AB-cdef-1234-567890abcdef",
        "1234567890abcdef1234567890abcdef",
        "{12345678-90ab-cdef-1234-567890abcdef}",
    ],
)
def test_a_uuid_may_be_written_as_python_reads_it(text: str) -> None:
    found = avro_decoder(logical("string", "uuid")).decode(encoded("string", text))
    assert found.to_pylist() == [UUID("12345678-90ab-cdef-1234-567890abcdef")]


def test_decimals_may_have_more_bytes_than_they_need() -> None:
    values = [b"", b"\xff" * 40 + b"\x85", b"\0" * 20 + b"\x7b"]
    found = avro_decoder(decimal(5, 2)).decode(encoded("bytes", *values))
    assert found.to_pylist() == [Decimal("0.00"), Decimal("-1.23"), Decimal("1.23")]


def test_types_of_other_schemas_may_be_named() -> None:
    place = {"type": "record", "name": "Place", "fields": [{"name": "x", "type": "int"}]}
    trip = {
        "type": "record",
        "name": "Trip",
        "fields": [{"name": "a", "type": "Place"}, {"name": "b", "type": "Place"}],
    }
    found = avro_decoder(trip, named=[place]).decode(pa.array([b"\x02\x04"], pa.binary()))
    assert found.to_pylist() == [{"a": {"x": 1}, "b": {"x": 2}}]


@pytest.mark.parametrize("schema", ["nonsense", "{", {"type": "record"}, {"type": "array"}])
def test_what_is_no_schema_is_refused(schema: Any) -> None:
    with pytest.raises(SchemaError):
        avro_decoder(schema)


def test_a_schema_that_grows_too_large_is_refused() -> None:
    fields = [{"name": "f0", "type": "int"}]
    inner: dict[str, Any] = {"type": "record", "name": "R0", "fields": fields}
    for level in range(1, 20):
        again = [{"name": "a", "type": inner}, {"name": "b", "type": f"R{level - 1}"}]
        inner = {"type": "record", "name": f"R{level}", "fields": again}
    with pytest.raises(SchemaError, match="too large"):
        avro_decoder(inner)


def test_a_schema_nested_too_deep_is_refused() -> None:
    schema: Any = "int"
    for _ in range(5000):
        schema = {"type": "array", "items": schema}
    with pytest.raises(SchemaError, match="levels"):
        avro_decoder(schema)
