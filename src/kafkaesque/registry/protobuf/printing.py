"""A FileDescriptorProto as .proto text: the same text for the same descriptor.

Order: syntax, package, imports, options, messages, enums, extensions, services; inside a message:
options, reserved, extension ranges, fields, nested messages, enums, extensions. Comments are gone.

The position of a nested message is part of the wire framing, and a map field or a group declares a
nested message where it stands. So nested messages that come before such a one are printed before
that field; all others follow the fields.

Above: schema.py, reading.py. Below: printing_options.py, scopes.py.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FileDescriptorProto,
    OneofDescriptorProto,
    ServiceDescriptorProto,
)
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from google.protobuf.descriptor_pool import DescriptorPool

from kafkaesque.registry.protobuf.draft import EDITIONS, PROTO2, PROTO3, Holder
from kafkaesque.registry.protobuf.grammar_messages import LARGEST_NUMBER, SCALARS
from kafkaesque.registry.protobuf.printing_options import own_options, written_options
from kafkaesque.registry.protobuf.spelling import Spelling
from kafkaesque.registry.protobuf.tokens import quoted
from kafkaesque.registry.protobuf.walking import inside
from kafkaesque.registry.schema_text import InvalidSchemaError

_SCALAR_NAMES = {number: name for name, number in SCALARS.items()}
_LABELS = {
    Field.LABEL_OPTIONAL: "optional ",
    Field.LABEL_REQUIRED: "required ",
    Field.LABEL_REPEATED: "repeated ",
}


def printed(
    file: FileDescriptorProto,
    pool: DescriptorPool,
    spelling: Spelling,
) -> str:
    """`pool` knows the file's custom options."""
    return "\n".join(_Printer(file, pool, spelling).lines()) + "\n"


class _Printer:
    def __init__(self, file: FileDescriptorProto, pool: DescriptorPool, spelling: Spelling) -> None:
        self._file = file
        self._pool = pool
        self._spelling = spelling
        self._type_name = spelling.type_name
        self._syntax = file.syntax or PROTO2

    def lines(self) -> Iterator[str]:
        file = self._file
        yield 'edition = "2023";' if self._syntax == EDITIONS else f'syntax = "{self._syntax}";'
        if file.package:
            yield f"package {file.package};"
        yield from _section(self._imports())
        yield from _section(self._options(file, file.package))
        for message in file.message_type:
            yield from _section(self._message(message, file.package))
        for enum in file.enum_type:
            yield from _section(self._enum(enum, file.package))
        yield from _section(self._extensions(file.extension, file.package))
        for service in file.service:
            yield from _section(self._service(service))

    def _imports(self) -> Iterator[str]:
        for index, name in enumerate(self._file.dependency):
            how = "public " if index in self._file.public_dependency else ""
            how = "weak " if index in self._file.weak_dependency else how
            yield f"import {how}{quoted(name.encode())};"

    def _options(self, holder: Holder, scope: str) -> Iterator[str]:
        for name, value in self._written(holder, scope):
            yield f"option {name} = {value};"

    def _written(self, holder: Holder, scope: str) -> Iterator[tuple[str, str]]:
        return written_options(
            holder, self._pool, lambda name: self._spelling.extension_name(name, scope)
        )

    def _message(self, message: DescriptorProto, scope: str) -> Iterator[str]:
        yield f"message {message.name} {{"
        yield from self._body(message, inside(scope, message.name))
        yield "}"

    def _body(self, message: DescriptorProto, scope: str) -> Iterator[str]:
        if message.options.map_entry:
            raise InvalidSchemaError(f'"{scope}" is the entry of a map without a map field')
        yield from _indented(self._options(message, scope.rpartition(".")[0]))
        yield from _indented(self._reserved(message))
        yield from _indented(self._extension_ranges(message, scope.rpartition(".")[0]))
        yield from _indented(self._members(message, scope))
        for enum in message.enum_type:
            yield from _indented(self._enum(enum, scope))
        yield from _indented(self._extensions(message.extension, scope))

    def _reserved(self, message: DescriptorProto) -> Iterator[str]:
        ranges = [_range(item.start, item.end - 1) for item in message.reserved_range]
        if ranges:
            yield f"reserved {', '.join(ranges)};"
        yield from self._reserved_names(message.reserved_name)

    def _reserved_names(self, names: Iterable[str]) -> Iterator[str]:
        bare = self._syntax == EDITIONS
        written = [name if bare else quoted(name.encode()) for name in names]
        if written:
            yield f"reserved {', '.join(written)};"

    def _extension_ranges(self, message: DescriptorProto, scope: str) -> Iterator[str]:
        for item in message.extension_range:
            options = _bracketed(self._written(item, scope))
            yield f"extensions {_range(item.start, item.end - 1)}{options};"

    def _members(self, message: DescriptorProto, scope: str) -> Iterator[str]:
        """Fields and nested messages, so interleaved that each nested one keeps its position."""
        parts = _Parts.of(message)
        at = 0
        for field in message.field:
            group = [field]
            oneof = _oneof_index(field)
            if oneof is not None:
                group = parts.oneofs.pop(oneof, [])
            for _ in range(sum(other.number in parts.declared for other in group)):
                while at < len(message.nested_type) and not parts.is_declared(at):
                    yield from self._message(message.nested_type[at], scope)
                    at += 1
                at += 1
            if oneof is None:
                yield from self._field(field, parts, scope)
            elif group:
                yield from self._oneof(message.oneof_decl[oneof], group, parts, scope)
        for rest in message.nested_type[at:]:
            yield from self._message(rest, scope)

    def _oneof(
        self, oneof: OneofDescriptorProto, fields: list[Field], parts: "_Parts", scope: str
    ) -> Iterator[str]:
        yield f"oneof {oneof.name} {{"
        yield from _indented(self._options(oneof, scope))
        for field in fields:
            yield from _indented(self._field(field, parts, scope))
        yield "}"

    def _field(self, field: Field, parts: "_Parts", scope: str) -> Iterator[str]:
        options = self._field_options(field, scope)
        nested = parts.declared.get(field.number)
        if nested is not None and field.type == Field.TYPE_GROUP:
            yield f"{self._label(field)}group {nested.name} = {field.number}{options} {{"
            yield from self._body(nested, inside(scope, nested.name))
            yield "}"
            return
        written = f"{self._label(field)}{self._type(field, scope)}"
        if nested is not None:
            key, value = nested.field
            written = f"map<{self._type(key, scope)}, {self._type(value, scope)}>"
        yield f"{written} {field.name} = {field.number}{options};"

    def _field_options(self, field: Field, scope: str) -> str:
        return _bracketed((*own_options(field), *self._written(field, scope)))

    def _label(self, field: Field) -> str:
        if field.HasField("oneof_index") and not field.proto3_optional:
            return ""
        written = field.proto3_optional if self._syntax == PROTO3 else self._syntax == PROTO2
        if field.label == Field.LABEL_OPTIONAL and not written:
            return ""
        return _LABELS[field.label]

    def _type(self, field: Field, scope: str) -> str:
        return _SCALAR_NAMES.get(field.type) or self._type_name(field.type_name, scope)

    def _enum(self, enum: EnumDescriptorProto, scope: str) -> Iterator[str]:
        yield f"enum {enum.name} {{"
        yield from _indented(self._options(enum, scope))
        ranges = [_range(item.start, item.end, 2**31 - 1) for item in enum.reserved_range]
        if ranges:
            yield f"  reserved {', '.join(ranges)};"
        yield from _indented(self._reserved_names(enum.reserved_name))
        for value in enum.value:
            options = _bracketed(self._written(value, scope))
            yield f"  {value.name} = {value.number}{options};"
        yield "}"

    def _extensions(self, fields: Iterable[Field], scope: str) -> Iterator[str]:
        extendee = ""
        for field in fields:
            if field.extendee != extendee:
                if extendee:
                    yield "}"
                extendee = field.extendee
                yield f"extend {self._type_name(extendee, scope)} {{"
            options = self._field_options(field, scope)
            written = f"{self._label(field)}{self._type(field, scope)}"
            yield f"  {written} {field.name} = {field.number}{options};"
        if extendee:
            yield "}"

    def _service(self, service: ServiceDescriptorProto) -> Iterator[str]:
        yield f"service {service.name} {{"
        yield from _indented(self._options(service, self._file.package))
        scope = inside(self._file.package, service.name)
        for method in service.method:
            asked = "stream " if method.client_streaming else ""
            answered = "stream " if method.server_streaming else ""
            asked += self._type_name(method.input_type, scope)
            answered += self._type_name(method.output_type, scope)
            options = list(self._options(method, scope))
            end = " {" if options or method.HasField("options") else ";"
            yield f"  rpc {method.name} ({asked}) returns ({answered}){end}"
            if end == " {":
                yield from _indented(_indented(options))
                yield "  }"
        yield "}"


def _oneof_index(field: Field) -> int | None:
    return (
        field.oneof_index if field.HasField("oneof_index") and not field.proto3_optional else None
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a message's fields have to do with each other and with its nested messages."""

    message: DescriptorProto
    oneofs: dict[int, list[Field]]
    declared: dict[int, DescriptorProto]
    """Numbers of map fields and groups, and the nested messages that they declare."""
    names: frozenset[str]

    @staticmethod
    def of(message: DescriptorProto) -> "_Parts":
        oneofs: dict[int, list[Field]] = {}
        nested = {each.name: each for each in message.nested_type}
        declared: dict[int, DescriptorProto] = {}
        for field in message.field:
            index = _oneof_index(field)
            if index is not None:
                oneofs.setdefault(index, []).append(field)
            *_, owner, name = ("", *field.type_name.split("."))
            if name in nested and owner in (message.name, ""):
                is_map = nested[name].options.map_entry and len(nested[name].field) == 2
                if is_map or field.type == Field.TYPE_GROUP:
                    declared[field.number] = nested[name]
        return _Parts(message, oneofs, declared, frozenset(each.name for each in declared.values()))

    def is_declared(self, index: int) -> bool:
        return self.message.nested_type[index].name in self.names


def _range(start: int, last: int, largest: int = LARGEST_NUMBER) -> str:
    if start == last:
        return str(start)
    return f"{start} to {'max' if last == largest else last}"


def _bracketed(options: Iterable[tuple[str, str]]) -> str:
    written = ", ".join(f"{name} = {value}" for name, value in options)
    return f" [{written}]" if written else ""


def _section(lines: Iterable[str]) -> Iterator[str]:
    """Lines with an empty one before the first."""
    for index, line in enumerate(lines):
        if index == 0:
            yield ""
        yield line


def _indented(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield "  " + line
