"""Enums, and the ranges that enums and messages reserve.

    enum = "enum" ident "{" { option | ident "=" int [options] ";" | reserved | ";" } "}"
    reserved = "reserved" ( range {"," range} | name {"," name} ) ";"
    range = int [ "to" ( int | "max" ) ]

Names are quoted in proto2 and proto3, bare in editions.
Above: grammar.py, grammar_messages.py. Below: grammar_options.py.
"""

from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import EnumDescriptorProto

from kafkaesque.registry.protobuf.draft import EDITIONS, Draft
from kafkaesque.registry.protobuf.grammar_options import option_list, option_statement
from kafkaesque.registry.protobuf.tokens import INTEGER
from kafkaesque.registry.protobuf.walking import inside

_INT32 = range(-(2**31), 2**31)


def enum(draft: Draft, descriptor: EnumDescriptorProto, scope: str) -> None:
    cursor = draft.cursor
    cursor.expect("enum", "the start")
    name = cursor.name("an enum's name")
    descriptor.name = name.text
    full_name = inside(scope, name.text)
    draft.declare(full_name, name.offset)
    cursor.expect("{", "an enum's name")
    while not cursor.accept("}"):
        if cursor.accept(";"):
            continue
        if cursor.at("option") and not cursor.ahead("="):
            option_statement(draft, descriptor, scope)
        elif cursor.at("reserved") and not cursor.ahead("="):
            _reserved(draft, descriptor)
        else:
            _value(draft, descriptor, scope)
    if not descriptor.value:
        cursor.refuse(f'enum "{name.text}" has no values', name)


def _value(draft: Draft, descriptor: EnumDescriptorProto, scope: str) -> None:
    cursor = draft.cursor
    name = cursor.name("an enum value's name")
    value = descriptor.value.add(name=name.text)
    draft.declare(inside(scope, name.text), name.offset)
    cursor.expect("=", "an enum value's name")
    value.number = enum_number(draft)
    option_list(draft, value, scope)
    cursor.expect(";", "an enum value")


def enum_number(draft: Draft) -> int:
    start = draft.cursor.token
    sign = -1 if draft.cursor.accept("-") else 1
    number = sign * draft.cursor.integer("an enum value's number")
    if number not in _INT32:
        draft.cursor.refuse("an enum value's number must fit into 32 bits", start)
    return number


def _reserved(draft: Draft, descriptor: EnumDescriptorProto) -> None:
    draft.cursor.next()
    if draft.cursor.token.kind == INTEGER or draft.cursor.at("-"):
        for start, last in ranges(draft, _INT32[-1]):
            descriptor.reserved_range.add(start=start, end=last)
    else:
        descriptor.reserved_name.extend(reserved_names(draft))
    draft.cursor.expect(";", "the reserved ones")


def reserved_names(draft: Draft) -> Iterator[str]:
    cursor = draft.cursor
    while True:
        if draft.syntax == EDITIONS:
            yield cursor.name("a reserved name").text
        else:
            start = cursor.token
            name = cursor.text_string("a reserved name in quotes")
            if not (name.isascii() and name.isidentifier()):
                cursor.refuse(f"{name[:60]!r} is no name", start)
            yield name
        if not cursor.accept(","):
            return


def ranges(draft: Draft, largest: int) -> Iterator[tuple[int, int]]:
    """First and last number of each range."""
    cursor = draft.cursor
    while True:
        at = cursor.token
        start = enum_number(draft)
        last = start
        if cursor.accept("to"):
            last = largest if cursor.accept("max") else enum_number(draft)
        if last < start:
            cursor.refuse(f"the range {start} to {last} runs backwards", at)
        yield start, last
        if not cursor.accept(","):
            return
