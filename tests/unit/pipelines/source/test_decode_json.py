"""JSON texts as rows: by columns and one by one, which must agree."""

import datetime as dt
from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa
import pytest

from kafkaesque.client.registry import Reference, Schema
from kafkaesque.pipelines.source.decoding.json_schemas import JSON, json_type
from kafkaesque.pipelines.source.decoding.json_texts import JsonTexts

UTC = pa.timestamp("us", "UTC")
BOOLEAN = {"type": "boolean"}
ALL = pa.struct(
    [
        ("text", pa.string()),
        ("whole", pa.int32()),
        ("real", pa.float64()),
        ("flag", pa.bool_()),
        ("at", UTC),
        ("local", pa.timestamp("us")),
        ("day", pa.date32()),
        ("cost", pa.decimal128(6, 2)),
        ("items", pa.list_(pa.struct([("at", UTC)]))),
    ]
)
GOOD: list[dict[str, Any]] = [
    {"text": "é", "whole": 1, "real": 2, "flag": True, "at": "2023-11-30T14:43:29.700245"},
    {"at": "2023-11-30T14:43:29Z", "local": "2023-11-30 14:43:29", "day": "2023-11-30"},
    {"cost": 12.5, "items": [{"at": "2023-11-30T14:43:29+02:00"}, None, {}], "unknown": [1]},
    {"cost": "-1234.56", "items": None, "at": None, "real": 1e300},
    {},
]
BAD: list[tuple[bytes, str]] = [
    (b'{"whole": 1.5}', "field whole takes int32, not this number"),
    (b'{"whole": 3000000000}', "field whole takes int32, not this number"),
    (b'{"real": "1"}', "field real takes double, not this text"),
    (b'{"text": {}}', "field text takes string, not this object"),
    (b'{"at": "soon"}', "field at takes timestamp[us, tz=UTC], not this text"),
    (b'{"at": 5}', "field at takes timestamp[us, tz=UTC], not this number"),
    (b'{"local": "2023-11-30T14:43:29Z"}', "field local takes timestamp[us], not this text"),
    (b'{"cost": 1.255}', "field cost takes decimal128(6, 2), not this number"),
    (b'{"cost": 100000}', "field cost takes decimal128(6, 2), not this number"),
    (b'{"items": [{"at": "x"}]}', "field items[].at takes timestamp[us, tz=UTC], not this text"),
    (b'{"text": "x"', "the value is no JSON (line 1, column 13)"),
    (b"[1]", "the value is no JSON object"),
    (b"", "the value is no JSON (line 1, column 1)"),
    (b"\0\0\0", "the value is no JSON (line 1, column 1)"),
]


def test_columns_and_rows_agree_on_what_is_good() -> None:
    reader = JsonTexts(ALL, ALL)
    values = [orjson.dumps(each) for each in GOOD]
    found = reader.read(pa.array([*values, None]))
    assert found.reasons == {}
    found.array.validate(full=True)
    alone = [reader.read(pa.array([each])).array.to_pylist()[0] for each in values]
    assert found.array.to_pylist() == [*alone, None]
    moment = dt.datetime(2023, 11, 30, 14, 43, 29, tzinfo=dt.UTC)
    first, second, third, fourth, _ = alone
    assert first["at"] == moment.replace(microsecond=700245)
    assert (second["at"], second["local"]) == (moment, moment.replace(tzinfo=None))
    assert second["day"] == moment.date()
    assert (third["cost"], fourth["cost"]) == (Decimal("12.50"), Decimal("-1234.56"))
    assert third["items"] == [{"at": moment - dt.timedelta(hours=2)}, None, {"at": None}]


@pytest.mark.parametrize("count", [1, 200])
def test_what_is_refused_says_which_field_and_leaves_the_others(count: int) -> None:
    reader = JsonTexts(ALL, ALL)
    good = orjson.dumps(GOOD[0])
    values: list[bytes | None] = []
    for bad, _ in BAD:
        values += [*[good] * count, bad, None]
    found = reader.read(pa.array(values, pa.binary()))
    assert found.array.type == ALL
    assert list(found.reasons.values()) == [reason for _, reason in BAD]
    assert [values[place] for place in found.reasons] == [bad for bad, _ in BAD]
    assert found.array.null_count == 2 * len(BAD)
    assert found.array.to_pylist().count(reader.read(pa.array([good])).array.to_pylist()[0]) == (
        count * len(BAD)
    )


def test_a_value_that_would_pass_for_two_rows_is_refused() -> None:
    kind = pa.struct([("a", pa.int32())])
    found = JsonTexts(kind, kind).read(pa.array([b'{"a":1}}\n{"v":{"a":2}', b'{"a":3}']))
    assert found.array.to_pylist() == [None, {"a": 3}]
    assert list(found.reasons) == [0]


def test_a_part_of_a_batch_with_frames_is_read_without_them() -> None:
    kind = pa.struct([("a", pa.int32())])
    values = pa.array([b"?", b'\0\0\0\0\7{"a":1}', None, b'{"a":2}', b'\0\0\0\0\7{"a":3}'])[1:]
    found = JsonTexts(kind, kind).read(values)
    assert found.array.to_pylist() == [{"a": 1}, None, {"a": 2}, {"a": 3}]
    assert found.reasons == {}


def test_members_that_no_column_is_for_are_left_out_whatever_they_are() -> None:
    kind = pa.struct([("a", pa.int32()), ("s", pa.struct([("b", pa.int32())]))])
    usual = b'{"a":1, "x":1, "s":{"b":2, "y":[{"z":1}]}, "at":"2023-11-30T14:43:29", "n":null}'
    odd = [
        b'{"a":2, "x":1.5, "n":"t"}',
        b'{"a":3, "x":"text", "s":{"y":{}}, "unseen":{"deep":[[]]}}',
        b'{"a":"wrong", "x":1}',
        b'{"a":4}, "w":{"a":5}',
    ]
    found = JsonTexts(kind, kind).read(pa.array([*[usual] * 100, *odd, usual]))
    whole = {"a": 1, "s": {"b": 2}}
    expected = [*[whole] * 100, {"a": 2, "s": None}, {"a": 3, "s": {"b": None}}, None, None, whole]
    assert found.array.to_pylist() == expected
    assert found.reasons[102] == "field a takes int32, not this text"
    assert sorted(found.reasons) == [102, 103]


def test_types_that_arrow_cannot_parse_go_one_by_one() -> None:
    kind = pa.struct(
        [("any", JSON), ("sizes", pa.map_(pa.string(), pa.int64())), ("raw", pa.binary())]
    )
    declared = pa.struct(
        [("any", pa.string()), ("sizes", pa.map_(pa.string(), pa.int64())), ("raw", pa.binary())]
    )
    values = [b'{"any": {"x": [1]}, "sizes": {"a": 1}, "raw": "AQI="}', b'{"raw": "?"}', None]
    found = JsonTexts(kind, declared).read(pa.array(values))
    assert found.array.to_pylist() == [
        {"any": '{"x":[1]}', "sizes": [("a", 1)], "raw": b"\1\2"},
        None,
        None,
    ]
    assert found.reasons == {1: "field raw takes binary, not this text"}


def nobody(reference: Reference, format: str | None = None) -> Schema:  # noqa: A002
    return Schema(
        '{"$defs": {"Part": {"type": "object", "properties": {"n": {"type": "number"}}}}}'
    )


def test_a_json_schema_names_the_columns() -> None:
    schema = {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "at": {"type": "string", "format": "date-time"},
            "day": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
            "whole": {"type": ["integer", "null"]},
            "either": {"type": ["integer", "number"]},
            "mixed": {"type": ["integer", "string"]},
            "side": {"enum": ["BUY", "SELL"]},
            "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}},
            "other": {"$ref": "other.json#/$defs/Part"},
            "both": {"allOf": [{"$ref": "#/$defs/Part"}, {"properties": {"b": BOOLEAN}}]},
            "sizes": {"type": "object", "additionalProperties": {"type": "integer"}},
            "free": {"type": "object"},
        },
        "$defs": {
            "Part": {
                "type": "object",
                "properties": {"a": {"type": "string"}, "inner": {"$ref": "#/$defs/Part"}},
            }
        },
    }  # fmt: skip
    references = (Reference("other.json", "other", 1),)
    text = orjson.dumps(schema).decode()
    part = pa.struct([("a", pa.string()), ("inner", JSON)])
    assert json_type(Schema(text, "JSON", references), nobody) == pa.struct(
        [
            ("text", pa.string()),
            ("at", UTC),
            ("day", pa.date32()),
            ("whole", pa.int64()),
            ("either", pa.float64()),
            ("mixed", JSON),
            ("side", pa.string()),
            ("parts", pa.list_(part)),
            ("other", pa.struct([("n", pa.float64())])),
            ("both", pa.struct([("a", pa.string()), ("inner", part), ("b", pa.bool_())])),
            ("sizes", pa.map_(pa.string(), pa.int64())),
            ("free", JSON),
        ]
    )
    with pytest.raises(ValueError, match="has nothing at #/x"):
        json_type(Schema('{"properties": {"a": {"$ref": "#/x"}}}', "JSON"), nobody)
