"""The texts of Avro schemas: stored as Java prints them, normalized, with references inlined."""

import json
from typing import Any

import pytest
from tests.unit.registry.avro_cases import array, enum, field, fixed, logical, record

from kafkaesque.registry.avro import parse
from kafkaesque.registry.schema_text import Referenced

# As Java 1.12 prints them: tests/compat/test_avro_java.py asks it again.
CANONICAL = [
    ('{"type":"string"}', '"string"'),
    (' "int" ', '"int"'),
    ('{"type":"string","x":1}', '{"type":"string","x":1}'),
    ('{"type":"string","name":"x","doc":"gone"}', '"string"'),
    ('{"type":"long","logicalType":"no-such"}', '{"type":"long","logicalType":"no-such"}'),
    ('{ "type" : "array", "items" : {"type":"int"} }', '{"type":"array","items":"int"}'),
    (
        '{"type":"map","default":{},"values":"int"}',
        '{"type":"map","values":"int","default":{}}',
    ),
    ('["null",{"type":"int"}]', '["null","int"]'),
    ("[]", "[]"),
    (
        '{"fields":[{"type":"int","name":"a","aliases":["z","b"],"order":"descending","default":5,'
        '"doc":"d","p":[1,2.50,{"b":1,"a":null}]}],"z":1,"aliases":["q","x.y","n.s.t"],"doc":"D",'
        '"namespace":"n.s","name":"R","a":2,"type":"record"}',
        '{"type":"record","name":"R","namespace":"n.s","doc":"D","fields":[{"name":"a","type":'
        '"int","doc":"d","default":5,"order":"descending","aliases":["z","b"],"p":[1,2.5,{"b":1,'
        '"a":null}]}],"z":1,"a":2,"aliases":["q","x.y","t"]}',
    ),
    (
        '{"type":"enum","doc":"x","p":1,"aliases":["F"],"default":"A","symbols":["A"],"name":"a.E"}',
        '{"type":"enum","name":"E","namespace":"a","doc":"x","symbols":["A"],"default":"A","p":1,'
        '"aliases":["F"]}',
    ),
    (
        '{"type":"fixed","aliases":["G"],"logicalType":"decimal","precision":4,"size":2,"name":"F"}',
        '{"type":"fixed","name":"F","size":2,"logicalType":"decimal","precision":4,"aliases":["G"]}',
    ),
    (
        '{"type":"error","name":"R","namespace":"","fields":[]}',
        '{"type":"error","name":"R","fields":[]}',
    ),
    (
        '{"type":"record","name":"a.R","fields":[{"name":"x","type":{"type":"record","name":"b.S",'
        '"fields":[{"name":"z","type":"a.R"},{"name":"k","type":"S"}]}},{"name":"q","type":"b.S"}]}',
        '{"type":"record","name":"R","namespace":"a","fields":[{"name":"x","type":{"type":"record",'
        '"name":"S","namespace":"b","fields":[{"name":"z","type":"a.R"},{"name":"k","type":"S"}]}},'
        '{"name":"q","type":"b.S"}]}',
    ),
    (
        '{"type":"record","name":"a.R","fields":[{"name":"x","type":{"type":"record","name":"S",'
        '"namespace":"","fields":[{"name":"y","type":"S"},{"name":"z","type":"a.R"}]}}]}',
        '{"type":"record","name":"R","namespace":"a","fields":[{"name":"x","type":{"type":"record",'
        '"name":"S","namespace":"","fields":[{"name":"y","type":"S"},{"name":"z","type":"a.R"}]}}]}',
    ),
    (
        '{"type":"record","name":"n.int","fields":[{"name":"a","type":["null","n.int"]}]}',
        '{"type":"record","name":"int","namespace":"n","fields":[{"name":"a","type":["null",'
        '"n.int"]}]}',
    ),
    (
        '{"type":"record","name":"R","doc":"\\u001f\\u00e9\\u20ac\\/\\"\\\\u001f","fields":[]}',
        '{"type":"record","name":"R","doc":"\\u001Fé€/\\"\\\\u001f","fields":[]}',
    ),
    (
        '{"type":"int","x":1e10,"y":12345678.9,"z":0.0001,"w":1e7,"v":1e-3,"q":9999999.5,'
        '"m":-1.5e-10,"n":-0.0,"o":100,"p":123456789012345678901234567890}',
        '{"type":"int","x":1.0E10,"y":1.23456789E7,"z":1.0E-4,"w":1.0E7,"v":0.001,"q":9999999.5,'
        '"m":-1.5E-10,"n":-0.0,"o":100,"p":123456789012345678901234567890}',
    ),
]


@pytest.mark.parametrize(("text", "canonical"), CANONICAL, ids=lambda text: text[:50])
def test_canonical(text: str, canonical: str) -> None:
    schema = parse(text)
    assert schema.canonical == canonical
    assert parse(canonical).canonical == canonical
    assert schema.formatted("") == schema.formatted("no-such") == canonical


def test_an_alias_without_namespace_stays_one() -> None:
    schema = parse(json.dumps(record(name="n.R", aliases=[".S"])))
    assert '"aliases":[".S"]' in schema.canonical
    assert parse(schema.canonical).canonical == schema.canonical


def test_a_name_without_namespace_is_told_from_one_with() -> None:
    inner = record(field("a", "n.R"), field("b", ".R"), name="n.S")
    schema = record(field("x", record(name="n.R")), field("y", inner), name="R")
    text = parse(json.dumps(schema)).canonical
    assert '[{"name":"a","type":"R"},{"name":"b","type":".R"}]' in text
    assert parse(text).canonical == text


SAME_MEANING: list[tuple[Any, Any]] = [
    (logical("int", "date", b=1, a=2), {"a": 2, "b": 1, **logical("int", "date")}),
    ({"type": "int", "a": {"d": 1, "c": 2}}, {"type": "int", "a": {"c": 2, "d": 1}}),
    (record(aliases=["B", "A"]), record(aliases=["A", "B"])),
    (record(doc=""), record()),
    (record(field("f", order="ascending")), record(field("f"))),
    (record(field("f", aliases=["b", "a"])), record(field("f", aliases=["a", "b"]))),
    (record(field("f", z=1, a=2)), record(field("f", a=2, z=1))),
    (record(field("f", "double", default=1)), record(field("f", "double", default=1.0))),
    (
        record(field("f", array("float"), default=[1])),
        record(field("f", array("float"), default=[1.0])),
    ),
    (
        record(field("f", {"type": "map", "values": "int"}, default={"b": 1, "a": 2})),
        record(field("f", {"type": "map", "values": "int"}, default={"a": 2, "b": 1})),
    ),
    ({**record(), "type": "error"}, record()),
    (fixed(2, b=1, a=2), fixed(2, a=2, b=1)),
    (record(name="a.R", namespace="b"), record(name="R", namespace="a")),
]

OTHER_MEANING: list[tuple[Any, Any]] = [
    (record(doc="x"), record()),
    (record(field("f", doc="")), record(field("f"))),
    (record(field("f", order="ignore")), record(field("f"))),
    (record(field("a"), field("b")), record(field("b"), field("a"))),
    (enum("A", "B"), enum("B", "A")),
    (enum("A", default="A"), enum("A")),
    (["null", "int"], ["int", "null"]),
    (record(field("f", default=1)), record(field("f"))),
    (logical("int", "date"), "int"),
]


@pytest.mark.parametrize(("one", "other"), SAME_MEANING, ids=str)
def test_texts_that_mean_the_same_are_normalized_to_one(one: Any, other: Any) -> None:
    first, second = parse(json.dumps(one)), parse(json.dumps(other))
    assert first.normalized() == second.normalized()
    assert parse(first.normalized()).normalized() == first.normalized()


@pytest.mark.parametrize(("one", "other"), OTHER_MEANING, ids=str)
def test_normalizing_keeps_what_differs(one: Any, other: Any) -> None:
    assert parse(json.dumps(one)).normalized() != parse(json.dumps(other)).normalized()


def test_a_logical_type_comes_before_other_properties() -> None:
    schema = logical("bytes", "decimal", scale=2, a=1, precision=4)
    assert parse(json.dumps(schema)).normalized() == (
        '{"type":"bytes","logicalType":"decimal","precision":4,"scale":2,"a":1}'
    )
    invalid = logical("bytes", "decimal", scale=2, a=1)
    assert parse(json.dumps(invalid)).normalized() == (
        '{"type":"bytes","a":1,"logicalType":"decimal","scale":2}'
    )


PRICE = Referenced("shop.Price", json.dumps(record(field("cents"), name="shop.Price")))
LINE = Referenced(
    "shop.Line", json.dumps(record(field("p", "shop.Price"), name="shop.Line")), (PRICE,)
)


def test_referenced_types_are_only_named_in_the_stored_text() -> None:
    schema = parse(json.dumps(record(field("line", "shop.Line"), name="shop.Order")), [LINE])
    assert schema.canonical == (
        '{"type":"record","name":"Order","namespace":"shop",'
        '"fields":[{"name":"line","type":"Line"}]}'
    )
    assert schema.normalized() == schema.canonical


def test_resolved_stands_alone() -> None:
    order = record(field("line", "shop.Line"), field("sum", "shop.Price"), name="Order")
    resolved = parse(json.dumps(order), [LINE]).formatted("resolved")
    assert resolved == (
        '{"type":"record","name":"Order","fields":[{"name":"line","type":{"type":"record","name":'
        '"Line","namespace":"shop","fields":[{"name":"p","type":{"type":"record","name":"Price",'
        '"fields":[{"name":"cents","type":"int"}]}}]}},{"name":"sum","type":"shop.Price"}]}'
    )
    assert parse(resolved).canonical == resolved
