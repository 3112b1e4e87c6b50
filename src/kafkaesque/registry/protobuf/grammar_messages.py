"""Messages and what stands in them.

    message = "message" ident "{" { field | mapField | group | oneof | message | enum | extend
                                   | extensions | reserved | option | ";" } "}"
    field = [label] type ident "=" int [options] ";"
    mapField = "map" "<" key "," type ">" ident "=" int [options] ";"
    group = label "group" Ident "=" int [options] "{" message body "}"        proto2 alone
    oneof = "oneof" ident "{" { option | field without label | group } "}"

A map field and a group each declare a nested message at their place: its position among the nested
ones is part of the wire framing. An `optional` field of proto3 gets a oneof of its own, after all
written ones.

Above: grammar.py. Below: grammar_enums.py, grammar_options.py.
"""

from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field

from kafkaesque.registry.protobuf.draft import (
    EDITIONS,
    MAX_MESSAGE_DEPTH,
    PROTO2,
    PROTO3,
    Draft,
    Use,
)
from kafkaesque.registry.protobuf.grammar_enums import enum, ranges, reserved_names
from kafkaesque.registry.protobuf.grammar_options import option_list, option_statement
from kafkaesque.registry.protobuf.tokens import INTEGER, Token
from kafkaesque.registry.protobuf.walking import inside

LARGEST_NUMBER = 2**29 - 1
MAX_RANGE_SETTINGS = 100_000
"""The options of a list of ranges hold for each of them: both lists can be long."""
_KEPT_BY_PROTOBUF = range(19000, 20000)
SCALARS = {
    name.removeprefix("TYPE_").lower(): number
    for name, number in Field.Type.items()
    if name not in ("TYPE_GROUP", "TYPE_MESSAGE", "TYPE_ENUM")
}
_LABELS = {
    "optional": Field.LABEL_OPTIONAL,
    "required": Field.LABEL_REQUIRED,
    "repeated": Field.LABEL_REPEATED,
}


def message(draft: Draft, descriptor: DescriptorProto, scope: str, depth: int = 1) -> None:
    cursor = draft.cursor
    cursor.expect("message", "the start")
    name = cursor.name("a message's name")
    descriptor.name = name.text
    draft.declare(inside(scope, name.text), name.offset)
    _body(draft, descriptor, inside(scope, name.text), depth)


def _body(draft: Draft, descriptor: DescriptorProto, scope: str, depth: int) -> None:
    cursor = draft.cursor
    if depth > MAX_MESSAGE_DEPTH:
        cursor.refuse(f"messages are nested deeper than {MAX_MESSAGE_DEPTH}")
    cursor.expect("{", "a message's name")
    while not cursor.accept("}"):
        word = cursor.token.text
        if cursor.accept(";"):
            continue
        if word == "message":
            message(draft, descriptor.nested_type.add(), scope, depth + 1)
        elif word == "enum":
            enum(draft, descriptor.enum_type.add(), scope)
        elif word == "option":
            option_statement(draft, descriptor, scope.rpartition(".")[0])
        elif word == "oneof":
            _oneof(draft, descriptor, scope, depth)
        elif word == "extend":
            extend(draft, descriptor, scope)
        elif word == "extensions":
            _extensions(draft, descriptor, scope)
        elif word == "reserved":
            _reserved(draft, descriptor)
        else:
            _field(draft, descriptor, scope, depth)
    _add_synthetic_oneofs(descriptor)


def _field(draft: Draft, descriptor: DescriptorProto, scope: str, depth: int) -> None:
    cursor = draft.cursor
    start = cursor.token
    field = descriptor.field.add(label=Field.LABEL_OPTIONAL)
    labelled = _label(draft, field)
    if cursor.at("map") and cursor.ahead("<"):
        if labelled:
            cursor.refuse("a map has no label", start)
        _map(draft, descriptor, field, scope)
    elif cursor.at("group") and draft.syntax == PROTO2:
        _group(draft, descriptor, field, scope, depth)
    else:
        if not labelled and draft.syntax == PROTO2:
            cursor.refuse('a field of proto2 starts with "optional", "required" or "repeated"')
        field_rest(draft, field, scope)


def _label(draft: Draft, field: Field) -> bool:
    start = draft.cursor.token
    if start.text not in _LABELS:
        return False
    draft.cursor.next()
    if start.text == "required" and draft.syntax == PROTO3:
        draft.cursor.refuse("proto3 has no required fields", start)
    if start.text != "repeated" and draft.syntax == EDITIONS:
        draft.cursor.refuse(
            f'editions have no label "{start.text}": use the option features.field_presence', start
        )
    field.label = _LABELS[start.text]
    if start.text == "optional" and draft.syntax == PROTO3:
        field.proto3_optional = True
    return True


def field_rest(draft: Draft, field: Field, scope: str) -> None:
    """All of a field after its label."""
    _type(draft, field, scope)
    _name_and_number(draft, field, scope)
    option_list(draft, field, scope)
    draft.cursor.expect(";", f'field "{field.name}"')


def _type(draft: Draft, field: Field, scope: str) -> None:
    token = draft.cursor.dotted_name("a field's type", leading_dot=True)
    if token.text in SCALARS:
        field.type = SCALARS[token.text]
    else:
        field.type_name = token.text
        draft.uses.append(Use(field, "type_name", scope, token.offset))


def _name_and_number(draft: Draft, field: Field, scope: str) -> Token:
    cursor = draft.cursor
    name = cursor.name("a field's name")
    field.name = name.text
    draft.declare(inside(scope, name.text), name.offset)
    cursor.expect("=", f'the name of field "{name.text}"')
    _number(draft, field)
    return name


def _number(draft: Draft, field: Field) -> None:
    start = draft.cursor.token
    number = draft.cursor.integer("a field's number")
    if not 1 <= number <= LARGEST_NUMBER:
        draft.cursor.refuse(f"a field's number is between 1 and {LARGEST_NUMBER}", start)
    if number in _KEPT_BY_PROTOBUF:
        draft.cursor.refuse("the numbers 19000 to 19999 are kept for protobuf itself", start)
    field.number = number


def _map(draft: Draft, descriptor: DescriptorProto, field: Field, scope: str) -> None:
    cursor = draft.cursor
    start = cursor.next()
    cursor.expect("<", '"map"')
    entry = descriptor.nested_type.add()
    entry.options.map_entry = True
    key = entry.field.add(name="key", number=1, label=Field.LABEL_OPTIONAL)
    key_type = cursor.name("a map's key type")
    if key_type.text not in SCALARS or key_type.text in ("double", "float", "bytes"):
        cursor.refuse(f'"{key_type.text}" cannot be the key of a map', key_type)
    key.type = SCALARS[key_type.text]
    cursor.expect(",", "a map's key type")
    value = entry.field.add(name="value", number=2, label=Field.LABEL_OPTIONAL)
    _type(draft, value, scope)
    cursor.expect(">", "a map's value type")
    field.label = Field.LABEL_REPEATED
    field.type = Field.TYPE_MESSAGE
    _name_and_number(draft, field, scope)
    entry.name = _camel_case(field.name) + "Entry"
    full_name = inside(scope, entry.name)
    draft.declare(full_name, start.offset)
    field.type_name = "." + full_name
    option_list(draft, field, scope)
    cursor.expect(";", f'field "{field.name}"')


def _camel_case(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _group(draft: Draft, descriptor: DescriptorProto, field: Field, scope: str, depth: int) -> None:
    cursor = draft.cursor
    cursor.next()
    name = cursor.name("a group's name")
    if not name.text[0].isupper():
        cursor.refuse(f'the name of group "{name.text}" starts with a capital', name)
    field.name = name.text.lower()
    field.type = Field.TYPE_GROUP
    full_name = inside(scope, name.text)
    field.type_name = "." + full_name
    draft.declare(full_name, name.offset)
    if field.name != name.text:
        draft.declare(inside(scope, field.name), name.offset)
    cursor.expect("=", "a group's name")
    _number(draft, field)
    option_list(draft, field, scope)
    nested = descriptor.nested_type.add(name=name.text)
    _body(draft, nested, full_name, depth + 1)


def _oneof(draft: Draft, descriptor: DescriptorProto, scope: str, depth: int) -> None:
    cursor = draft.cursor
    cursor.next()
    name = cursor.name("a oneof's name")
    index = len(descriptor.oneof_decl)
    oneof = descriptor.oneof_decl.add(name=name.text)
    draft.declare(inside(scope, name.text), name.offset)
    cursor.expect("{", "a oneof's name")
    empty = True
    while not cursor.accept("}"):
        if cursor.accept(";"):
            continue
        if cursor.at("option"):
            option_statement(draft, oneof, scope)
            continue
        if cursor.token.text in _LABELS or (cursor.at("map") and cursor.ahead("<")):
            cursor.refuse(f'"{cursor.token.text}" cannot stand in a oneof')
        field = descriptor.field.add(label=Field.LABEL_OPTIONAL, oneof_index=index)
        if cursor.at("group") and draft.syntax == PROTO2:
            _group(draft, descriptor, field, scope, depth)
        else:
            field_rest(draft, field, scope)
        empty = False
    if empty:
        cursor.refuse(f'oneof "{name.text}" has no fields', name)


def _add_synthetic_oneofs(descriptor: DescriptorProto) -> None:
    names = {oneof.name for oneof in descriptor.oneof_decl}
    for part in (descriptor.field, descriptor.nested_type, descriptor.enum_type):
        names.update(item.name for item in part)
    names.update(value.name for each in descriptor.enum_type for value in each.value)
    for field in descriptor.field:
        if field.proto3_optional:
            name = f"_{field.name}"
            while name in names:
                name = "X" + name
            names.add(name)
            field.oneof_index = len(descriptor.oneof_decl)
            descriptor.oneof_decl.add(name=name)


def extend(draft: Draft, parent: DescriptorProto | FileDescriptorProto, scope: str) -> None:
    cursor = draft.cursor
    cursor.next()
    extendee = cursor.dotted_name("an extended message's name", leading_dot=True)
    cursor.expect("{", "the extended message")
    start = cursor.token
    while not cursor.accept("}"):
        if cursor.accept(";"):
            continue
        field = parent.extension.add(label=Field.LABEL_OPTIONAL, extendee=extendee.text)
        draft.uses.append(Use(field, "extendee", scope, extendee.offset))
        if not _label(draft, field) and draft.syntax == PROTO2:
            cursor.refuse('a field of proto2 starts with "optional", "required" or "repeated"')
        if field.label == Field.LABEL_REQUIRED:
            cursor.refuse("an extension cannot be required", start)
        if cursor.at("group") and draft.syntax == PROTO2:
            cursor.refuse('a group inside "extend" is not taken here: declare a message instead')
        field_rest(draft, field, scope)
    if start.text == "}":
        cursor.refuse('"extend" declares no fields', start)


def _extensions(draft: Draft, descriptor: DescriptorProto, scope: str) -> None:
    cursor = draft.cursor
    start = cursor.next()
    if draft.syntax == PROTO3:
        cursor.refuse("proto3 has no extension ranges", start)
    first = len(descriptor.extension_range)
    for low, last in ranges(draft, LARGEST_NUMBER):
        _check_range(draft, start, low, last)
        descriptor.extension_range.add(start=low, end=last + 1)
    opening = cursor.token
    if cursor.at("["):
        before = len(draft.settings)
        option_list(draft, descriptor.extension_range[first], scope.rpartition(".")[0])
        for setting in draft.settings[before:]:
            for other in descriptor.extension_range[first + 1 :]:
                draft.settings.append(setting._replace(holder=other))
                if len(draft.settings) > MAX_RANGE_SETTINGS:
                    cursor.refuse("too many options of extension ranges", opening)
    cursor.expect(";", "the extensions")


def _reserved(draft: Draft, descriptor: DescriptorProto) -> None:
    start = draft.cursor.next()
    if draft.cursor.token.kind == INTEGER:
        for low, last in ranges(draft, LARGEST_NUMBER):
            _check_range(draft, start, low, last)
            descriptor.reserved_range.add(start=low, end=last + 1)
    else:
        descriptor.reserved_name.extend(reserved_names(draft))
    draft.cursor.expect(";", "the reserved ones")


def _check_range(draft: Draft, start: Token, low: int, last: int) -> None:
    if low < 1 or last > LARGEST_NUMBER:
        draft.cursor.refuse(f"field numbers are between 1 and {LARGEST_NUMBER}", start)
