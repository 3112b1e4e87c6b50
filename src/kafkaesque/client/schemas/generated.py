"""Generated Protobuf classes: their schema for a registry, and their bytes.

A class's file is registered as its FileDescriptorProto, and before it the files that it imports,
each under its own name as the subject, as confluent-kafka's ProtobufSerializer does it. Google's
and Confluent's own files are known to everybody, and not registered.
Above: client/schema_forms/. Below: framing.py, protobuf_dicts.py.
"""

from base64 import b64encode
from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import Message

from kafkaesque.client.registry import Reference, Registered, Schema
from kafkaesque.client.schemas.framing import read_indexes, write_indexes
from kafkaesque.client.schemas.protobuf_dicts import fill

_KNOWN = ("google/protobuf/", "google/type/", "confluent/")


def schema_of_class(kind: type[Message], place: Callable[[str, Schema], Registered]) -> Schema:
    """`place` registers or looks up an imported file: (subject, schema) -> its version."""
    return _schema_of_file(kind.DESCRIPTOR.file, place)


def _schema_of_file(file: Any, place: Callable[[str, Schema], Registered]) -> Schema:
    references = tuple(
        Reference(each.name, each.name, place(each.name, _schema_of_file(each, place)).version)
        for each in file.dependencies
        if not each.name.startswith(_KNOWN)
    )
    return Schema(b64encode(file.serialized_pb).decode(), "PROTOBUF", references)


class MessageCodec:
    """Messages of one generated class; dicts are taken, too."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._indexes = write_indexes(_indexes(kind.DESCRIPTOR))

    def encode(self, value: Any) -> bytes:
        if not isinstance(value, self._kind):
            if isinstance(value, Message):
                name = self._kind.DESCRIPTOR.full_name
                raise TypeError(f"it takes {name}, not {value.DESCRIPTOR.full_name}")
            message = self._kind()
            fill(message, value)
            value = message
        return self._indexes + bytes(value.SerializeToString())

    def decode(self, payload: bytes) -> Any:
        if payload[:1] == b"\0":
            return self._kind.FromString(payload[1:])
        _, position = read_indexes(payload)
        return self._kind.FromString(payload[position:])


def _indexes(descriptor: Any) -> list[int]:
    around = descriptor.containing_type
    if around is not None:
        return [
            *_indexes(around),
            [each.name for each in around.nested_types].index(descriptor.name),
        ]
    file = FileDescriptorProto()
    descriptor.file.CopyToProto(file)
    return [[each.name for each in file.message_type].index(descriptor.name)]
