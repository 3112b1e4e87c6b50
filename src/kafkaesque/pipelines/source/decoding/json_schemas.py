"""A JSON Schema as types of columns.

    string   text; format date-time or date      a moment, a date         boolean   boolean
    integer  64 bits                             number   double          array     array
    object   with properties: a struct; with additionalProperties of one type alone: a map

null beside another type, as `type: [X, null]` or in anyOf and oneOf, changes nothing: every field
may be null. $ref is followed, in the schema and to those that it refers to. Whatever else there is
(several types, an object of which nothing is said, a type that holds itself) is JSON, as text.
Above: pinned.py, frames.py. Below: client/schemas/codec.py.
"""

from typing import Any

import orjson
import pyarrow as pa

from kafkaesque.client.registry import Reference, Schema
from kafkaesque.client.schemas import Resolve

JSON = pa.json_(pa.string())

_MAX_NESTED = 64
_PLAIN = {"boolean": pa.bool_(), "integer": pa.int64(), "number": pa.float64()}
_FORMATS = {"date-time": pa.timestamp("us", "UTC"), "date": pa.date32()}


def json_type(schema: Schema, resolve: Resolve) -> pa.StructType:
    """Raises ValueError if values of this schema are no objects with names that are known."""
    documents = _documents(schema, resolve)
    kind = _Document(documents, "").type(documents[""], 0, frozenset())
    if not pa.types.is_struct(kind):
        raise ValueError("a JSON Schema needs properties to become columns: this one has none")
    return kind


def _documents(schema: Schema, resolve: Resolve) -> dict[str, Any]:
    """By the names they are referred to; "" is the schema itself."""
    documents: dict[str, Any] = {}
    seen: set[Reference] = set()

    def take(name: str, one: Schema) -> None:
        document = documents[name] = orjson.loads(one.text)
        own = document.get("$id") if isinstance(document, dict) else None
        if isinstance(own, str):
            documents.setdefault(own, document)
        for reference in one.references:
            if reference not in seen:
                seen.add(reference)
                take(reference.name, resolve(reference))

    take("", schema)
    return documents


class _Document:
    """Where a $ref without an address points to."""

    def __init__(self, documents: dict[str, Any], name: str) -> None:
        self._documents = documents
        self._name = name

    def type(self, schema: Any, depth: int, inside: frozenset[str]) -> pa.DataType:
        if not isinstance(schema, dict) or depth > _MAX_NESTED:
            return JSON
        if isinstance(reference := schema.get("$ref"), str):
            return self._referred(reference, depth, inside)
        schema = self._merged(schema, inside)
        for word in ("anyOf", "oneOf"):
            if word in schema:
                return self._one_of(schema[word], depth, inside)
        return self._named(schema, depth, inside)

    def _named(self, schema: dict[str, Any], depth: int, inside: frozenset[str]) -> pa.DataType:
        match _type_name(schema):
            case "string":
                return _FORMATS.get(str(schema.get("format")), pa.string())
            case "array":
                return pa.list_(self.type(schema.get("items"), depth + 1, inside))
            case "object":
                return self._object(schema, depth, inside)
            case name:
                return _PLAIN.get(str(name), JSON)

    def _object(self, schema: dict[str, Any], depth: int, inside: frozenset[str]) -> pa.DataType:
        if properties := schema.get("properties"):
            return pa.struct(
                [(name, self.type(part, depth + 1, inside)) for name, part in properties.items()]
            )
        values = schema.get("additionalProperties")
        if isinstance(values, dict) and values:
            return pa.map_(pa.string(), self.type(values, depth + 1, inside))
        return JSON

    def _one_of(self, choices: Any, depth: int, inside: frozenset[str]) -> pa.DataType:
        kinds = {self.type(each, depth + 1, inside) for each in choices if not _is_null(each)}
        if kinds == {pa.int64(), pa.float64()}:
            return pa.float64()
        return kinds.pop() if len(kinds) == 1 else JSON

    def _merged(self, schema: dict[str, Any], inside: frozenset[str]) -> dict[str, Any]:
        """What allOf demands together, its properties side by side."""
        if "allOf" not in schema:
            return schema
        found = {name: part for name, part in schema.items() if name != "allOf"}
        for each in schema["allOf"]:
            part = self._target(each["$ref"])[1] if "$ref" in each else each
            if not isinstance(part, dict):
                continue
            properties = {**found.get("properties", {}), **part.get("properties", {})}
            found = {**part, **found}
            if properties:
                found["properties"] = properties
        return found

    def _referred(self, reference: str, depth: int, inside: frozenset[str]) -> pa.DataType:
        whole = reference if not reference.startswith("#") else self._name + reference
        if whole in inside:
            return JSON
        document, target = self._target(reference)
        return document.type(target, depth + 1, inside | {whole})

    def _target(self, reference: str) -> tuple["_Document", Any]:
        address, _, pointer = reference.partition("#")
        name = address or self._name
        if name not in self._documents:
            name = name.rpartition("/")[2]
        if name not in self._documents:
            raise ValueError(f"{reference} is not among the references of the JSON Schema")
        target = self._documents[name]
        for step in pointer.split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(target, dict) or step not in target:
                raise ValueError(f"the JSON Schema has nothing at {reference}")
            target = target[step]
        return _Document(self._documents, name), target


def _type_name(schema: dict[str, Any]) -> str | None:
    found = schema.get("type")
    if isinstance(found, list):
        names = {each for each in found if each != "null"}
        if names == {"integer", "number"}:
            return "number"
        return names.pop() if len(names) == 1 else None
    if found is None and "properties" in schema:
        return "object"
    if found is None and all(isinstance(each, str) for each in schema.get("enum", [0])):
        return "string"
    return found


def _is_null(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"
