"""Avro schemas from strangers: large, deep, endless. Each ends soon, in a verdict or a refusal."""

import json
from typing import Any

import pytest
from tests.unit.registry.avro_cases import array, enum, field, record

from kafkaesque.registry.avro import AvroSchema, incompatibilities, parse
from kafkaesque.registry.schema_text import (
    MAX_DEPTH,
    MAX_TEXT_BYTES,
    InvalidSchemaError,
    Referenced,
)


def parsed(schema: Any) -> AvroSchema:
    return parse(json.dumps(schema))


def refused(text: str) -> str:
    with pytest.raises(InvalidSchemaError) as refusal:
        parse(text)
    assert len(str(refusal.value)) < 1000
    return str(refusal.value)


def test_a_text_that_is_too_long() -> None:
    assert "longer than 1048576 bytes" in refused('"' + "x" * MAX_TEXT_BYTES + '"')
    assert "longer than 1048576 bytes" in refused('"' + "é" * (MAX_TEXT_BYTES // 2) + '"')
    assert "no type is named" in refused('"' + "x" * (MAX_TEXT_BYTES - 2) + '"')


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"type":"array","items":' * 40_000,
        '{"type":"array","items":' * 400 + '"int"' + "}" * 400,
        '{"type":"int","x":' * 500 + "1" + "}" * 500,
        '{"type":"array","items":' * (MAX_DEPTH + 1) + '"int"' + "}" * (MAX_DEPTH + 1),
    ],
    ids=["open", "lists", "arrays", "400", "property", "one too many"],
)
def test_nesting_that_is_too_deep(text: str) -> None:
    assert "nested deeper than 100 levels" in refused(text) or "not JSON" in refused(text)


def test_the_deepest_nesting_that_is_taken() -> None:
    schema = parse('{"type":"array","items":' * MAX_DEPTH + '"int"' + "}" * MAX_DEPTH)
    assert incompatibilities(schema, schema) == []
    deep: Any = "int"
    for level in range(MAX_DEPTH - 1):
        deep = record(field("f", deep), name=f"R{level}")
    schema = parsed(deep)
    assert incompatibilities(schema, schema) == []
    assert parse(schema.normalized()).canonical == schema.canonical


def test_a_default_that_is_too_deep_is_refused() -> None:
    tree = record(field("f", array("Tick"), default=[]))
    value: Any = {}
    for _ in range(200):
        value = {"f": [value]}
    tree["fields"].append(field("g", array("Tick"), default=[value]))
    assert "nested deeper" in refused(json.dumps(tree))


@pytest.mark.slow
def test_ten_thousand_fields() -> None:
    reader = parsed(record(*(field(f"f{at}", "long") for at in range(10_000))))
    writer = parsed(record(*(field(f"f{at}", "int") for at in reversed(range(10_000)))))
    assert incompatibilities(reader, writer) == []
    assert len(incompatibilities(writer, reader)) == 1000


def test_ten_thousand_symbols_and_a_long_default_of_them() -> None:
    symbols = [f"S{at}" for at in range(10_000)]
    schema = record(field("f", array(enum(*symbols)), default=["S9999"] * 50_000))
    assert incompatibilities(parsed(schema), parsed(schema)) == []


def linked(count: int, *last: Any) -> list[Any]:
    """R1 may hold R0, R2 may hold R1 and so on, without nesting in the text."""
    links = [record(*last, name="R0")]
    links += [record(field("f", ["null", f"R{at - 1}"]), name=f"R{at}") for at in range(1, count)]
    return links


@pytest.mark.slow
def test_a_long_chain_of_records() -> None:
    with_field, without = parsed(linked(3000, field("x"))), parsed(linked(3000))
    assert incompatibilities(without, with_field) == []
    found = incompatibilities(with_field, without)
    assert len(found) == 1000
    assert [each.path for each in found[:2]] == ["/0", "/1"]
    assert all(len(each.path) + len(each.message) < 3000 for each in found)


def doubling(count: int, *last: Any) -> list[Any]:
    """Each record holds the one before twice: 2 to the power of `count` ways through it."""
    links = [record(*last, name="R0")]
    for at in range(1, count):
        branches = ["null", f"R{at - 1}"]
        links.append(record(field("a", branches), field("b", f"R{at - 1}"), name=f"R{at}"))
    return links


def test_pairs_that_are_exponential_if_looked_at_again_and_again() -> None:
    with_field, without = parsed(doubling(300, field("x"))), parsed(doubling(300))
    assert incompatibilities(without, with_field) == []
    assert len(incompatibilities(with_field, without)) == 300


def mutual(*extra: Any, count: int = 60) -> Any:
    """Records that all may hold each other."""
    names = [f"R{at}" for at in range(count)]
    inner: list[Any] = [
        record(field("f", ["null", "Root", *names[:at]]), name=name)
        for at, name in enumerate(names)
    ]
    back = field("back", ["null", "Root"])
    return record(field("all", ["null", *inner]), back, *extra, name="Root")


def test_records_that_all_hold_each_other() -> None:
    plain, more = parsed(mutual()), parsed(mutual(field("x")))
    assert incompatibilities(plain, more) == []
    assert [each.path for each in incompatibilities(more, plain)] == ["/fields/2"]


def test_defaults_that_are_exponential_if_looked_at_again_and_again() -> None:
    value: Any = {"f": 5}
    for _ in range(60):
        value = {"f": value}
    one = record(field("f", ["One", "string"]), name="One")
    other = record(field("f", ["One", "Other", "string"]), name="Other")
    text = json.dumps(record(field("a", [one, other], default=value)))
    assert "is a value of no branch of the union" in refused(text)


def test_unions_of_thousands_of_branches_are_refused_not_compared_for_ever() -> None:
    reader = parsed([record(field("x"), name=f"a{at}.R") for at in range(2000)])
    writer = parsed([record(name=f"b{at}.R") for at in range(2000)])
    with pytest.raises(InvalidSchemaError, match="too large to compare: more than 200000 pairs"):
        incompatibilities(reader, writer)


def test_many_backslashes_and_escapes() -> None:
    text = json.dumps({"type": "int", "x": "\\" * 200_000 + "\x1f"})
    assert parse(text).canonical.endswith('\\u001F"}')


def test_references_that_are_a_huge_tree_but_a_small_graph() -> None:
    reference = Referenced("R0", json.dumps(record(name="R0")))
    for at in range(1, 200):
        text = json.dumps(record(field("f", f"R{at - 1}"), name=f"R{at}"))
        reference = Referenced(f"R{at}", text, (reference, reference))
    schema = parse('"R199"', [reference])
    assert incompatibilities(schema, schema) == []
    with pytest.raises(InvalidSchemaError, match="nested deeper"):
        parse('"R499"', [chained(500)]).formatted("resolved")


def chained(count: int) -> Referenced:
    reference = Referenced("R0", json.dumps(record(name="R0")))
    for at in range(1, count):
        text = json.dumps(record(field("f", f"R{at - 1}"), name=f"R{at}"))
        reference = Referenced(f"R{at}", text, (reference,))
    return reference
