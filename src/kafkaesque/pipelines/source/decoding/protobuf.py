"""Protobuf messages to rows, one by one.

A query reads the first message of its schema's file. A value of another version of the file is read
by the query's own: Protobuf knows fields by their numbers, and passes over those it does not know.
Its message must have the same name, wherever it stands in its file.
Above: frames.py, pinned.py. Below: messages.py, fitting.py, client/schemas/.
"""

from typing import Any

import pyarrow as pa
from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError

from kafkaesque.client.registry import Schema
from kafkaesque.client.schemas import Resolve
from kafkaesque.client.schemas.framing import HEADER_BYTES, NotFramedError, read_indexes
from kafkaesque.client.schemas.protobuf_dicts import dict_of
from kafkaesque.client.schemas.protobuf_files import file_of
from kafkaesque.pipelines.source.decoding.fitting import MisfitError, fitting
from kafkaesque.pipelines.source.decoding.messages import message_type
from kafkaesque.pipelines.source.decoding.rows import Rows


def protobuf_type(schema: Schema, resolve: Resolve) -> pa.StructType:
    """Raises ValueError if it has no message, or one that is a plain value."""
    kind = message_type(first_message(schema, resolve))
    if not pa.types.is_struct(kind):
        raise ValueError("the first message of the Protobuf schema is a plain value: no columns")
    return kind


def first_message(schema: Schema, resolve: Resolve) -> Any:
    """Its descriptor. Raises ValueError if there is none."""
    messages = _messages(schema, resolve)
    if (0,) not in messages:
        raise ValueError("the Protobuf schema has no message")
    return messages[0,]


class ProtobufRows:
    def __init__(
        self, writer: Schema, reader: Schema, resolve: Resolve, declared: pa.StructType
    ) -> None:
        message = first_message(reader, resolve)
        self._name = message.full_name
        self._message = message_factory.GetMessageClass(message)
        written = _messages(writer, resolve)
        self._names = {indexes: each.full_name for indexes, each in written.items()}
        self._fit = fitting(message_type(message))
        self._declared = declared

    def read(self, values: pa.BinaryArray) -> Rows:
        found: list[Any] = []
        reasons: dict[int, str] = {}
        for place, value in enumerate(values.to_pylist()):
            try:
                found.append(self._row(value[HEADER_BYTES:]))
            # Moments that no calendar has make Python's own raise OverflowError.
            except (DecodeError, NotFramedError, MisfitError, OverflowError, ValueError) as error:
                found.append(None)
                reasons[place] = str(error) or "it is no message of its schema"
        return Rows(pa.array(found, self._declared), reasons)

    def _row(self, payload: bytes) -> Any:
        indexes, position = read_indexes(payload)
        name = self._names.get(tuple(indexes))
        if name != self._name:
            there = "there is none" if name is None else f"there is {name}"
            raise MisfitError(f"the query reads {self._name}, and at {indexes} {there}")
        return self._fit(dict_of(self._message.FromString(payload[position:])))


def _messages(schema: Schema, resolve: Resolve) -> dict[tuple[int, ...], Any]:
    """Every message of the file, by the way to it."""
    file = file_of(schema, resolve)
    written = FileDescriptorProto()
    file.CopyToProto(written)
    found: dict[tuple[int, ...], Any] = {}

    def add(message: Any, indexes: tuple[int, ...]) -> None:
        found[indexes] = message
        for place, nested in enumerate(message.nested_types):
            add(nested, (*indexes, place))

    for place, each in enumerate(written.message_type):
        add(file.message_types_by_name[each.name], (place,))
    return found
