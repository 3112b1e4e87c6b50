"""A descriptor in the order that all who mean the same share.

As Confluent's normalize: imports sorted, fields by number, oneofs after them by their first number,
enum values by number, reserved ones sorted; messages, enums and services keep their places, since a
message's position is part of the wire framing. Unlike there, an enum's first value stays first (it
is the default value), values with the same number keep their order (the first names it in JSON),
and a message with groups keeps its fields' order (a group's position counts too).

Above: schema.py. Below: walking.py.
"""

from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field

from kafkaesque.registry.protobuf.walking import enums, messages


def normalized_file(file: FileDescriptorProto) -> FileDescriptorProto:
    copy = FileDescriptorProto()
    copy.CopyFrom(file)
    _sort_imports(copy)
    for _, message in messages(copy, ""):
        _sort_message(message)
    for _, enum in enums(copy):
        _sort_enum(enum)
    return copy


def _sort_imports(file: FileDescriptorProto) -> None:
    public = {file.dependency[index] for index in file.public_dependency}
    weak = {file.dependency[index] for index in file.weak_dependency}
    names = sorted(file.dependency)
    file.dependency[:] = names
    file.public_dependency[:] = [index for index, name in enumerate(names) if name in public]
    file.weak_dependency[:] = [index for index, name in enumerate(names) if name in weak]


def _sort_message(message: DescriptorProto) -> None:
    message.reserved_range.sort(key=lambda item: item.start)
    message.extension_range.sort(key=lambda item: item.start)
    message.reserved_name[:] = sorted(message.reserved_name)
    if all(field.type != Field.TYPE_GROUP for field in message.field):
        firsts = _first_numbers(message)
        message.field.sort(key=lambda field: (*firsts.get(_oneof(field), (0, 0)), field.number))


def _oneof(field: Field) -> int | None:
    return (
        field.oneof_index if field.HasField("oneof_index") and not field.proto3_optional else None
    )


def _first_numbers(message: DescriptorProto) -> dict[int | None, tuple[int, int]]:
    """Oneofs, to sort after all plain fields and among themselves by their first number."""
    firsts: dict[int | None, tuple[int, int]] = {}
    for field in message.field:
        index = _oneof(field)
        if index is not None:
            _, known = firsts.get(index, (1, field.number))
            firsts[index] = (1, min(known, field.number))
    return firsts


def _sort_enum(enum: EnumDescriptorProto) -> None:
    enum.reserved_range.sort(key=lambda item: item.start)
    enum.reserved_name[:] = sorted(enum.reserved_name)
    first = enum.value[0].name
    enum.value.sort(key=lambda value: (value.name != first, value.number))
