"""The three kinds of schemas, by name; each is loaded when first asked for.

Above: parsing.py, compatibility.py. Below: avro/, jsonschema/, protobuf/.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from kafkaesque.registry.schema_text import Incompatibility, Parse, SchemaType

_PACKAGES = {
    SchemaType.AVRO: "kafkaesque.registry.avro",
    SchemaType.JSON: "kafkaesque.registry.jsonschema",
    SchemaType.PROTOBUF: "kafkaesque.registry.protobuf",
}


class Kind(NamedTuple):
    parse: Parse
    incompatibilities: Callable[[Any, Any], list[Incompatibility]]


def kind_of(schema_type: SchemaType) -> Kind:
    package = import_module(_PACKAGES[schema_type])
    return Kind(package.parse, package.incompatibilities)
