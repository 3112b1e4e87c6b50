"""Schemas of strangers: huge, deep, looping, exploding. All end soon, most with a refusal.

A bound on steps is what keeps the time; pytest's timeout turns a hang into a failure.
"""

import json
from typing import Any

import pytest

from kafkaesque.registry.jsonschema import JsonSchema, incompatibilities, parse, patterns
from kafkaesque.registry.schema_text import (
    MAX_DEPTH,
    MAX_TEXT_BYTES,
    Incompatibility,
    InvalidSchemaError,
    Referenced,
)

CATASTROPHES = ["(a+)+$", "(a|a)*b", "(.*)*x", "([a-z]+)*1", "^(([a-z])+.)+[A-Z]([a-z])+$"]


def text(schema: Any) -> str:
    return json.dumps(schema)


def nested(depth: int, inner: str = "{}") -> str:
    return '{"items":' * depth + inner + "}" * depth


@pytest.mark.slow
def test_a_schema_of_a_megabyte_is_taken_and_one_more_byte_is_not() -> None:
    properties = {f"name{i:05}": {"type": "string"} for i in range(25_000)}
    fits = text({"properties": properties})
    fits += " " * (MAX_TEXT_BYTES - len(fits))
    schema = parse(fits)
    assert incompatibilities(schema, parse(fits)) == []
    with pytest.raises(InvalidSchemaError, match="at most"):
        parse(fits + " ")


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 1_000, 100_000])
@pytest.mark.parametrize("opening", ['{"items":', "[", '{"not":', '{"const":['])
def test_nesting_is_refused(depth: int, opening: str) -> None:
    depth = min(depth, MAX_TEXT_BYTES // (2 * len(opening)))
    closing = "".join("}" if each == "{" else "]" for each in reversed(opening) if each in "{[")
    with pytest.raises(InvalidSchemaError, match="nested deeper"):
        parse(opening * depth + "1" + closing * depth)


def test_nesting_up_to_the_bound_is_compared() -> None:
    old, new = parse(nested(90, '{"type":"integer"}')), parse(nested(90, '{"type":"number"}'))
    assert incompatibilities(new, old) == []
    assert incompatibilities(old, new)


def chain(length: int, end: Any) -> str:
    """Shallow as a text, deep by its references."""
    made = {str(i): {"items": {"$ref": f"#/definitions/{i + 1}"}} for i in range(length)}
    return text({"$ref": "#/definitions/0", "definitions": {**made, str(length): end}})


def test_depth_by_references_is_refused_when_compared() -> None:
    old, new = parse(chain(5_000, {"type": "integer"})), parse(chain(5_000, {"type": "number"}))
    with pytest.raises(InvalidSchemaError, match="deeper than"):
        incompatibilities(new, old)


@pytest.mark.slow
def test_a_long_way_of_references_in_one_place() -> None:
    ways = {str(i): {"$ref": f"#/definitions/{i + 1}"} for i in range(10_000)}
    schema = parse(
        text({"$ref": "#/definitions/0", "definitions": {**ways, "10000": {"type": "integer"}}})
    )
    assert incompatibilities(schema, parse('{"type": "integer"}')) == []
    ring = {**ways, "10000": {"$ref": "#/definitions/0"}}
    with pytest.raises(InvalidSchemaError, match="leads back to itself"):
        parse(text({"$ref": "#/definitions/0", "definitions": ring}))


@pytest.mark.parametrize("word", ["allOf", "anyOf", "oneOf"])
def test_doubling_at_every_step(word: str) -> None:
    made = {str(i): {word: [{"$ref": f"#/definitions/{i + 1}"}] * 2} for i in range(60)}

    def schema(end: Any) -> JsonSchema:
        return parse(text({"$ref": "#/definitions/0", "definitions": {**made, "60": end}}))

    assert incompatibilities(schema({"type": "integer"}), schema({"type": "integer"})) == []
    verdict_or_refusal(schema({"type": "number"}), schema({"type": "integer"}))


def test_doubling_through_properties_with_a_fault_at_the_end() -> None:
    made = {
        str(i): {
            "type": "object",
            "properties": {name: {"$ref": f"#/definitions/{i + 1}"} for name in "ab"},
        }
        for i in range(60)
    }

    def schema(end: Any) -> JsonSchema:
        return parse(text({"$ref": "#/definitions/0", "definitions": {**made, "60": end}}))

    told = incompatibilities(schema({"type": "integer"}), schema({"type": "string"}))
    assert 0 < len(told) <= 200


def verdict_or_refusal(reader: JsonSchema, writer: JsonSchema) -> list[Incompatibility] | None:
    try:
        return incompatibilities(reader, writer)
    except InvalidSchemaError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("word", ["oneOf", "anyOf", "allOf"])
def test_five_thousand_branches(word: str) -> None:
    branches = [
        {"type": "object", "properties": {f"p{i}": {"type": "string"}}} for i in range(5_000)
    ]
    old, new = (
        parse(text({word: branches})),
        parse(text({word: [*reversed(branches), {"type": "null"}]})),
    )
    assert incompatibilities(old, parse(text({word: branches}))) == []
    verdict_or_refusal(new, old)


def test_pairs_of_choices_that_multiply() -> None:
    choice = {"anyOf": [{"required": [name]} for name in "abcdefgh"]}
    old = parse(
        text(
            {
                "allOf": [choice] * 1
                + [{"anyOf": [{"minProperties": i} for i in range(8)]} for _ in range(8)]
            }
        )
    )
    new = parse(text({"anyOf": [{"required": ["x"]}, {"maxProperties": 0}]}))
    assert verdict_or_refusal(new, old) != []


def test_recursive_schemas_that_never_meet_again() -> None:
    def rings(length: int, end: Any) -> JsonSchema:
        made = {
            str(i): {
                "type": "object",
                "properties": {"n": {"$ref": f"#/definitions/{(i + 1) % length}"}, **end},
            }
            for i in range(length)
        }
        return parse(text({"$ref": "#/definitions/0", "definitions": made}))

    assert incompatibilities(rings(7, {}), rings(11, {})) == []
    assert incompatibilities(
        rings(7, {"v": {"type": "integer"}}), rings(11, {"v": {"type": "number"}})
    )


@pytest.mark.parametrize("pattern", CATASTROPHES)
def test_catastrophic_patterns_are_matched_in_linear_time(pattern: str) -> None:
    name = "a" * 20_000
    old = parse(
        text({"properties": {name: {"type": "string"}}, "patternProperties": {pattern: {}}})
    )
    new = parse(text({"patternProperties": {pattern: {"type": "integer"}}, "pattern": pattern}))
    verdict_or_refusal(new, old)
    assert patterns.matches(pattern, name + "!") in (True, False)


def test_a_pattern_that_linear_time_cannot_do_is_taken_for_a_maybe() -> None:
    pattern = "^(?!internal)"
    assert patterns.matches(pattern, "a") is None
    old = parse(text({"properties": {"a": {"type": "string"}}}))
    assert incompatibilities(
        parse(text({"patternProperties": {pattern: {"type": "integer"}}})), old
    )
    assert incompatibilities(parse(text({"patternProperties": {pattern: True}})), old) == []


@pytest.mark.parametrize(
    "pattern", ["((a{100}){100}){100}", "(.{0,999}){999}", "a" * 5_000, "(?:" * 900 + ")" * 900]
)
def test_patterns_that_grow_are_refused(pattern: str) -> None:
    with pytest.raises(InvalidSchemaError, match="regular expression"):
        parse(text({"pattern": pattern}))


def test_too_many_patterns_are_refused() -> None:
    with pytest.raises(InvalidSchemaError, match="regular expressions"):
        parse(text({"patternProperties": {f"^{i}": {} for i in range(patterns.MAX_PATTERNS + 1)}}))


def test_references_in_diamonds_are_read_once() -> None:
    referenced = Referenced("0", '{"type": "string"}')
    for i in range(1, 60):
        inner = text({"allOf": [{"$ref": str(i - 1)}, {"$ref": str(i - 1)}]})
        referenced = Referenced(str(i), inner, (referenced, referenced))
    schema = parse('{"$ref": "59"}', (referenced,))
    assert incompatibilities(schema, parse('{"type": "string"}')) == []


def test_references_without_end_are_refused() -> None:
    many = tuple(Referenced(f"{i}.json", "{}") for i in range(2_000))
    with pytest.raises(InvalidSchemaError, match="too much is referred to"):
        parse("{}", many)


def test_a_ring_over_references_is_refused() -> None:
    back = Referenced("b.json", text({"allOf": [{"$ref": "a.json"}]}))
    with pytest.raises(InvalidSchemaError, match="leads back to itself"):
        parse(text({"$id": "a.json", "anyOf": [{"$ref": "b.json"}]}), (back,))
