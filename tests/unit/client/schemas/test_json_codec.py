"""JSON payloads: checked against their schema both ways, and nothing is fetched."""

import json
from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest

from kafkaesque.client.registry import Reference, Schema
from kafkaesque.client.schemas.codec import codec

PRICE = {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]}
INTEGER = Schema('{"type": "integer", "definitions": {"text": {"type": "string"}}}', "JSON")


def resolve(reference: Reference, format: str | None = None) -> Schema:  # noqa: A002
    assert reference.subject == "integer"
    return INTEGER


def of(schema: Any, *references: Reference, reader: Any = None) -> Any:
    return codec(
        Schema(json.dumps(schema), "JSON", references),
        resolve,
        None if reader is None else Schema(json.dumps(reader), "JSON"),
    )


def test_what_fits_comes_back() -> None:
    made = of(PRICE)
    assert made.decode(made.encode({"price": 1.5})) == {"price": 1.5}
    assert made.to_json(b'{"price":1}') == {"price": 1}


def test_what_does_not_fit_is_refused_both_ways_without_showing_it() -> None:
    made = of(PRICE)
    for bad in ({"price": "secret"}, {}, 3):
        with pytest.raises(ValueError) as raised:
            made.encode(bad)
        assert "secret" not in str(raised.value)
    with pytest.raises(ValueError, match=r'field price: the value is not of type "number"'):
        made.encode({"price": "secret"})
    with pytest.raises(ValueError, match='"price" is a required property'):
        made.decode(b"{}")
    with pytest.raises(ValueError):
        made.decode(b"{")


def test_types_that_orjson_knows_are_checked_as_they_are_written() -> None:
    @dataclass
    class Day:
        at: date

    made = of({"properties": {"at": {"type": "string"}}})
    assert made.encode(Day(date(2026, 1, 2))) == b'{"at":"2026-01-02"}'
    with pytest.raises(ValueError, match="field at"):
        of({"properties": {"at": {"type": "integer"}}}).encode({"at": date(2026, 1, 2)})


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({"properties": {"n": {"$ref": "integer.json"}}}, "integer.json"),
        (
            {"$id": "http://a.org/x/main.json", "properties": {"n": {"$ref": "integer.json"}}},
            "integer.json",
        ),
        ({"properties": {"n": {"$ref": "http://a.org/integer.json"}}}, "http://a.org/integer.json"),
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "properties": {"n": {"$ref": "integer.json"}},
            },
            "integer.json",
        ),
    ],
)
def test_references_are_other_documents(schema: Any, name: str) -> None:
    made = of(schema, Reference(name, "integer", 1))
    assert made.decode(made.encode({"n": 1})) == {"n": 1}
    with pytest.raises(ValueError, match="field n"):
        made.encode({"n": "x"})


def test_a_part_of_another_document() -> None:
    schema = {"properties": {"t": {"$ref": "integer.json#/definitions/text"}}}
    made = of(schema, Reference("integer.json", "integer", 1))
    with pytest.raises(ValueError, match="field t"):
        made.encode({"t": 1})


def test_the_draft_is_what_the_schema_says() -> None:
    four = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "maximum": 3,
        "exclusiveMaximum": True,
    }
    with pytest.raises(ValueError):
        of(four).encode(3)
    assert of({"exclusiveMaximum": 4}).encode(3) == b"3"


def test_a_reader_checks_with_its_own_schema() -> None:
    made = of(True, reader=PRICE)
    with pytest.raises(ValueError):
        made.decode(b"{}")


@pytest.mark.parametrize(
    "text",
    ['{"type": 3}', "{", '{"$ref": "x.json"}', '{"$ref": "http://127.0.0.1:1/x.json"}'],
)
def test_what_is_no_schema(text: str) -> None:
    with pytest.raises(ValueError, match="no JSON Schema"):
        codec(Schema(text, "JSON"), resolve)
