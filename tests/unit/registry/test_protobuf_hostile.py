"""Hostile Protobuf schemas: all end, either in a schema or in InvalidSchemaError.

The suite's own timeout is the bound; what each takes is linear in its length.
"""

import base64
import random

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from kafkaesque.registry.protobuf import incompatibilities, parse
from kafkaesque.registry.schema_text import MAX_TEXT_BYTES, InvalidSchemaError, Referenced

P3 = 'syntax = "proto3";\n'
P2 = 'syntax = "proto2";\n'
KB = 1 << 10


def nested_messages(depth: int) -> str:
    return P3 + "".join(f"message M{level} {{ " for level in range(depth)) + "}" * depth


def encoded(file: FileDescriptorProto) -> str:
    return base64.b64encode(file.SerializeToString()).decode()


def deep_descriptor(depth: int) -> str:
    file = FileDescriptorProto(name="a", syntax="proto3")
    message = file.message_type.add(name="M0")
    for level in range(1, depth):
        message = message.nested_type.add(name=f"M{level}")
    return encoded(file)


def long_names_descriptor() -> str:
    file = FileDescriptorProto(name="a", syntax="proto3")
    message = file.message_type.add(name="M" * 100 * KB)
    for number in range(1, 5000):
        message.field.add(name=f"a{number}", number=number, label=1, type=5)
    return encoded(file)


REFUSED = {
    "longer than the limit": (P3 + " " * MAX_TEXT_BYTES, "longer than"),
    "longer than the limit in bytes": (P3 + "//" + "é" * (MAX_TEXT_BYTES // 2), "longer than"),
    "messages in messages": (nested_messages(5000), "nested deeper than 32"),
    "messages in messages, encoded": (deep_descriptor(90), "nested deeper than 32"),
    "messages in messages, deeper than protobuf decodes": (deep_descriptor(150), "neither"),
    "groups in groups": (
        P2 + "message M { " + "optional group G = 1 { " * 5000 + "}" * 5001,
        "nested deeper than 32",
    ),
    "braces in an option": (P3 + "option (a) = " + "{ a " * 5000 + "}" * 5000 + ";", "deeper than"),
    "brackets in an option": (P3 + "option (a) = { x: " + "[" * 5000, "nested deeper than"),
    "braces that do not match": (P3 + "option (a) = { [ } ];", "closes nothing"),
    "an option's name of many parts": (P3 + "option a" + ".a" * 5000 + " = 1;", "too many parts"),
    "a package of many parts": (P3 + "package a" + ".a" * 5000 + ";", "too many parts"),
    "a long name": (P3 + "message " + "M" * 5000 + " {}", "a name is longer than 255"),
    "long names in each other": (
        P3 + "".join(f"message M{'x' * 240}{level} {{ " for level in range(8)),
        "a full name is longer than 1000",
    ),
    "long names, encoded": (long_names_descriptor(), "a full name is longer than 1000"),
    "a number of many digits": (P3 + "message M { int32 a = " + "9" * 5000 + "; }", "too long"),
    "a zero byte": (P3 + "message M\0 {}", "is no part"),
    "a lone surrogate": (P3 + 'option java_package = "\ud800";', "not valid Unicode"),
    "an escaped surrogate": (P3 + 'option java_package = "\\ud800";', "is no escape"),
    "no base64": ("A" * 1001, "neither"),
    "many ranges with many options": (
        P2
        + "message M { extensions "
        + ", ".join(str(number) for number in range(1, 9000, 2))
        + " ["
        + ", ".join("(a) = 1" for _ in range(1000))
        + "]; }",
        "too many options of extension ranges",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused(name: str) -> None:
    text, says = REFUSED[name]
    with pytest.raises(InvalidSchemaError, match=says):
        parse(text)


TAKEN = {
    "empty statements": P3 + ";" * 50 * KB,
    "comments": P3 + "/* * / ** */ // x\n" * 20 * KB,
    "strings in a row": P3 + "option java_package = " + '"a" ' * 50 * KB + ";",
    "a long string": P3 + 'option java_package = "' + "\\\\" * 50 * KB + '";',
    "many oneofs": P3
    + "message M {"
    + "".join(f"oneof o{number} {{ int32 a{number} = {number}; }}" for number in range(1, 1500))
    + "}",
    "many maps": P3
    + "message M {"
    + "".join(f"map<string, M> a{number} = {number};" for number in range(1, 1500))
    + "}",
    "many custom options of one file": P3
    + 'import "google/protobuf/descriptor.proto";'
    + "extend google.protobuf.FileOptions { repeated int32 x = 50000; }"
    + "option (x) = 1;" * 3000,
    "many options that nobody knows": P3 + "option (x) = 1;" * 3000,
    "a long chain of messages": P3
    + "".join(f"message M{number} {{ M{number + 1} a = 1; }}" for number in range(1000))
    + "message M1000 {}",
    "many enum values": P3 + "enum E {" + "".join(f"V{n} = {n};" for n in range(3000)) + "}",
    "reserved numbers": P3
    + "message M { reserved "
    + ", ".join(str(number) for number in range(1, 6000))
    + "; }",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TAKEN)
def test_is_taken_printed_and_compared(name: str) -> None:
    schema = parse(TAKEN[name])
    again = parse(schema.canonical)
    assert again.canonical == schema.canonical
    assert incompatibilities(again, schema) == []
    assert schema.normalized()


def test_references_that_would_unfold_to_millions() -> None:
    lowest = Referenced("r0.proto", P3 + "message M0 {}")
    for level in range(1, 40):
        text = P3 + f'import public "r{level - 1}.proto"; message M{level} {{}}'
        lowest = Referenced(f"r{level}.proto", text, (lowest, lowest))
    assert (
        "M0 a = 1;" in parse(P3 + 'import "r39.proto"; message M { M0 a = 1; }', [lowest]).canonical
    )


def test_a_chain_of_imports_has_an_end() -> None:
    chain = [Referenced("r0.proto", P3)]
    chain += [Referenced(f"r{n}.proto", P3 + f'import "r{n - 1}.proto";') for n in range(1, 150)]
    with pytest.raises(InvalidSchemaError, match="imports are nested deeper than 100"):
        parse(P3 + 'import "r149.proto";', chain)
    assert parse(P3 + 'import "r90.proto";', chain)


def test_too_many_references_are_refused() -> None:
    many = [Referenced(f"r{number}.proto", P3) for number in range(300)]
    with pytest.raises(InvalidSchemaError, match="more than 200 references"):
        parse(P3, many)


def test_cut_and_mutated_texts_raise_nothing_else() -> None:
    """Every error is an InvalidSchemaError, whatever is cut off, put in or left out."""
    whole = parse(
        P3 + 'package p; import "confluent/meta.proto"; message M { optional int32 a = 1 '
        '[(confluent.field_meta).doc = "x", json_name = "b"]; map<string, N> m = 2; oneof o '
        "{ N n = 3; } message N { M up = 1; } reserved 5 to max; } enum E { "
        "option allow_alias = true; A = 0; B = 0; } "
        "service S { rpc R (stream M) returns (M) { option deprecated = true; } }"
    )
    chance = random.Random(8)
    source = whole.canonical
    for _ in range(400):
        start = chance.randrange(len(source))
        end = min(len(source), start + chance.choice([1, 1, 2, 8, len(source)]))
        new = chance.choice(
            ["", "", "{", "}", ";", "=", "-1", "99999999999", '"', "M", ".", "[", "("]
        )
        try:
            parse(source[:start] + new + source[end:])
        except InvalidSchemaError:
            continue


def test_mutated_descriptors_raise_nothing_else() -> None:
    text = (
        P3 + "message M { map<string, N> m = 1; message N { M m = 1; } oneof o { int32 a = 2; } }"
    )
    good = base64.b64decode(parse(text).formatted("serialized"))
    chance = random.Random(8)
    for _ in range(400):
        data = bytearray(good)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.choice([0, 1, 4, 10, 11, 14, 255])
        try:
            parse(base64.b64encode(bytes(data)).decode())
        except InvalidSchemaError:
            continue
