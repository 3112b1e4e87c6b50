"""JSON payloads that a JSON Schema describes, checked on the way in and out by jsonschema_rs.

The draft is what $schema says, 7 without one, as registries take it. A $ref to another document
finds those that the schema names as references; nothing is ever fetched from the net.
Above: codec.py. Below: jsonschema_rs, orjson.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import urljoin

import jsonschema_rs
import orjson

from kafkaesque.client.registry import Reference, Schema
from kafkaesque.client.schemas.codec import Resolve

# What jsonschema_rs takes a schema's own address for, if it has none.
_BASE = "json-schema:///"


def json_codec(schema: Schema, resolve: Resolve, reader: Schema | None = None) -> "JsonCodec":
    return JsonCodec(validator(schema if reader is None else reader, resolve))


class JsonCodec:
    def __init__(self, validator: Any) -> None:
        self._validator = validator

    def encode(self, value: Any) -> bytes:
        payload = orjson.dumps(value)
        try:
            fits = self._validator.is_valid(value)
        except ValueError:  # Of types that JSON has no word for, and orjson has.
            value = orjson.loads(payload)
            fits = self._validator.is_valid(value)
        if not fits:
            raise self._refusal(value)
        return payload

    def decode(self, payload: bytes) -> Any:
        value = orjson.loads(payload)
        if not self._validator.is_valid(value):
            raise self._refusal(value)
        return value

    def to_json(self, payload: bytes) -> Any:
        return orjson.loads(payload)

    def _refusal(self, value: Any) -> ValueError:
        error = next(self._validator.iter_errors(value))
        path = ".".join(map(str, error.instance_path))
        where = f"field {path}" if path else "the value"
        return ValueError(f"{where}: {error.message}")


def validator(schema: Schema, resolve: Resolve) -> Any:
    """Raises ValueError if it is no JSON Schema."""
    document = _document(schema)
    has_draft = isinstance(document, dict) and "$schema" in document
    made = jsonschema_rs.validator_for if has_draft else jsonschema_rs.Draft7Validator
    try:
        return made(
            document,
            base_uri=_id(document) or _BASE,
            retriever=_retriever(schema, document, resolve),
            # The value is not shown: it may be large, or secret.
            mask="the value",
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
        reason = getattr(error, "message", None) or str(error)
        raise ValueError(f"no JSON Schema: {reason}") from error


def _document(schema: Schema) -> Any:
    try:
        return orjson.loads(schema.text)
    except ValueError as error:
        raise ValueError(f"no JSON Schema: it is no JSON ({error})") from error


def _retriever(schema: Schema, document: Any, resolve: Resolve) -> Callable[[str], Any]:
    documents: dict[str, Any] = {}
    seen: set[Reference] = set()

    def take(one: Schema, base: str) -> None:
        for reference in one.references:
            if reference in seen:
                continue
            seen.add(reference)
            other = resolve(reference)
            found = _document(other)
            for address in (reference.name, urljoin(base, reference.name), _id(found)):
                documents[address] = found
            take(other, _id(found) or base)

    take(schema, _id(document) or _BASE)

    def retrieve(address: str) -> Any:
        for known in (address, address.removeprefix(_BASE), address.rpartition("/")[2]):
            if known in documents:
                return documents[known]
        raise ValueError(f"{address} is not among the references of the schema")

    return retrieve


def _id(document: Any) -> str:
    found = document.get("$id") or document.get("id") if isinstance(document, dict) else ""
    return found if isinstance(found, str) else ""
