"""Framed bytes to values: a schema is asked for when its id is first seen.

The five bytes in front of a payload are looked up as they are: one look into a dict, and the codec.
confluent-kafka can also put a schema's GUID into a header, and nothing in front of the payload:

    __value_schema_id, __key_schema_id      1 (u8) │ GUID (16 bytes) │ Protobuf: message indexes

An id that the registry does not know is not asked for again for some seconds. A registry that is
away says nothing about the event: RegistryAwayError comes through, and whoever reads tries again.
Any thread may call. Above: forms.py. Below: given.py, client/schemas/.
"""

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeAlias
from uuid import UUID

from kafkaesque.client.registry import (
    RegistryAwayError,
    RegistryClient,
    RegistryError,
    Schema,
    SchemaKind,
)
from kafkaesque.client.schema_forms.given import Given
from kafkaesque.client.schemas.codec import SERIALIZED, Codec, codec, codec_of_id, resolver
from kafkaesque.client.schemas.framing import HEADER_BYTES, schema_id_of

_Read: TypeAlias = Callable[[bytes], Any]

_FORGET_S = 10.0
_MAX_REFUSED = 1000
_MAX_KNOWN = 10_000
_GUID = 1
_GUID_END = 17


class SchemaReader:
    def __init__(
        self,
        name: str,
        kind: SchemaKind,
        part: str,
        given: Given,
        registry: Callable[[], RegistryClient],
    ) -> None:
        self._name = name
        self._kind: SchemaKind = kind
        self._header = f"__{part}_schema_id"
        self._given = given
        self._registry = registry
        self._known: dict[bytes, _Read] = {}
        self._refused: dict[bytes, tuple[float, Exception]] = {}

    def decode(self, data: bytes) -> Any:
        """Raises whatever is wrong with them; RegistryAwayError if that is not known."""
        read = self._known.get(data[:HEADER_BYTES])
        if read is None:
            read = self._learned(data[:HEADER_BYTES], self._by_id)
        return read(data[HEADER_BYTES:])

    def decode_event(self, data: bytes, headers: Sequence[tuple[str, bytes | None]]) -> Any:
        """As `decode`, of an event that has headers."""
        found = self._guid_header(headers)
        if found is None:
            return self.decode(data)
        guid = found[:_GUID_END]
        read = self._known.get(guid) or self._learned(guid, self._by_guid)
        return read(found[_GUID_END:] + data)

    def prepare(self, data: bytes, headers: Sequence[tuple[str, bytes | None]]) -> None:
        """Ask what decoding this will need. Raises RegistryAwayError, and nothing else."""
        if data[:HEADER_BYTES] in self._known and not headers:
            return
        try:
            guid = self._guid_header(headers)
            if guid is not None:
                self._known.get(guid[:_GUID_END]) or self._learned(guid[:_GUID_END], self._by_guid)
            elif data[:HEADER_BYTES] not in self._known:
                self._learned(data[:HEADER_BYTES], self._by_id)
        except RegistryAwayError:
            raise
        except (RegistryError, ValueError, TypeError):
            return  # `decode` will say it.

    def _guid_header(self, headers: Sequence[tuple[str, bytes | None]]) -> bytes | None:
        for name, value in headers:
            if name == self._header and value and value[0] == _GUID and len(value) >= _GUID_END:
                return value
        return None

    def _learned(self, head: bytes, reader: Callable[[bytes], _Read]) -> _Read:
        until, error = self._refused.get(head, (0.0, None))
        if error is not None and time.monotonic() < until:
            raise error.with_traceback(None)
        try:
            read = reader(head)
        except RegistryAwayError:
            raise
        except (RegistryError, ValueError, TypeError) as refusal:
            if isinstance(refusal, RegistryError) and not refusal.is_unknown:
                # It would not tell us: that says nothing about the event.
                raise RegistryAwayError(self._registry().where, str(refusal)) from refusal
            if len(self._refused) >= _MAX_REFUSED:
                self._refused.clear()
            self._refused[head] = (time.monotonic() + _FORGET_S, refusal)
            raise
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known[head] = read
        return read

    def _by_id(self, head: bytes) -> _Read:
        schema_id = schema_id_of(head)
        if self._own is not None:
            return self._own
        registry = self._registry()
        self._require_kind(registry.schema(schema_id), f"schema {schema_id}")
        return self._finished(codec_of_id(registry, schema_id, reader=self._reader_schema))

    def _by_guid(self, head: bytes) -> _Read:
        if self._own is not None:
            return self._own
        guid, registry = str(UUID(bytes=head[1:])), self._registry()
        schema = registry.schema_by_guid(guid)
        self._require_kind(schema, f"schema {guid}")
        if schema.type == "PROTOBUF":
            schema = registry.schema_by_guid(guid, format=SERIALIZED)
        return self._finished(codec(schema, resolver(registry), self._reader_schema))

    @cached_property
    def _own(self) -> _Read | None:
        """What reads without the writer's schema: classes that know the bytes themselves."""
        if self._given.message is not None:
            from kafkaesque.client.schemas.generated import MessageCodec

            return MessageCodec(self._given.message).decode
        if self._given.model is not None and self._kind == "JSON":
            read: _Read = self._given.model.model_validate_json
            return read
        return None

    @cached_property
    def _reader_schema(self) -> Schema | None:
        if self._given.id is not None:
            return self._registry().schema(self._given.id)
        return self._given.schema

    def _finished(self, made: Codec) -> _Read:
        if self._given.model is None:
            return made.decode
        decode, validate = made.decode, self._given.model.model_validate
        return lambda payload: validate(decode(payload))

    def _require_kind(self, schema: Schema, what: str) -> None:
        if schema.type != self._kind:
            form = {"AVRO": "avro", "JSON": "json-schema", "PROTOBUF": "protobuf"}[schema.type]
            raise TypeError(f"{what} is of type {schema.type}: read it as {form!r}")
