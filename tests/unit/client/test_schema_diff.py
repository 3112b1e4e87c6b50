"""What is said of two schemas: fields that came, went and changed, and the lines of their texts."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.client.schema_diff import SchemaDiff, Verdict, Version, readable, schema_diff
from kafkaesque.client.schema_fields import avro_type, fields_of


def record(*fields: dict[str, Any], name: str = "Tick") -> dict[str, Any]:
    return {"type": "record", "name": name, "namespace": "market", "fields": list(fields)}


def field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


def between(old: Any, new: Any, kind: str = "AVRO") -> SchemaDiff:
    return schema_diff(
        Version("version 1", kind, json.dumps(old)), Version("version 2", kind, json.dumps(new))
    )


def said(old: Any, new: Any, kind: str = "AVRO") -> list[str]:
    changes = between(old, new, kind).changes
    assert changes is not None
    return [str(change) for change in changes]


SIDE = {"type": "enum", "name": "Side", "symbols": ["BUY", "SELL"]}
DAY = {"type": "int", "logicalType": "date"}
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
PERSON = record(field("name", "string"), name="Person")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            record(field("price", "double")),
            record(field("price", "double"), field("volume", "long", default=0)),
            ["+ volume: long = 0"],
            id="a new field with its default",
        ),
        pytest.param(
            record(field("bid", ["null", MONEY], default=None, doc="best")),
            record(),
            ['- bid: null or bytes (decimal 10, 2) = null (doc "best")'],
            id="a field that went",
        ),
        pytest.param(
            record(field("price", "int", default=1)),
            record(field("price", "long", default=2)),
            ["~ price: type int → long", "~ price: default 1 → 2"],
            id="type and default",
        ),
        pytest.param(
            record(field("price", "int")),
            record(field("price", "int", default=0, aliases=["cost"])),
            ["~ price: default none → 0", '~ price: aliases none → ["cost"]'],
            id="what was not there before",
        ),
        pytest.param(
            record(field("side", SIDE)),
            record(field("side", SIDE | {"symbols": ["BUY", "SELL", "HOLD"]})),
            ["~ side: symbols BUY, SELL → BUY, SELL, HOLD"],
            id="symbols",
        ),
        pytest.param(
            record(field("owner", ["null", PERSON])),
            record(field("owner", ["null", record(field("born", DAY), name="Person")])),
            ["- owner.name: string", "+ owner.born: int (date)"],
            id="inside a record that may be null",
        ),
        pytest.param(
            record(field("lines", {"type": "array", "items": PERSON})),
            record(field("lines", {"type": "array", "items": record(name="Person")})),
            ["- lines[].name: string"],
            id="inside an array",
        ),
        pytest.param(
            record(field("by", {"type": "map", "values": record(name="Person")})),
            record(field("by", {"type": "map", "values": PERSON})),
            ["+ by{}.name: string"],
            id="inside a map",
        ),
        pytest.param(
            record(field("who", [PERSON, record(name="Firm")])),
            record(field("who", [PERSON, record(field("vat", "string"), name="Firm")])),
            ["+ who<Firm>.vat: string"],
            id="inside one branch of a union",
        ),
        pytest.param("int", "long", ["~ (the schema): type int → long"], id="no record at all"),
        pytest.param(
            record(),
            {**record(), "name": "Trade"},
            ["~ (the schema): type record market.Tick → record market.Trade"],
            id="another name",
        ),
    ],
)
def test_avro_is_compared_field_by_field(old: Any, new: Any, expected: list[str]) -> None:
    assert said(old, new) == expected


def test_a_name_that_is_used_again_is_not_walked_again() -> None:
    tree = record(field("next", ["null", "market.Tick"]), field("side", SIDE), field("o", "Side"))
    assert said(tree, tree) == []
    assert fields_of("AVRO", json.dumps(tree)) == {
        "": {"type": "record market.Tick"},
        "next": {"type": "null or market.Tick"},
        "side": {"type": "enum Side", "symbols": "BUY, SELL"},
        "o": {"type": "Side"},
    }


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "fixed", "name": "Md5", "size": 16}, "fixed Md5 of 16 bytes"),
        ({"type": "long", "logicalType": "timestamp-millis"}, "long (timestamp-millis)"),
        ({"type": "array", "items": ["null", "int"]}, "array of null or int"),
        ({"type": {"type": "string"}}, "string"),
    ],
)
def test_types_are_written_in_a_few_words(schema: Any, words: str) -> None:
    assert avro_type(schema) == words


def test_json_schemas_are_compared_field_by_field() -> None:
    old = {
        "type": "object",
        "properties": {
            "price": {"type": "number", "minimum": 0},
            "lines": {"type": "array", "items": {"properties": {"sku": {"type": "string"}}}},
        },
        "required": ["price", "elsewhere"],
        "additionalProperties": False,
    }
    new = {
        "type": "object",
        "properties": {
            "price": {"type": "number", "minimum": 1},
            "volume": {"type": "integer", "default": 0},
            "lines": {
                "type": "array",
                "items": {"properties": {"sku": {"type": ["string", "null"]}}, "required": ["sku"]},
            },
        },
        "required": ["volume"],
        "$defs": {"Line": {"$ref": "#/x"}},
        "anyOf": [{"type": "object"}, True],
    }
    assert said(old, new, "JSON") == [
        "+ volume: integer = 0 (required)",
        "+ $defs.Line: #/x",
        "+ anyOf(0): object",
        "+ anyOf(1): anything",
        "~ (the schema): required fields elsewhere → none",
        "~ (the schema): additionalProperties false → none",
        "~ price: minimum 0 → 1",
        "~ price: no longer required",
        "~ lines[].sku: type string → string or null",
        "~ lines[].sku: now required",
    ]


def test_the_lines_are_those_of_a_text_that_people_can_read() -> None:
    lines = between(record(field("a", "int")), record(field("a", "long"))).lines
    assert lines[:2] == ("--- version 1", "+++ version 2")
    assert [line for line in lines[3:] if line[0] in "+-"] == [
        '-      "type": "int"',
        '+      "type": "long"',
    ]


def test_protobuf_is_compared_line_by_line() -> None:
    old, new = ('syntax = "proto3";\nmessage A {\n' + text + "\n}\n" for text in ("", "int32 x=1;"))
    found = schema_diff(Version("1", "PROTOBUF", old), Version("2", "PROTOBUF", new))
    assert found.changes is None
    assert "+int32 x=1;" in found.lines


@pytest.mark.parametrize("text", ["no JSON", "[" * 100_000, '{"type": "record", "fields": 3}', "3"])
def test_texts_that_are_no_schemas_are_compared_all_the_same(text: str) -> None:
    schema_diff(Version("1", "AVRO", text), Version("2", "AVRO", '"int"'))
    assert readable("AVRO", text) == text or text.startswith("{")


def test_schemas_of_different_types_have_lines_alone() -> None:
    found = schema_diff(Version("1", "AVRO", '"int"'), Version("2", "JSON", '{"type": "integer"}'))
    assert found.changes is None
    assert found.lines


KEYWORDS = (
    *("type", "fields", "name", "items", "values", "symbols", "properties", "required"),
    *("anyOf", "$defs", "additionalProperties", "$ref", "default"),
)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(KEYWORDS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(st.sampled_from(["AVRO", "JSON"]), JSONS, JSONS)
def test_whatever_json_a_schema_is_it_can_be_compared(kind: str, old: Any, new: Any) -> None:
    assert said(old, old, kind) == []
    found = between(old, new, kind)
    assert found.changes is not None
    assert bool(found.lines) == (readable(kind, json.dumps(old)) != readable(kind, json.dumps(new)))


def test_a_verdict_says_who_can_read_whom() -> None:
    assert Verdict("backward", True).sentence == "the new schema can read what the old one wrote"
    assert (
        Verdict("forward", False).sentence
        == "the old schema CANNOT read all that the new one writes"
    )
    assert Verdict("forward", None).sentence == "nobody can tell"
