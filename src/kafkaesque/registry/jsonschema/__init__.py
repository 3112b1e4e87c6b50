"""JSON Schema for the registry: drafts 4, 6, 7, 2019-09 and 2020-12.

`parse` takes a text and what it refers to; `incompatibilities` tells what keeps a reader from what
a writer wrote. The rules, and where they leave Confluent's, stand in compare.py.
Above: kinds.py. Below: parse.py, compare.py.
"""

from kafkaesque.registry.jsonschema.compare import compare
from kafkaesque.registry.jsonschema.parse import JsonSchema, parse
from kafkaesque.registry.schema_text import Incompatibility

__all__ = ["JsonSchema", "incompatibilities", "parse"]


def incompatibilities(reader: JsonSchema, writer: JsonSchema) -> list[Incompatibility]:
    return compare(reader.node, writer.node)
