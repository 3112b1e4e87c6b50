"""Avro schemas as fastavro has parsed them, with the types that they refer to.

A reference is a schema whose types the referring one uses by name. They are parsed first, each
once, into one table of names of this schema alone: nothing is shared between schemas.
Above: avro.py. Below: fastavro.
"""

import json
from io import BytesIO
from typing import Any

import fastavro
from fastavro.schema import SchemaParseException, UnknownType

from kafkaesque.client.registry import Reference, Schema
from kafkaesque.client.schemas.codec import Resolve


def parsed(schema: Schema, resolve: Resolve) -> Any:
    """Raises ValueError if it is no Avro schema."""
    names: dict[str, Any] = {}
    seen: set[Reference] = set()

    def take(one: Schema) -> Any:
        for reference in one.references:
            if reference not in seen:
                seen.add(reference)
                take(resolve(reference))
        return fastavro.parse_schema(_json(one.text), named_schemas=names)

    try:
        found = take(schema)
    except UnknownType as error:
        raise ValueError(
            f"no Avro schema: there is no type {error.name}; if another schema has it, "
            "refer to that one with references="
        ) from error
    except (SchemaParseException, RecursionError, KeyError, TypeError) as error:
        raise ValueError(f"no Avro schema: {error}") from error
    # fastavro parses again what is a name or a list, and would not know what they refer to.
    if isinstance(found, list):
        return [names.get(each, each) if isinstance(each, str) else each for each in found]
    return names.get(found, found) if isinstance(found, str) else found


def named_types(schema: Any) -> dict[str, Any]:
    """The named types that a parsed schema uses."""
    if isinstance(schema, list):
        return {name: kind for each in schema for name, kind in named_types(each).items()}
    return dict(schema.get("__named_schemas", {})) if isinstance(schema, dict) else {}


def with_native_defaults(schema: Any) -> Any:
    """A parsed reader's schema: fastavro hands out defaults as the schema has them, so that a time
    would be a number where it was not written, and a datetime where it was."""
    if isinstance(schema, list):
        for each in schema:
            with_native_defaults(each)
    elif isinstance(schema, dict):
        for field in schema.get("fields", ()):
            if "default" in field:
                field["default"] = _native(field["default"], field["type"])
            with_native_defaults(field["type"])
        for inner in ("items", "values", "type"):
            with_native_defaults(schema.get(inner))
        for named in schema.get("__named_schemas", {}).values():
            with_native_defaults(named)
    return schema


def _native(default: Any, schema: Any) -> Any:
    kind = schema[0] if isinstance(schema, list) else schema
    base = kind["type"] if isinstance(kind, dict) else kind
    if base in ("bytes", "fixed") and isinstance(default, str):
        default = default.encode("latin-1")
    if not isinstance(kind, dict) or "logicalType" not in kind:
        return default
    if not isinstance(default, int | str | bytes):  # It is: fields are met more than once.
        return default
    out = BytesIO()
    plain_kind = {name: part for name, part in kind.items() if name != "logicalType"}
    fastavro.schemaless_writer(out, plain_kind, default)
    return fastavro.schemaless_reader(BytesIO(out.getvalue()), kind, None)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        # A lone name need not be quoted.
        if text.strip().replace(".", "_").isidentifier():
            return text.strip()
        raise ValueError(f"no Avro schema: it is no JSON ({error})") from error
