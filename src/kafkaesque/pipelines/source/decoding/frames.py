"""Values with a schema id in front of them, each read by the schema that it names.

    0 | id of 4 bytes | payload       client/schemas/framing.py

Most batches have one id, and go on as they are. An id that the registry does not know is asked for
again only after a while. Whatever cannot be read is refused with a reason; only a registry that is
needed and away is an error, for it would make good values bad ones.
Above: values.py. Below: avro.py, json_texts.py, protobuf.py, client/registry/.
"""

import time
from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from kafkaesque.client.columns.cursor import Longs
from kafkaesque.client.columns.scalars import array_of
from kafkaesque.client.registry import RegistryClient, RegistryError, Schema
from kafkaesque.client.schemas.codec import SERIALIZED
from kafkaesque.client.schemas.framing import HEADER_BYTES, MAGIC
from kafkaesque.pipelines.source.decoding.asked import DecodeForm
from kafkaesque.pipelines.source.decoding.pinned import Pinned, kind_of, resolve_of
from kafkaesque.pipelines.source.decoding.rows import Reader, Rows, refused, spread

UNKNOWN_FOR_S: Final = 10.0

_NO_VALUE = -1
_NO_FRAME = -2
_MAX_ID = 0x7FFF_FFFF


class FramedValues:
    def __init__(
        self,
        form: DecodeForm,
        pinned: Pinned,
        registry: RegistryClient,
        declared: pa.StructType,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._form = form
        self._pinned = pinned
        self._registry = registry
        self._resolve = resolve_of(pinned, registry)
        self._declared = declared
        self._clock = clock
        self._readers: dict[int, Reader] = {}
        self._unknown: dict[int, tuple[float, str]] = {}
        """Until when nobody asks, and what is said meanwhile."""

    def read(self, values: pa.BinaryArray) -> Rows:
        """Raises RegistryAwayError."""
        ids = schema_ids(values)
        found = np.unique(ids).tolist()
        if len(found) == 1:
            return self._read_all_of(found[0], values)
        parts = []
        for schema_id in found:
            places = np.flatnonzero(ids == schema_id)
            if schema_id != _NO_VALUE:
                some = values.take(array_of(pa.int64(), places))
                parts.append((places, self._read_all_of(schema_id, some)))
        return spread(parts, len(values))

    def _read_all_of(self, schema_id: int, values: pa.BinaryArray) -> Rows:
        if schema_id == _NO_VALUE:
            return Rows(pa.nulls(len(values), self._declared))
        if schema_id == _NO_FRAME:
            return refused(len(values), self._declared, "no schema id is in front of the value")
        reader = self._reader(schema_id)
        if isinstance(reader, str):
            return refused(len(values), self._declared, reader)
        return reader.read(values)

    def _reader(self, schema_id: int) -> Reader | str:
        """Or why there is none."""
        if schema_id in self._readers:
            return self._readers[schema_id]
        until, reason = self._unknown.get(schema_id, (0.0, ""))
        if self._clock() < until:
            return reason
        try:
            self._readers[schema_id] = self._made(schema_id)
        except RegistryError as error:
            if not error.is_unknown:
                raise
            reason = f"the registry has no schema {schema_id}"
        # Strangers' schemas make libraries raise whatever there is.
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            reason = f"schema {schema_id} does not help: {error}"
        else:
            return self._readers[schema_id]
        self._unknown[schema_id] = self._clock() + UNKNOWN_FOR_S, reason
        return reason

    def _made(self, schema_id: int) -> Reader:
        pinned = self._pinned
        writer = pinned.schema if schema_id == pinned.schema_id else self._asked(schema_id)
        if self._form == "avro":
            from kafkaesque.pipelines.source.decoding.avro import AvroRows, whole

            reader = whole(pinned.schema, self._resolve)
            return AvroRows(whole(writer, self._resolve), reader, self._declared)
        if self._form == "protobuf":
            from kafkaesque.pipelines.source.decoding.protobuf import ProtobufRows

            return ProtobufRows(writer, pinned.schema, self._resolve, self._declared)
        from kafkaesque.pipelines.source.decoding.json_texts import JsonTexts

        # What JSON was written by does not matter to who reads it.
        return JsonTexts(kind_of(pinned.schema, self._resolve, "json"), self._declared)

    def _asked(self, schema_id: int) -> Schema:
        schema = self._registry.schema(schema_id)
        if schema.type.lower() != self._form:
            raise ValueError(f"it is one of {schema.type}")
        if schema.type == "PROTOBUF":
            return self._registry.schema(schema_id, format=SERIALIZED)
        return schema


def schema_ids(values: pa.BinaryArray) -> Longs:
    """Of each value; negative if there is none."""
    count = len(values)
    ids = np.full(count, _NO_FRAME, np.int64)
    _, offsets, data = values.buffers()
    if count and data is not None:
        edges = np.frombuffer(offsets, np.int32)[values.offset : values.offset + count + 1]
        raw = np.frombuffer(data, np.uint8)
        long = np.flatnonzero(edges[1:] - edges[:-1] >= HEADER_BYTES)
        long = long[raw[edges[long]] == MAGIC]
        places = edges[long].astype(np.int64)[:, None] + np.arange(1, HEADER_BYTES)
        found = (raw[places].astype(np.int64) << np.array([24, 16, 8, 0])).sum(axis=1)
        ids[long] = np.where((found > 0) & (found <= _MAX_ID), found, _NO_FRAME)
    if values.null_count:
        ids[values.is_null().to_numpy(zero_copy_only=False)] = _NO_VALUE
    return ids
