"""Schemas derived from Pydantic models.

`avro_model` gives an Avro schema, and a function that makes of an instance what fastavro writes:

    int float bool str bytes      long double boolean string bytes
    datetime date time            timestamp-micros, date, time-micros
    UUID                          string (uuid)
    Decimal                       decimal with max_digits and decimal_places, else string
    Enum, Literal                 enum if all values are names, string if all are text, long if int
    X | None                      ["null", X] with the default null, unless it has another
    A | B                         a union
    list set tuple[X, ...]        array
    dict[str, X]                  map
    a model                       a record, by name where it has been described before

A field is called as it is on the wire: by its alias, if it has one. Descriptions become `doc`.
`json_schema` is Pydantic's own, but closed: what the model does not have is not allowed, so that a
field with a default may be added later.
Above: client/schema_forms/. Below: avro_types.py, pydantic.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from kafkaesque.client.schemas.avro_types import Derivation

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


class AvroModel(NamedTuple):
    schema: dict[str, Any] | list[Any] | str
    dump: Callable[[Any], Any]
    """An instance as fastavro writes it."""


def avro_model(model: type[Any]) -> AvroModel:
    """Raises TypeError that names model and field if there is no Avro type for one."""
    kind = Derivation().model(model)
    return AvroModel(kind.schema, kind.dump or _same)


def avro_schema(model: type[Any]) -> Any:
    """As JSON has it. Raises TypeError as `avro_model` does."""
    return avro_model(model).schema


def json_schema(model: type[Any]) -> dict[str, Any]:
    """Raises TypeError if there is no JSON Schema for a field."""
    from pydantic import PydanticInvalidForJsonSchema

    try:
        found = model.model_json_schema(by_alias=True, mode="validation")
    except PydanticInvalidForJsonSchema as error:
        raise TypeError(f"no JSON Schema can be derived of {model.__name__}: {error}") from error
    for each in (found, *found.get("$defs", {}).values()):
        if "properties" in each:
            each.setdefault("additionalProperties", False)
    return {"$schema": _DIALECT, **found}


def _same(value: Any) -> Any:
    return value
