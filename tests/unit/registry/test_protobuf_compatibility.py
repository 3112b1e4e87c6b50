"""Written cases of Protobuf compatibility: verdict, kind, path and a part of the message.

Each case is the body of the writer's schema and of the reader's; `proto2` where it matters.
"""

from typing import NamedTuple

import pytest

from kafkaesque.registry.protobuf import incompatibilities, parse
from kafkaesque.registry.schema_text import Incompatibility, InvalidSchemaError, Referenced


class Case(NamedTuple):
    name: str
    writer: str
    reader: str
    kind: str = ""
    path: str = ""
    says: str = ""
    syntax: str = "proto3"


def problems(case: Case) -> list[Incompatibility]:
    header = f'syntax = "{case.syntax}"; '
    return incompatibilities(parse(header + case.reader), parse(header + case.writer))


def m(body: str) -> str:
    return f"message M {{ {body} }}"


def scalar(writer: str, reader: str, name: str = "", kind: str = "") -> Case:
    says = f"is {writer} for the writer and {reader} for the reader" if kind else ""
    path = "#/M/1" if kind else ""
    title = name or f"{writer} read as {reader}"
    return Case(title, m(f"{writer} a = 1;"), m(f"{reader} a = 1;"), kind, path, says)


SCALARS = [
    *(
        scalar(writer, reader)
        for group in (
            ("int32", "int64", "uint32", "uint64", "bool"),
            ("sint32", "sint64"),
            ("string", "bytes"),
            ("fixed32", "sfixed32"),
            ("fixed64", "sfixed64"),
        )
        for writer, reader in zip(group, group[1:] + group[:1], strict=True)
    ),
    *(
        scalar(writer, reader, kind="FIELD_SCALAR_KIND_CHANGED")
        for writer, reader in (
            ("int32", "sint32"),
            ("sint64", "int64"),
            ("int32", "string"),
            ("string", "int32"),
            ("bytes", "double"),
            ("float", "double"),
            ("double", "float"),
            ("float", "fixed32"),
            ("double", "fixed64"),
            ("fixed32", "fixed64"),
            ("fixed32", "uint32"),
            ("sfixed64", "int64"),
            ("bool", "string"),
        )
    ),
]

E = "enum E { A = 0; B = 1; } "
ENUMS = [
    Case("a number read as an enum", E + m("int32 a = 1;"), E + m("E a = 1;")),
    Case("an enum read as a number", E + m("E a = 1;"), E + m("int32 a = 1;")),
    Case("another enum", E + m("E a = 1;"), "enum F { C = 0; } " + m("F a = 1;")),
    Case("a value added", E + m("E a = 1;"), "enum E { A = 0; B = 1; C = 2; } " + m("E a = 1;")),
    Case("a value removed", E + m("E a = 1;"), "enum E { A = 0; } " + m("E a = 1;")),
    Case("a value renamed", E + m("E a = 1;"), "enum E { A = 0; X = 1; } " + m("E a = 1;")),
    Case("an enum removed", E + m("int32 a = 1;"), m("int32 a = 1;")),
    Case(
        "an enum read as text",
        E + m("E a = 1;"),
        E + m("string a = 1;"),
        "FIELD_SCALAR_KIND_CHANGED",
        "#/M/1",
        'is enum "E" for the writer and string',
    ),
]

N = "message N { int32 x = 1; } "
FIELDS = [
    Case("nothing changed", m("int32 a = 1;"), m("int32 a = 1;")),
    Case("a field added", m("int32 a = 1;"), m("int32 a = 1; string b = 2;")),
    Case("a field removed", m("int32 a = 1; string b = 2;"), m("int32 a = 1;")),
    Case("a field renamed", m("int32 a = 1;"), m("int32 b = 1;")),
    Case("a field renumbered", m("int32 a = 1;"), m("int32 a = 2;")),
    Case("a field made explicit", m("int32 a = 1;"), m("optional int32 a = 1;")),
    Case("packed or not", m("repeated int32 a = 1;"), m("repeated int32 a = 1 [packed=false];")),
    Case("reserved removed", m("reserved 2; int32 a = 1;"), m("int32 a = 1;")),
    Case(
        "a number read as a message",
        N + m("int32 a = 1;"),
        N + m("N a = 1;"),
        "FIELD_KIND_CHANGED",
        "#/M/1",
        'is int32 for the writer and message "N" for the reader',
    ),
    Case(
        "a message read as text",
        N + m("N a = 1;"),
        N + m("string a = 1;"),
        "FIELD_KIND_CHANGED",
        "#/M/1",
        'is message "N" for the writer and string',
    ),
    Case(
        "a list read as a number",
        m("repeated int32 a = 1;"),
        m("int32 a = 1;"),
        "FIELD_NUMERIC_LABEL_CHANGED",
        "#/M/1",
        "repeated int32 for the writer and int32 for the reader",
    ),
    Case(
        "a number read as a list",
        m("double a = 1;"),
        m("repeated double a = 1;"),
        "FIELD_NUMERIC_LABEL_CHANGED",
        "#/M/1",
        "values would be lost",
    ),
    Case(
        "an enum read as a list",
        E + m("optional E a = 1;"),
        E + m("repeated E a = 1;"),
        "FIELD_NUMERIC_LABEL_CHANGED",
        "#/M/1",
        'repeated enum "E"',
    ),
    Case("a text read as a list", m("string a = 1;"), m("repeated string a = 1;")),
    Case("a list of bytes read as one", m("repeated bytes a = 1;"), m("bytes a = 1;")),
    Case("a message read as a list", N + m("N a = 1;"), N + m("repeated N a = 1;")),
]

REQUIRED = [
    Case(
        "a required field added",
        m(""),
        m("required int32 a = 1;"),
        "REQUIRED_FIELD_ADDED",
        "#/M/1",
        'field "a" of "M" is required by the reader and the writer does not have it',
        "proto2",
    ),
    Case(
        "a required field removed",
        m("required int32 a = 1;"),
        m(""),
        "REQUIRED_FIELD_REMOVED",
        "#/M/1",
        "missing in the reader",
        "proto2",
    ),
    Case(
        "an optional text becomes required",
        m("optional string a = 1;"),
        m("required string a = 1;"),
        "REQUIRED_FIELD_ADDED",
        "#/M/1",
        "the writer may leave it out",
        "proto2",
    ),
    Case(
        "a required number becomes optional",
        m("required int32 a = 1;"),
        m("optional int32 a = 1;"),
        syntax="proto2",
    ),
    Case(
        "a default changed",
        m("optional int32 a = 1 [default=1];"),
        m("optional int32 a = 1;"),
        syntax="proto2",
    ),
]

MAPS = [
    Case("a map's value widened", m("map<string, int32> a = 1;"), m("map<string, int64> a = 1;")),
    Case("a map renamed", m("map<string, int32> a = 1;"), m("map<string, int32> b = 1;")),
    Case("a map removed", m("map<string, int32> a = 1; int32 b = 2;"), m("int32 b = 2;")),
    Case(
        "a map's value changed",
        m("map<string, int32> a = 1;"),
        m("map<string, string> a = 1;"),
        "FIELD_SCALAR_KIND_CHANGED",
        "#/M/1",
        'the value of a map of "M" is int32',
    ),
    Case(
        "a map's key changed",
        m("map<string, int32> a = 1;"),
        m("map<int32, int32> a = 1;"),
        "FIELD_SCALAR_KIND_CHANGED",
        "#/M/1",
        'the key of a map of "M" is string',
    ),
    Case(
        "a map's value becomes a message",
        N + m("map<string, int32> a = 1;"),
        N + m("map<string, N> a = 1;"),
        "FIELD_KIND_CHANGED",
        "#/M/1",
        "the value of a map",
    ),
    Case(
        "a map read as a list of messages",
        N + m("map<string, int32> a = 1;"),
        N + m("repeated N a = 1;"),
        "FIELD_KIND_CHANGED",
        "#/M/1",
        "map<string, int32>",
    ),
    Case(
        "a map's message changed",
        N + "message O {} " + m("map<string, N> a = 1;"),
        N + "message O {} " + m("map<string, O> a = 1;"),
        "FIELD_NAMED_TYPE_CHANGED",
        "#/M/1",
        'message "O"',
    ),
]

ONEOFS = [
    Case(
        "one field moved into a new oneof",
        m("int32 a = 1;"),
        m("oneof o { int32 a = 1; int32 b = 2; }"),
    ),
    Case(
        "a oneof's field added",
        m("oneof o { int32 a = 1; }"),
        m("oneof o { int32 a = 1; int32 b = 2; }"),
    ),
    Case(
        "a oneof dissolved",
        m("oneof o { int32 a = 1; int32 b = 2; }"),
        m("int32 a = 1; int32 b = 2;"),
    ),
    Case(
        "a oneof renamed",
        m("oneof o { int32 a = 1; int32 b = 2; }"),
        m("oneof p { int32 a = 1; int32 b = 2; }"),
    ),
    Case(
        "a oneof removed with its fields",
        m("oneof o { int32 a = 1; } int32 b = 2;"),
        m("int32 b = 2;"),
    ),
    Case(
        "a field moved out of a oneof",
        m("oneof o { int32 a = 1; int32 b = 2; }"),
        m("oneof o { int32 a = 1; } int32 b = 2;"),
    ),
    Case(
        "optional of proto3 is no oneof",
        m("optional int32 a = 1; optional int32 b = 2;"),
        m("optional int32 a = 1;"),
    ),
    Case(
        "a field removed from a oneof",
        m("oneof o { int32 a = 1; int32 b = 2; }"),
        m("oneof o { int32 a = 1; }"),
        "ONEOF_FIELD_REMOVED",
        "#/M/o/2",
        'field "b" of "M" is missing in the reader\'s oneof "o"',
    ),
    Case(
        "two fields moved into a oneof",
        m("int32 a = 1; int32 b = 2;"),
        m("oneof o { int32 a = 1; int32 b = 2; }"),
        "MULTIPLE_FIELDS_MOVED_TO_ONEOF",
        "#/M/o",
        'several: field "a", field "b"',
    ),
    Case(
        "a field moved into a oneof that was there",
        m("oneof o { int32 a = 1; } int32 b = 2;"),
        m("oneof o { int32 a = 1; int32 b = 2; }"),
        "FIELD_MOVED_TO_EXISTING_ONEOF",
        "#/M/o",
        'field "b", oneof "o"',
    ),
    Case(
        "two oneofs become one",
        m("oneof o { int32 a = 1; } oneof p { int32 b = 2; }"),
        m("oneof o { int32 a = 1; int32 b = 2; }"),
        "MULTIPLE_FIELDS_MOVED_TO_ONEOF",
        "#/M/o",
        'oneof "o", oneof "p"',
    ),
    Case(
        "a type changed inside a oneof",
        m("oneof o { int32 a = 1; }"),
        m("oneof o { string a = 1; }"),
        "FIELD_SCALAR_KIND_CHANGED",
        "#/M/o/1",
        "is int32 for the writer and string",
    ),
    Case(
        "a type changed on the way into a oneof",
        m("int32 a = 1;"),
        m("oneof o { string a = 1; }"),
        "FIELD_SCALAR_KIND_CHANGED",
        "#/M/1",
        "is int32 for the writer and string",
    ),
]

MESSAGES = [
    Case("a message added", m(""), N + m("")),
    Case("messages in another order", N + m("int32 a = 1;"), m("int32 a = 1;") + N),
    Case("another package", "package a; " + m("M a = 1;"), "package b; " + m("M a = 1;")),
    Case("a service changed", m("") + "service S { rpc R (M) returns (M); }", m("")),
    Case(
        "a nested message in another place",
        m("message N {} message O {}"),
        m("message O {} message N {}"),
    ),
    Case(
        "a message removed",
        N + m(""),
        m(""),
        "MESSAGE_REMOVED",
        "#/N",
        'message "N" is missing in the reader: records of it cannot be read',
    ),
    Case(
        "a nested message removed",
        m("message N { message O {} }"),
        m("message N {}"),
        "MESSAGE_REMOVED",
        "#/M/N/O",
        'message "M.N.O"',
    ),
    Case(
        "a message renamed",
        m("M a = 1;"),
        "message X { X a = 1; }",
        "MESSAGE_REMOVED",
        "#/M",
        'message "M"',
    ),
    Case(
        "another message of the same shape",
        N + "message O { int32 x = 1; } " + m("N a = 1;"),
        N + "message O { int32 x = 1; } " + m("O a = 1;"),
        "FIELD_NAMED_TYPE_CHANGED",
        "#/M/1",
        'message "N" for the writer and message "O"',
    ),
    Case(
        "a change deep inside",
        m("N a = 1; message N { message O { int32 x = 1; } O o = 1; }"),
        m("N a = 1; message N { message O { string x = 1; } O o = 1; }"),
        "FIELD_SCALAR_KIND_CHANGED",
        "#/M/N/O/1",
        'field "x" of "M.N.O"',
    ),
    Case(
        "recursive messages",
        m("M a = 1; N n = 2;") + "message N { M m = 1; }",
        "message N { M m = 1; }" + m("M a = 1; N n = 2; int32 z = 3;"),
    ),
    Case(
        "recursive messages that differ",
        m("N n = 1; ") + "message N { M m = 1; int32 x = 2; }",
        m("N n = 1; ") + "message N { M m = 1; double x = 2; }",
        "FIELD_SCALAR_KIND_CHANGED",
        "#/N/2",
        'field "x" of "N"',
    ),
    Case(
        "a group read as a message",
        m("optional group G = 1 { optional int32 x = 1; }"),
        m("optional G g = 1; message G { optional int32 x = 1; }"),
        "FIELD_KIND_CHANGED",
        "#/M/1",
        "is group",
        "proto2",
    ),
    Case(
        "a change inside a group",
        m("optional group G = 1 { optional int32 x = 1; }"),
        m("optional group G = 1 { optional string x = 1; }"),
        "FIELD_SCALAR_KIND_CHANGED",
        "#/M/G/1",
        "is int32",
        "proto2",
    ),
    Case("a group removed", m("optional group G = 1 { }"), m(""), syntax="proto2"),
]

CASES = [*SCALARS, *ENUMS, *FIELDS, *REQUIRED, *MAPS, *ONEOFS, *MESSAGES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_written_case(case: Case) -> None:
    found = problems(case)
    if not case.kind:
        assert found == []
        return
    assert [(each.kind, each.path) for each in found] == [(case.kind, case.path)]
    assert case.says in found[0].message


SHARED = 'syntax = "proto3"; package shared; message Home { int32 id = 1; bool on = 2; }'
USER = 'syntax = "proto3"; import "home.proto"; message M { shared.Home home = 1; }'


def test_a_change_in_an_imported_message_shows_at_both_ends() -> None:
    writer = parse(USER, [Referenced("home.proto", SHARED)])
    reader = parse(USER, [Referenced("home.proto", SHARED.replace("int32 id", "string id"))])
    assert [(each.kind, each.path) for each in incompatibilities(reader, writer)] == [
        ("FIELD_SCALAR_KIND_CHANGED", "#/Home/1"),
        ("FIELD_NAMED_TYPE_CHANGED", "#/M/1"),
    ]


def test_an_imported_message_may_grow_or_change_its_package() -> None:
    writer = parse(USER, [Referenced("home.proto", SHARED)])
    grown = SHARED.replace("}", "string city = 3; }").replace("package shared", "package other")
    reader = parse(USER.replace("shared.", "other."), [Referenced("home.proto", grown)])
    assert incompatibilities(reader, writer) == []


def test_a_message_that_moves_to_an_import_is_missing_in_the_file() -> None:
    writer = parse('syntax = "proto3"; message M { Home home = 1; } message Home { int32 id = 1; }')
    reader = parse(USER, [Referenced("home.proto", SHARED)])
    found = incompatibilities(reader, writer)
    assert [(each.kind, each.path) for each in found] == [("MESSAGE_REMOVED", "#/Home")]
    assert incompatibilities(writer, reader) == []


def test_required_of_an_edition_counts_as_required() -> None:
    header = 'edition = "2023"; message M { int32 a = 1'
    reader = parse(header + " [features.field_presence = LEGACY_REQUIRED]; }")
    found = incompatibilities(reader, parse(header + "; }"))
    assert [each.kind for each in found] == ["REQUIRED_FIELD_ADDED"]


def test_several_problems_come_in_the_order_of_the_file() -> None:
    writer = parse('syntax = "proto3"; message M { int32 a = 1; int32 b = 2; } message N {}')
    reader = parse('syntax = "proto3"; message M { string a = 1; double b = 2; }')
    assert [each.path for each in incompatibilities(reader, writer)] == ["#/N", "#/M/1", "#/M/2"]


@pytest.mark.slow
def test_many_ways_to_one_large_message_are_compared_once() -> None:
    fields = " ".join(f"int32 a{number} = {number};" for number in range(1, 3_000))
    body = " ".join(f"message N{index} {{ M m = 1; }}" for index in range(1_000))
    text = f'syntax = "proto3"; message M {{ {fields} }} {body}'
    assert incompatibilities(parse(text), parse(text)) == []


def test_more_steps_than_allowed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkaesque.registry.protobuf.compatibility.MAX_STEPS", 10)
    schema = parse('syntax = "proto3"; message M { int32 a = 1; int32 b = 2; M c = 3; M d = 4; }')
    with pytest.raises(InvalidSchemaError, match="more than 10 steps"):
        incompatibilities(
            parse(schema.canonical.replace("message M", "message X {}\nmessage M")),
            parse(schema.canonical + "message X { M a = 1; M b = 2; M c = 3; }"),
        )
