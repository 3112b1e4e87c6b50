"""A .proto text on its way to a FileDescriptorProto: what the grammar has read and what is left.

The grammar fills `file` at once, but two things need the whole file and its imports: what type
names mean (`uses`, see resolving.py) and what options set (`settings`, see options.py). Both keep
the descriptor that they belong to and the place in the text for errors.

Above: grammar*.py, resolving.py, options.py, checks.py. Below: tokens.py.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    EnumValueDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    MethodDescriptorProto,
    OneofDescriptorProto,
    ServiceDescriptorProto,
)

from kafkaesque.registry.protobuf.tokens import Cursor, refuse

Holder = (
    FileDescriptorProto
    | DescriptorProto
    | DescriptorProto.ExtensionRange
    | FieldDescriptorProto
    | OneofDescriptorProto
    | EnumDescriptorProto
    | EnumValueDescriptorProto
    | ServiceDescriptorProto
    | MethodDescriptorProto
)
"""A descriptor that can have options."""

PROTO2, PROTO3, EDITIONS = "proto2", "proto3", "editions"
MAX_MESSAGE_DEPTH = 32
"""How deep messages may be nested: protoc's own limit."""
MAX_FULL_NAME = 1000
"""Full names are kept for every field: long ones would multiply a small text."""


class Constant(NamedTuple):
    """`kind` is identifier, integer, float, string or aggregate; the value's type follows."""

    kind: str
    value: str | int | float | bytes
    offset: int


class NamePart(NamedTuple):
    name: str
    is_extension: bool


class Setting(NamedTuple):
    """One option: `name` is set to `constant` in the options of `holder`."""

    holder: Holder
    scope: str
    name: tuple[NamePart, ...]
    constant: Constant
    offset: int

    @property
    def is_custom(self) -> bool:
        return any(part.is_extension for part in self.name)

    @property
    def written_name(self) -> str:
        return ".".join(f"({name})" if extension else name for name, extension in self.name)


class Use(NamedTuple):
    """A type's name as written: its meaning goes into `attribute` of `holder`."""

    holder: FieldDescriptorProto | MethodDescriptorProto
    attribute: str
    scope: str
    offset: int


@dataclass(slots=True)
class Draft:
    cursor: Cursor
    file: FileDescriptorProto
    syntax: str = PROTO2
    settings: list[Setting] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    """Full names to where they are declared."""

    def refuse(self, offset: int, message: str) -> NoReturn:
        refuse(self.cursor.text, offset, message)

    def declare(self, full_name: str, offset: int) -> None:
        if len(full_name) > MAX_FULL_NAME:
            self.refuse(offset, f"a full name is longer than {MAX_FULL_NAME} characters")
        if full_name in self.places:
            self.refuse(offset, f'"{full_name}" is declared twice')
        self.places[full_name] = offset
