"""Rows of Avro values: what is refused and why, chosen columns, readers, types in themselves."""

import io
import tracemalloc
from typing import Any
from uuid import UUID

import fastavro
import orjson
import pyarrow as pa
import pytest

from kafkaesque.client.columns import ColumnsError, SchemaError, avro_decoder
from kafkaesque.client.columns.cursor import PART_ROWS

TICK = {
    "type": "record",
    "name": "StockTick",
    "namespace": "kafkaesque.demo",
    "fields": [
        {"name": "event_time", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "ticker", "type": "string"},
        {"name": "price", "type": "double"},
    ],
}
GOOD = b"\x80\x80\x84\xfe\xa6\xdf\x85\x06" + b"\x08AMZN" + bytes(8)
HUGE = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"  # 2**63 - 1
LOWEST = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"  # -2**63


def binary(*values: bytes | None) -> pa.Array:
    return pa.array(values, pa.binary())


def payload(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema, named_schemas={}), value)
    return out.getvalue()


def array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


@pytest.mark.parametrize(
    ("schema", "value", "reason"),
    [
        (TICK, b"", "ends before its last field"),
        (TICK, GOOD[:-1], "ends before its last field"),
        (TICK, GOOD[:7], "ends before its last field"),
        (TICK, GOOD[:10], "a length is negative, or runs past the end"),
        ("long", b"\x80", "ends before its last field"),
        ("long", b"\xff" * 9 + b"\x02", "a number is longer than 64 bits"),
        ("long", b"\xff" * 30, "a number is longer than 64 bits"),
        ("int", b"\x80\x80\x80\x80\x10", "beyond 32 bits"),
        ("string", b"\x01", "a length is negative"),
        ("string", HUGE, "a length is negative, or runs past"),
        ("bytes", LOWEST, "a length is negative"),
        ("string", b"\x04\xc3\x28", "not UTF-8"),
        (["null", "int"], b"\x04", "no branch"),
        (["null", "int"], b"\x01", "no branch"),
        (["int", "string"], b"\x04", "no branch"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\x02", "no symbol"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\x01", "no symbol"),
        (array("long"), HUGE, "claims more items"),
        (array("long"), LOWEST + b"\x00", "claims more items"),
        (array("long"), b"\x04\x02", "claims more items"),
        (array("long"), b"\x04\x02\x04", "ends before"),
        (array("long"), b"\x04\x80\x80\x00", "ends before"),
        (array("string"), b"\x04\x02a\x02", "ends before|runs past"),
        (array("null"), HUGE, "claims more items"),
        (array("null"), b"\x80\x01" * 2 + b"\x00", "claims more items"),
        (array({"type": "record", "name": "R", "fields": []}), b"\xe8\x07\x00", "more items"),
        ({"type": "map", "values": "int"}, b"\x02\x02a", "claims more items|ends before"),
        ({"type": "fixed", "name": "F", "size": 2**40}, b"abc", "ends before"),
        ({"type": "int", "logicalType": "time-millis"}, b"\x01", "not within a day"),
        ({"type": "string", "logicalType": "uuid"}, b"\x02x", "no UUID"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 1}, b"\x02\x0a", "digits"),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 1},
            b"\x28" + b"x" * 20,
            "digits",
        ),
    ],
)
@pytest.mark.parametrize("times", [1, 40])
def test_damage_is_refused_with_its_reason(
    schema: Any, value: bytes, reason: str, times: int
) -> None:
    decoder = avro_decoder(schema)
    with pytest.raises(ColumnsError, match=reason) as refusal:
        decoder.decode(binary(None, *[value] * times))
    assert refusal.value.index == 1
    decoded = decoder.read(binary(None, *[value] * times, None))
    assert decoded.refused.tolist() == [False, *[True] * times, False]
    assert decoded.array.null_count == times + 2 or pa.types.is_union(decoded.array.type)
    assert len(decoder.decode(binary(value), "null")) == 1


def test_good_rows_stay_beside_bad_ones() -> None:
    values = [GOOD, GOOD[:9], None, GOOD + b"more", b"\xff" * 40, GOOD]
    decoded = avro_decoder(TICK).read(binary(*values))
    assert decoded.refused.tolist() == [False, True, False, False, True, False]
    assert decoded.array.field("ticker").to_pylist() == ["AMZN", None, None, "AMZN", None, "AMZN"]
    assert decoded.reason(0) is None


def test_a_huge_count_costs_nothing() -> None:
    decoder = avro_decoder(array(array("null")))
    values = binary(*[b"\x14" + b"\x7e\x00" * 10 + b"\x00"] * 100, *[HUGE] * 100)
    tracemalloc.start()
    decoded = decoder.read(values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert decoded.refused.sum() == 100
    assert peak < 20 << 20


@pytest.mark.parametrize("blocks", [1, 3000])
def test_one_long_array_among_short_ones(blocks: int) -> None:
    """In one block or in very many, with their size in bytes or without."""
    item = {"type": "record", "name": "R", "fields": [{"name": "s", "type": "string"}]}
    count = 3000 // blocks
    each = b"\x02x" * count
    plain = _number(count) + each
    sized = _number(-count) + _number(len(each)) + each
    long = (plain + sized) * blocks + b"\x00"
    values = binary(b"\x00", long, b"\x02\x02y\x00", *[b"\x00"] * 40)
    found = avro_decoder(array(item)).decode(values)
    assert [len(row) for row in found][:4] == [0, 6000, 1, 0]
    assert found[2].as_py() == [{"s": "y"}]


def _number(value: int) -> bytes:
    return payload("long", value)


def test_columns_that_are_not_wanted_are_not_built() -> None:
    decoder = avro_decoder(TICK, columns=["price"])
    assert decoder.decode(binary(GOOD, GOOD)).to_pylist() == [{"price": 0.0}] * 2
    assert decoder.read(binary(GOOD[:-1])).refused.tolist() == [True]
    with pytest.raises(SchemaError, match="no field size"):
        avro_decoder(TICK, columns=["size"])
    with pytest.raises(SchemaError, match="of a record only"):
        avro_decoder("long", columns=["size"])


def test_more_rows_than_one_part_holds() -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "u", "type": ["null", "int", "string"]},
            {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
            {"name": "m", "type": {"type": "map", "values": "int"}},
            {"name": "i", "type": {"type": "string", "logicalType": "uuid"}},
            {"name": "r", "type": ["null", "R"]},
        ],
    }
    text = b"\x4800000000-0000-0000-0000-000000000007"
    values = [b"\x02\x0a\x02\x02\x02k\x04\x00" + text + b"\x00", b"\x00\x00\x00" + text + b"\x00"]
    many = values * (PART_ROWS // 2) + values
    found = avro_decoder(schema).decode(binary(*many))
    first, second = found[:2].to_pylist(maps_as_pydicts="lossy")
    assert first == {"u": 5, "e": "B", "m": {"k": 2}, "i": UUID(int=7), "r": None}
    assert second == {"u": None, "e": "A", "m": {}, "i": UUID(int=7), "r": None}
    assert found[-2:].to_pylist(maps_as_pydicts="lossy") == [first, second]
    with pytest.raises(ColumnsError) as refusal:
        avro_decoder("long").decode(binary(*[b"\x00"] * PART_ROWS, b"", b"\x00"))
    assert refusal.value.index == PART_ROWS


def test_frames_are_skipped() -> None:
    frame = b"\x00\x00\x00\x00\x07"
    decoder = avro_decoder(TICK)
    decoded = decoder.read(binary(frame + GOOD, b"\x00", None, frame + GOOD), skip=5)
    assert decoded.refused.tolist() == [False, True, False, False]
    assert decoded.reason(1) == "the value is shorter than its frame"
    assert decoded.array.field("ticker").to_pylist() == ["AMZN", None, None, "AMZN"]


def test_a_part_of_an_array_is_decoded_alone() -> None:
    values = binary(b"\x02", b"\x04", b"\x06", b"\x08")
    assert avro_decoder("long").decode(values[1:3]).to_pylist() == [2, 3]
    assert avro_decoder("long").decode(values[:0]).to_pylist() == []
    with pytest.raises(TypeError, match="cast them"):
        avro_decoder("long").decode(pa.array(["a"]))


def test_another_reader_resolves_each_value() -> None:
    reader = {
        **TICK,
        "fields": [
            {"name": "ticker", "type": ["null", "string"]},
            {"name": "size", "type": "int", "default": 100},
        ],
    }
    decoder = avro_decoder(TICK, reader)
    assert decoder.fallback
    decoded = decoder.read(binary(GOOD, GOOD[:9], None))
    assert decoded.array.to_pylist() == [{"ticker": "AMZN", "size": 100}, None, None]
    assert decoded.refused.tolist() == [False, True, False]
    assert not avro_decoder(TICK, orjson.dumps(TICK).decode()).fallback


def test_a_reader_without_a_default_refuses_values() -> None:
    reader = {**TICK, "fields": [{"name": "size", "type": "int"}]}
    decoded = avro_decoder(TICK, reader).read(binary(GOOD))
    assert decoded.reason(0) == "the value does not fit the reader's schema"


LIST = {
    "type": "record",
    "name": "Node",
    "fields": [{"name": "n", "type": "int"}, {"name": "next", "type": ["null", "Node"]}],
}


def test_what_a_type_holds_of_itself_is_json() -> None:
    value = {"n": 1, "next": {"n": 2, "next": {"n": 3, "next": None}}}
    decoder = avro_decoder(LIST)
    assert decoder.fallback
    first, second = decoder.decode(
        binary(payload(LIST, value), payload(LIST, {"n": 4, "next": None}))
    ).to_pylist()
    assert second == {"n": 4, "next": None}
    assert {**first, "next": orjson.loads(first["next"])} == value


def test_a_value_that_never_ends_is_refused() -> None:
    endless = b"\x02\x02" * 100_000
    decoded = avro_decoder(LIST).read(binary(endless, b"\x02\x00"))
    assert decoded.refused.tolist() == [True, False]
    assert decoded.reason(0) == "a value is nested too deep"


def test_it_is_refused_whichever_way_it_nests() -> None:
    ways = [
        {"name": "a", "type": ["null", "Node"]},
        {"name": "b", "type": array(["null", "Node"])},
        {"name": "c", "type": ["null", {"type": "map", "values": "Node"}]},
    ]
    schema = {"type": "record", "name": "Node", "fields": ways}
    decoder = avro_decoder(schema)
    for step in (b"\x02", b"\x00\x02\x02", b"\x00\x00\x02\x02\x02k"):
        decoded = decoder.read(binary(step * 20_000, b"\x00\x00\x00"))
        assert decoded.refused.tolist() == [True, False]
        assert decoded.reason(0) == "a value is nested too deep"
