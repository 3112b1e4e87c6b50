"""What a .proto text may not say although its grammar and its names are right.

Numbers used twice, reserved or out of range; names of reserved fields; ranges that overlap; JSON
names that clash in proto3; aliases without allow_alias; enums of proto3 that do not start at 0;
defaults that are no value of their enum; extensions where no message offers them.

Above: reading.py. Below: draft.py, scopes.py, walking.py.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field

from kafkaesque.registry.protobuf.draft import PROTO2, PROTO3, Draft
from kafkaesque.registry.protobuf.scopes import Table
from kafkaesque.registry.protobuf.walking import enums, inside, messages

_NEVER_PACKED = (Field.TYPE_STRING, Field.TYPE_BYTES, Field.TYPE_MESSAGE, Field.TYPE_GROUP)


def check(draft: Draft, table: Table) -> None:
    """`table` knows the file and all its imports."""
    for name, message in messages(draft.file, draft.file.package):
        if not message.options.map_entry:
            _check_message(draft, name, message, table)
    for name, enum in enums(draft.file):
        _check_enum(draft, name, enum)
    _check_extensions(draft, table)


def _check_message(draft: Draft, full_name: str, message: DescriptorProto, table: Table) -> None:
    at = draft.places[full_name]
    reserved = _sorted_ranges(draft, at, message.name, message.reserved_range)
    offered = _sorted_ranges(draft, at, message.name, message.extension_range)
    _sorted_ranges(draft, at, message.name, [*message.reserved_range, *message.extension_range])
    reserved_names = set(message.reserved_name)
    if len(reserved_names) < len(message.reserved_name):
        draft.refuse(at, f'message "{message.name}" reserves a name twice')
    numbers: dict[int, str] = {}
    json_names: dict[str, str] = {}
    for field in message.field:
        offset = draft.places[inside(full_name, field.name)]
        number = field.number
        if number in numbers:
            draft.refuse(
                offset,
                f'fields "{numbers[number]}" and "{field.name}" of "{message.name}" '
                f"both have the number {number}",
            )
        numbers[number] = field.name
        if _within(reserved, number):
            draft.refuse(offset, f'field "{field.name}" uses the reserved number {number}')
        if _within(offered, number):
            draft.refuse(offset, f'field "{field.name}" uses {number}, which is for extensions')
        if field.name in reserved_names:
            draft.refuse(offset, f'field "{field.name}" uses a reserved name')
        if draft.syntax != PROTO2:
            other = json_names.setdefault(field.json_name or json_name(field.name), field.name)
            if other != field.name:
                draft.refuse(
                    offset, f'fields "{other}" and "{field.name}" have the same name in JSON'
                )
        _check_field(draft, offset, field, table)


def _check_field(draft: Draft, offset: int, field: Field, table: Table) -> None:
    if field.options.packed and (
        field.label != Field.LABEL_REPEATED or field.type in _NEVER_PACKED
    ):
        draft.refuse(offset, f'field "{field.name}" cannot be packed: only repeated numbers can')
    if (
        field.type == Field.TYPE_ENUM
        and field.HasField("default_value")
        and field.default_value not in table.enums[field.type_name[1:]]
    ):
        draft.refuse(
            offset,
            f'default of field "{field.name}": "{field.default_value}" is no value of '
            f'"{field.type_name[1:]}"',
        )


def json_name(name: str) -> str:
    """lowerCamelCase, as protobuf's JSON mapping makes it."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def _check_enum(draft: Draft, full_name: str, enum: EnumDescriptorProto) -> None:
    at = draft.places[full_name]
    scope = full_name.rpartition(".")[0]
    if draft.syntax == PROTO3 and enum.value[0].number != 0:
        draft.refuse(at, f'the first value of enum "{enum.name}" must be 0 in proto3')
    ranges = sorted((item.start, item.end) for item in enum.reserved_range)
    for (_, last), (start, _) in pairwise(ranges):
        if start <= last:
            draft.refuse(at, f'two ranges of enum "{enum.name}" overlap at {start}')
    reserved_names = set(enum.reserved_name)
    numbers: dict[int, str] = {}
    starts = [start for start, _ in ranges]
    for value in enum.value:
        offset = draft.places[inside(scope, value.name)]
        other = numbers.setdefault(value.number, value.name)
        if other != value.name and not enum.options.allow_alias:
            draft.refuse(
                offset,
                f'values "{other}" and "{value.name}" of enum "{enum.name}" both have the number '
                f"{value.number}: set the option allow_alias if that is meant",
            )
        index = bisect_right(starts, value.number) - 1
        if index >= 0 and value.number <= ranges[index][1]:
            draft.refuse(offset, f'value "{value.name}" uses the reserved number {value.number}')
        if value.name in reserved_names:
            draft.refuse(offset, f'value "{value.name}" uses a reserved name')


def _sorted_ranges(
    draft: Draft,
    at: int,
    name: str,
    ranges: Iterable[DescriptorProto.ReservedRange | DescriptorProto.ExtensionRange],
) -> list[tuple[int, int]]:
    found = sorted((item.start, item.end) for item in ranges)
    for (_, end), (start, _) in pairwise(found):
        if start < end:
            draft.refuse(at, f'two ranges of message "{name}" overlap at {start}')
    return found


def _within(ranges: list[tuple[int, int]], number: int) -> bool:
    index = bisect_right(ranges, (number, 2**31)) - 1
    return index >= 0 and number < ranges[index][1]


def _check_extensions(draft: Draft, table: Table) -> None:
    taken: dict[tuple[str, int], str] = {}
    for full_name, field in _extensions(draft.file):
        offset = draft.places[full_name]
        if not _within(table.extension_ranges[field.extendee[1:]], field.number):
            draft.refuse(
                offset, f'"{field.extendee[1:]}" does not offer {field.number} for extensions'
            )
        if draft.syntax == PROTO3 and not field.extendee.startswith(".google.protobuf."):
            draft.refuse(offset, "proto3 extends the options of google.protobuf alone")
        other = taken.setdefault((field.extendee, field.number), full_name)
        if other != full_name:
            draft.refuse(offset, f'"{other}" and "{full_name}" extend with the same number')


def _extensions(file: FileDescriptorProto) -> Iterator[tuple[str, Field]]:
    for extension in file.extension:
        yield inside(file.package, extension.name), extension
    for full_name, message in messages(file, file.package):
        for extension in message.extension:
            yield inside(full_name, extension.name), extension
