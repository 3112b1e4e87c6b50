"""Avro values to rows: by columns if they were written with the schema that the query reads by.

Values of another version are resolved to it, one by one, as Avro does it.
Above: frames.py, pinned.py. Below: shapes.py, client/columns/, client/schemas/.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from kafkaesque.client.columns import avro_decoder
from kafkaesque.client.registry import Schema
from kafkaesque.client.schemas import Resolve
from kafkaesque.client.schemas.avro_parsing import named_types, parsed
from kafkaesque.client.schemas.framing import HEADER_BYTES
from kafkaesque.pipelines.source.decoding.rows import Rows
from kafkaesque.pipelines.source.decoding.shapes import shaped


def avro_type(schema: Schema, resolve: Resolve) -> pa.StructType:
    """Raises ValueError if it is no schema, or not that of a record."""
    kind = avro_decoder(whole(schema, resolve)).type
    if not pa.types.is_struct(kind):
        raise ValueError(f"only a record becomes columns, and this is an Avro schema of {kind}")
    return kind


def whole(schema: Schema, resolve: Resolve) -> Any:
    """The schema with the types that it refers to written out, each where it is first used."""
    found = parsed(schema, resolve)
    return _written_out(found, named_types(found), set())


class AvroRows:
    """Both schemas are whole."""

    def __init__(self, writer: Any, reader: Any, declared: pa.StructType) -> None:
        self._decoder = avro_decoder(writer, reader)
        self._declared = declared

    def read(self, values: pa.BinaryArray) -> Rows:
        decoded = self._decoder.read(values, skip=HEADER_BYTES)
        reasons = {
            int(place): decoded.reason(int(place)) or "" for place in np.flatnonzero(decoded.faults)
        }
        return Rows(shaped(decoded.array, self._declared), reasons)


def _written_out(schema: Any, names: dict[str, Any], told: set[str]) -> Any:
    if isinstance(schema, list):
        return [_written_out(each, names, told) for each in schema]
    if isinstance(schema, str):
        if schema not in names or schema in told:
            return schema
        return _written_out(names[schema], names, told)
    if "name" in schema and "type" in schema:
        told.add(schema["name"])
    found = {name: part for name, part in schema.items() if not name.startswith("__")}
    if "fields" in found:
        found["fields"] = [
            {**field, "type": _written_out(field["type"], names, told)} for field in found["fields"]
        ]
    for inner in ("items", "values"):
        if inner in found:
            found[inner] = _written_out(found[inner], names, told)
    if not isinstance(found["type"], str):
        found["type"] = _written_out(found["type"], names, told)
    return found
