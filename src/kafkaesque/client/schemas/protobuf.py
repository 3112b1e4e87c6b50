"""Protobuf payloads: the message indexes (framing.py), and the message.

Values are messages of any class whose full name the file has, or dicts (protobuf_dicts.py), which
are taken for the file's first message. What is decoded is a dict.
Above: codec.py. Below: protobuf_files.py, protobuf_dicts.py, framing.py.
"""

from typing import Any, NamedTuple

from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import Message

from kafkaesque.client.registry import Schema
from kafkaesque.client.schemas.codec import Resolve
from kafkaesque.client.schemas.framing import read_indexes, write_indexes
from kafkaesque.client.schemas.plain import plain
from kafkaesque.client.schemas.protobuf_dicts import dict_of, fill
from kafkaesque.client.schemas.protobuf_files import file_of


def protobuf_codec(
    schema: Schema, resolve: Resolve, reader: Schema | None = None
) -> "ProtobufCodec":
    """A message is read as it was written: Protobuf has no resolution to a reader's schema."""
    return ProtobufCodec(file_of(schema, resolve))


class _Kind(NamedTuple):
    """A message of the file, and what stands in front of it on the wire."""

    indexes: bytes
    kind: Any


class ProtobufCodec:
    def __init__(self, file: Any) -> None:
        self._kinds: dict[str, _Kind] = {}
        self._by_indexes: dict[tuple[int, ...], Any] = {}
        written = FileDescriptorProto()
        file.CopyToProto(written)
        for place, each in enumerate(written.message_type):
            self._add(file.message_types_by_name[each.name], (place,))
        self._first = next(iter(self._kinds.values()), None)

    def encode(self, value: Any) -> bytes:
        if isinstance(value, Message):
            found = self._kinds.get(value.DESCRIPTOR.full_name)
            if found is None:
                raise TypeError(f"the schema has no message {value.DESCRIPTOR.full_name}")
            return found.indexes + value.SerializeToString()
        if self._first is None:
            raise TypeError("the schema has no message")
        message = self._first.kind()
        fill(message, value)
        return self._first.indexes + bytes(message.SerializeToString())

    def decode(self, payload: bytes) -> Any:
        return dict_of(self.message(payload))

    def to_json(self, payload: bytes) -> Any:
        """Protobuf's own mapping would write 64-bit numbers as text, which no filter compares."""
        return plain(self.decode(payload))

    def message(self, payload: bytes) -> Any:
        """Raises ValueError if the file has no such message."""
        indexes, position = read_indexes(payload)
        kind = self._by_indexes.get(tuple(indexes))
        if kind is None:
            raise ValueError(f"the schema has no message at {indexes}")
        return kind.FromString(payload[position:])

    def _add(self, descriptor: Any, indexes: tuple[int, ...]) -> None:
        kind = message_factory.GetMessageClass(descriptor)
        self._kinds[descriptor.full_name] = _Kind(write_indexes(indexes), kind)
        self._by_indexes[indexes] = kind
        for place, nested in enumerate(descriptor.nested_types):
            self._add(nested, (*indexes, place))
