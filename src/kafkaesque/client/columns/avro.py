"""Avro values to columns: the schema is compiled once, and every field decoded for all rows.

`avro_decoder(schema)` gives a decoder; `decode(values)` takes a binary array of payloads, without
their frames or with `skip=5`, and gives the struct of the fields. What `to_pylist` then shows is
what fastavro reads, but for maps (`maps_as_pydicts="lossy"` shows dicts), timestamp-nanos (fastavro
leaves the number), and the inside of types that hold themselves (JSON). Refused are, where fastavro
is lenient: ints beyond 32 bits, numbers beyond 64, negative lengths and places, decimals of more
digits than their schema says, more than 64 items of no bytes. Bytes that follow the last field are
ignored by both.
A reader's schema that differs: each value is resolved by fastavro, record by record.
Above: the users of the package. Below: compile.py, resolve.py.
"""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from kafkaesque.client.columns.compile import Compiler, SchemaError, parsed
from kafkaesque.client.columns.cursor import PART_ROWS, ZONE_BYTES, Bytes, Cursor, Longs, Mask, Text
from kafkaesque.client.columns.decoded import Decoded
from kafkaesque.client.columns.errors import Fault
from kafkaesque.client.columns.node import Node
from kafkaesque.client.columns.resolve import Resolver
from kafkaesque.client.columns.scalars import array_of

Schema: TypeAlias = str | dict[str, Any] | list[Any]

_MAX_BYTES = 2**31 - 1 - ZONE_BYTES


def avro_decoder(
    writer: Schema,
    reader: Schema | None = None,
    *,
    named: Sequence[Schema] = (),
    columns: Sequence[str] | None = None,
) -> "AvroDecoder":
    """`named`: schemas that the writer's refers to, those it needs first. `columns`: only these
    fields of the record are built. Raises SchemaError."""
    return AvroDecoder(writer, reader, named=named, columns=columns)


class AvroDecoder:
    """`fallback`: whether some or all values are taken one by one. `type`: what `decode` gives."""

    def __init__(
        self,
        writer: Schema,
        reader: Schema | None,
        *,
        named: Sequence[Schema],
        columns: Sequence[str] | None,
    ) -> None:
        types: dict[str, Any] = {}
        for each in named:
            parsed(each, types)
        written = parsed(writer, types)
        self._resolver: Resolver | None = None
        wanted = written
        if reader is not None:
            read_types: dict[str, Any] = {}
            wanted = parsed(reader, read_types)
            if _without_marks(wanted) != _without_marks(written):
                self._resolver = Resolver(self._compiled(written, types, None)[0], written, wanted)
                types = read_types
        self._node, one_by_one = self._compiled(wanted, types, columns)
        self.fallback = one_by_one or self._resolver is not None
        self._partial = columns is not None or self._resolver is not None
        self.type: pa.DataType = self._node.type

    @staticmethod
    def _compiled(
        schema: Any, types: dict[str, Any], columns: Sequence[str] | None
    ) -> tuple[Node, bool]:
        compiler = Compiler(types, columns)
        node = compiler.compile(schema)
        if columns is not None and not pa.types.is_struct(node.type):
            raise SchemaError("columns can be chosen of a record only")
        return node, compiler.fallback

    def decode(
        self,
        values: pa.BinaryArray,
        on_error: Literal["raise", "null"] = "raise",
        *,
        skip: int = 0,
    ) -> pa.Array:
        """Null values are null rows. A value that does not decode raises ColumnsError, or is a null
        row too. `skip`: how many bytes of each value come before the payload."""
        decoded = self.read(values, skip=skip)
        if on_error == "raise":
            decoded.check()
        return decoded.array

    def read(self, values: pa.BinaryArray, *, skip: int = 0) -> Decoded:
        """What `decode` gives, and which rows were refused and why."""
        if len(values) <= PART_ROWS:
            return self._read(values, skip)
        parts = [
            self._read(values[first : first + PART_ROWS], skip)
            for first in range(0, len(values), PART_ROWS)
        ]
        return Decoded(
            pa.concat_arrays([part.array for part in parts]),
            np.concatenate([part.faults for part in parts]),
            self._partial,
        )

    def _read(self, values: pa.BinaryArray, skip: int) -> Decoded:
        there = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
        edges, raw = _bytes_of(values)
        start, stop = edges[:-1][there] + skip, edges[1:][there]
        faults = np.zeros(len(values), np.uint8)
        short = start > stop
        if short.any():
            faults[there[short]] = Fault.FRAME
            there, start, stop = there[~short], start[~short], stop[~short]
        text = Text(raw, len(there))
        if self._resolver is not None:
            text, start, stop = self._resolver.resolved(text, start, stop)
        found = self._node.read(Cursor(text, start.copy(), stop.copy(), np.arange(len(there))))
        if text.faults.any():
            faults[there] = text.faults
        return Decoded(_spread(found, there, faults), faults, self._partial)


def _bytes_of(values: pa.BinaryArray) -> tuple[Longs, Bytes]:
    if not pa.types.is_binary(values.type):
        raise TypeError(f"payloads come as binary, not {values.type}: cast them")
    _, offsets, data = values.buffers()
    if not len(values):
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    edges = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
    first, last = int(edges[0]), int(edges[-1])
    if last - first > _MAX_BYTES:
        raise ValueError("more than 2 GiB of values at once: decode them in parts")
    raw: Bytes = np.frombuffer(data, np.uint8)[first:last] if data else np.zeros(0, np.uint8)
    return edges.astype(np.int64) - first, raw


def _spread(found: pa.Array, there: Longs, faults: Bytes) -> pa.Array:
    """Each row to its place; null where nothing was, or nothing good."""
    good: Mask = faults[there] == Fault.NONE
    if len(there) == len(faults) and good.all():
        return found
    places = np.zeros(len(faults), np.int32)
    places[there] = np.arange(len(there), dtype=np.int32)
    missing = np.ones(len(faults), np.bool_)
    missing[there] = ~good
    return found.take(array_of(pa.int32(), places, missing))


def _without_marks(schema: Any) -> Any:
    """A parsed schema without fastavro's own notes in it."""
    if isinstance(schema, dict):
        return {k: v for k, v in schema.items() if not k.startswith("__")}
    return schema
