"""JSON into Avro's values and back; what does not fit names its field."""

import json
from typing import Any

import pytest

from kafkaesque.client.json_encoder import JsonEncoder, UnfitError
from kafkaesque.client.registry import Reference, Schema
from kafkaesque.client.schemas import codec, unframe

FIELDS: list[dict[str, Any]] = [
    {"name": "s", "type": "string", "default": "?"},
    {"name": "d", "type": "double", "default": 0.0},
    {"name": "l", "type": "long", "default": 0},
    {"name": "b", "type": "bytes", "default": "\u00ff"},
    {"name": "f", "type": {"type": "fixed", "name": "F", "size": 2}, "default": "ab"},
    {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}, "default": "A"},
    {"name": "xs", "type": {"type": "array", "items": "int"}, "default": []},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}, "default": 0},
    {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}], "default": None},
    {
        "name": "amount",
        "type": [
            "null",
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        ],
        "default": None,
    },
    {
        "name": "u",
        "type": [
            "null",
            "string",
            {"type": "record", "name": "R", "fields": [{"name": "x", "type": "int"}]},
            {"type": "record", "name": "S", "fields": [{"name": "x", "type": "int"}]},
        ],
        "default": None,
    },
    {"name": "m", "type": {"type": "map", "values": ["null", "R"]}, "default": {}},
]
SCHEMA = Schema(json.dumps({"type": "record", "name": "T", "namespace": "a", "fields": FIELDS}))


def nothing(reference: Reference, format: str | None = None) -> Schema:  # noqa: A002
    raise AssertionError(reference, format)


CODEC = codec(SCHEMA, nothing)
ENCODER = JsonEncoder(7, CODEC, "AVRO", "subject t-value, schema 7")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, {"b": "/w==", "f": "YWI=", "at": "1970-01-01T00:00:00Z", "e": "A"}),
        ({"d": 1}, {"d": 1.0}),
        ({"b": "AAE=", "f": "AAE="}, {"b": "AAE=", "f": "AAE="}),
        ({"at": "2026-11-15T12:00:00+01:00"}, {"at": "2026-11-15T11:00:00Z"}),
        ({"at": 1000}, {"at": "1970-01-01T00:00:01Z"}),
        ({"day": "2026-11-15"}, {"day": "2026-11-15"}),
        ({"amount": "12.50"}, {"amount": "12.50"}),
        ({"amount": 3}, {"amount": "3.00"}),
        ({"u": "x"}, {"u": "x"}),
        ({"u": {"string": "x"}}, {"u": "x"}),
        ({"u": {"x": 1}}, {"u": {"x": 1}}),
        ({"u": {"a.S": {"x": 1}}}, {"u": {"x": 1}}),
        ({"m": {"k": {"x": 1}, "n": None}}, {"m": {"k": {"x": 1}, "n": None}}),
        ({"xs": [1, 2], "e": "B", "l": 2**63 - 1}, {"xs": [1, 2], "e": "B", "l": 2**63 - 1}),
    ],
)
def test_what_is_written_is_what_a_decoder_tells(
    given: dict[str, Any], told: dict[str, Any]
) -> None:
    schema_id, payload = unframe(ENCODER.encode(given))
    found = CODEC.to_json(payload)
    assert schema_id == 7
    assert {name: found[name] for name in told} == told
    # And what a decoder tells may be written again.
    assert CODEC.to_json(unframe(ENCODER.encode(found))[1]) == found


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"s": 1}, "s"),
        ({"d": "1"}, "d"),
        ({"l": 2**63}, "l"),
        ({"l": True}, "l"),
        ({"l": 1.5}, "l"),
        ({"b": "?"}, "b"),
        ({"f": "AAEC"}, "f"),
        ({"e": "C"}, "e"),
        ({"xs": [1, "2"]}, "xs[1]"),
        ({"at": "yesterday"}, "at"),
        ({"day": "2026"}, "day"),
        ({"amount": "much"}, "amount"),
        ({"u": 5}, "u"),
        ({"m": {"k": {"x": "1"}}}, "m.k.x"),
        ({"m": {"k": {}}}, "m.k.x"),
        ({"z": 1}, "z"),
        ([], None),
        (None, None),
    ],
)
def test_what_does_not_fit_names_its_field_and_schema(given: Any, field: str | None) -> None:
    with pytest.raises(UnfitError) as refusal:
        ENCODER.encode(given)
    assert refusal.value.field == field
    assert "subject t-value" in str(refusal.value)


def test_json_that_is_nested_beyond_reason_is_refused() -> None:
    tree = Schema(
        json.dumps(
            {
                "type": "record",
                "name": "Node",
                "fields": [{"name": "next", "type": ["null", "Node"], "default": None}],
            }
        )
    )
    encoder = JsonEncoder(1, codec(tree, nothing), "AVRO", "schema 1")
    value: dict[str, Any] = {}
    for _ in range(100_000):
        value = {"next": value}
    with pytest.raises(UnfitError):
        encoder.encode(value)
    while value:  # Else freeing it would recurse as deeply.
        value = value.pop("next")
