"""Schemas as Confluent's REST API writes them, and as it reads them."""

from typing import Any

import pytest

from kafkaesque.client.registry import Reference, Registered, Schema
from kafkaesque.client.registry.schema import registered_of, schema_of


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (Schema('"long"'), {"schema": '"long"'}),
        (Schema("{}", "JSON"), {"schema": "{}", "schemaType": "JSON"}),
        (
            Schema("x", "PROTOBUF", (Reference("a.proto", "a", 2),), {"tags": {}}, {"rules": []}),
            {
                "schema": "x",
                "schemaType": "PROTOBUF",
                "references": [{"name": "a.proto", "subject": "a", "version": 2}],
                "metadata": {"tags": {}},
                "ruleSet": {"rules": []},
            },
        ),
    ],
)
def test_a_schema_is_what_it_was(schema: Schema, told: dict[str, Any]) -> None:
    assert schema.as_json() == told
    assert schema_of(told) == schema
    assert hash(schema_of(told)) == hash(schema)


def test_a_registry_that_tells_only_the_id() -> None:
    schema = Schema('"long"')
    assert registered_of({"id": 7}, "s", schema) == Registered("s", 0, 7, schema)


def test_a_registry_that_tells_everything() -> None:
    told = {
        "subject": "s",
        "version": 2,
        "id": 7,
        "guid": "g",
        "schema": '"int"',
        "references": None,
    }
    assert registered_of(told, "s") == Registered("s", 2, 7, Schema('"int"'), "g")
