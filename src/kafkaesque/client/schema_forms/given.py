"""What `schema=` may be, and what becomes of it.

    text, a dict or list, a Path, a Schema      a schema, to be registered or looked up
    an int                                      the id of one that is registered
    a Pydantic model                            a schema is derived; instances come and go
    a generated Protobuf class                  its file is the schema; messages come and go

Above: writing.py, reading.py. Below: client/schemas/.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from kafkaesque.client.registry import Schema, SchemaKind


class Given(NamedTuple):
    """One of the four, or none of them."""

    schema: Schema | None = None
    id: int | None = None
    model: Any = None
    message: Any = None

    @property
    def is_nothing(self) -> bool:
        return all(each is None for each in self)


def given(schema: Any, kind: SchemaKind, part: str) -> Given:
    """Raises TypeError if it is something else."""
    word = "schema" if part == "value" else "key_schema"
    if schema is None:
        return Given()
    if isinstance(schema, Schema):
        if schema.type != kind:
            raise TypeError(f"{word}= is of type {schema.type}, and {part}= asks for {kind}")
        return Given(schema=schema)
    if isinstance(schema, int) and not isinstance(schema, bool):
        return Given(id=schema)
    if isinstance(schema, Path):
        return Given(schema=Schema(schema.read_text(), kind))
    if isinstance(schema, str):
        return Given(schema=Schema(schema, kind))
    if isinstance(schema, dict | list) and kind != "PROTOBUF":
        return Given(schema=Schema(json.dumps(schema), kind))
    if isinstance(schema, type):
        return _given_class(schema, kind, word)
    raise TypeError(
        f"{word}= is of type {type(schema).__name__}: give the schema's text, a dict, a Path, a "
        "Schema, an id, a Pydantic model or a generated Protobuf class"
    )


def _given_class(schema: Any, kind: SchemaKind, word: str) -> Given:
    if hasattr(schema, "model_validate") and hasattr(schema, "model_fields"):
        if kind == "PROTOBUF":
            raise TypeError(
                f"no Protobuf schema can be derived of {schema.__name__}: its fields have no "
                'numbers; use "avro" or "json"'
            )
        return Given(model=schema)
    if hasattr(schema, "DESCRIPTOR") and hasattr(schema, "SerializeToString"):
        if kind != "PROTOBUF":
            raise TypeError(f"{schema.__name__} is a Protobuf class: ask for it with 'protobuf'")
        return Given(message=schema)
    raise TypeError(
        f"{word}={schema.__name__} is neither a Pydantic model nor a generated Protobuf class"
    )
