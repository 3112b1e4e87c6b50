"""Schemas that nobody means well with: huge, deep, recursive, branching, dear to compare.

A case is a type, one text or two (the second is registered after the first, and so compared with
it), and whether it may be taken: some are only large, and are as good as any.
"""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Hostile:
    name: str
    type: str
    texts: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.type} {self.name}"


def cases(listener: str) -> list[Hostile]:
    """`listener` is an address that a registry must never ask for anything."""
    return [*_avro(), *_json(listener), *_protobuf()]


def _avro() -> list[Hostile]:
    return [
        Hostile("over a megabyte", "AVRO", (_record(fields=40_000),)),
        Hostile("100,000 brackets", "AVRO", ("[" * 100_000,)),
        Hostile("arrays in arrays", "AVRO", ('{"type":"array","items":' * 30_000,)),
        Hostile("closed arrays in arrays", "AVRO", (_nested_arrays(20_000),)),
        Hostile("objects in objects", "AVRO", ('{"type":' * 50_000 + '"int"' + "}" * 50_000,)),
        Hostile("a record in itself", "AVRO", (_LIST, _LIST.replace("null", "null"))),
        Hostile("two records in each other", "AVRO", (_PAIR,)),
        Hostile("10,000 fields", "AVRO", (_record(10_000), _record(10_001))),
        Hostile("5,000 branches", "AVRO", (_union(5_000), _union(5_001))),
        Hostile("5,000 branches in another order", "AVRO", (_union(5_000), _union(5_000, -1))),
        Hostile("50,000 symbols", "AVRO", (_enum(50_000), _enum(50_001))),
        Hostile("numbers without end", "AVRO", ('{"type":"fixed","name":"F","size":1e999}',)),
        Hostile("a long number", "AVRO", ('{"type":"fixed","name":"F","size":' + "9" * 900_000,)),
        Hostile("surrogates", "AVRO", ('{"type":"record","name":"\\ud800","fields":[]}',)),
        Hostile("surrogates in words", "AVRO", ('{"type":"int","doc":"\\ud800"}',)),
        Hostile("surrogates in properties", "AVRO", ('{"type":"int","\\udfff":"\\ud800x"}',)),
        Hostile("a deep default", "AVRO", (_deep_default(5_000),)),
    ]


def _record(fields: int) -> str:
    listed = [{"name": f"field{number}", "type": "int", "default": 0} for number in range(fields)]
    return json.dumps({"type": "record", "name": "R", "fields": listed}, separators=(",", ":"))


def _nested_arrays(depth: int) -> str:
    return '{"type":"array","items":' * depth + '"int"' + "}" * depth


_LIST = json.dumps(
    {
        "type": "record",
        "name": "L",
        "fields": [{"name": "next", "type": ["null", "L"], "default": None}],
    }
)
_PAIR = json.dumps(
    {
        "type": "record",
        "name": "A",
        "fields": [
            {
                "name": "b",
                "type": {
                    "type": "record",
                    "name": "B",
                    "fields": [{"name": "a", "type": ["null", "A"]}, {"name": "b", "type": "B"}],
                },
            }
        ],
    }
)


def _union(branches: int, step: int = 1) -> str:
    records = [
        {"type": "record", "name": f"B{it}", "fields": [{"name": "x", "type": "int"}]}
        for it in range(branches)
    ]
    return json.dumps(records[::step], separators=(",", ":"))


def _enum(symbols: int) -> str:
    return json.dumps({"type": "enum", "name": "E", "symbols": [f"S{it}" for it in range(symbols)]})


def _deep_default(depth: int) -> str:
    deep = "[" * depth + "]" * depth
    field = '{"name":"x","type":{"type":"array","items":"int"},"default":' + deep + "}"
    return '{"type":"record","name":"D","fields":[' + field + "]}"


def _json(listener: str) -> list[Hostile]:
    return [
        Hostile("over a megabyte", "JSON", (_properties(60_000),)),
        Hostile("100,000 brackets", "JSON", ("[" * 100_000,)),
        Hostile("not in not", "JSON", ('{"not":' * 50_000 + "{}" + "}" * 50_000,)),
        Hostile("properties in properties", "JSON", (_deep_properties(10_000),)),
        Hostile("itself", "JSON", ('{"$ref":"#"}', '{"$ref":"#","title":"again"}')),
        Hostile("two in each other", "JSON", (_MUTUAL, _MUTUAL.replace('"x"', '"y"'))),
        Hostile("all of itself", "JSON", ('{"allOf":[{"$ref":"#"},{"$ref":"#"}]}',)),
        Hostile("a doubling chain", "JSON", (_chain(200), _chain(200, "integer"))),
        Hostile("10,000 properties", "JSON", (_properties(10_000), _properties(10_001))),
        Hostile("5,000 of one", "JSON", (_one_of(5_000), _one_of(5_000, -1))),
        Hostile("5,000 of any", "JSON", (_one_of(5_000, 1, "anyOf"), _one_of(5_001, 1, "anyOf"))),
        Hostile("5,000 of all", "JSON", (_one_of(5_000, 1, "allOf"), _one_of(5_001, 1, "allOf"))),
        Hostile("an endless expression", "JSON", (_pattern("(a+)+$"), _pattern("(a|aa)+$"))),
        Hostile("a broken expression", "JSON", (_pattern("(" * 5_000),)),
        Hostile("a wide expression", "JSON", (_pattern("(x{1000}){1000}" * 20),)),
        Hostile("50,000 values", "JSON", (_values(50_000), _values(49_999))),
        Hostile("numbers without end", "JSON", ('{"minimum":1e999,"maxLength":1e400}',)),
        Hostile("surrogates", "JSON", ('{"title":"\\ud800","properties":{"\\udfff":{}}}',)),
        Hostile("somebody else's schema", "JSON", (json.dumps({"$ref": f"{listener}/s.json"}),)),
        Hostile("a file", "JSON", ('{"$ref":"file:///etc/passwd"}',)),
        Hostile("a strange dialect", "JSON", (json.dumps({"$schema": f"{listener}/dialect"}),)),
    ]


def _properties(count: int) -> str:
    wanted = {f"p{it}": {"type": "integer"} for it in range(count)}
    return json.dumps({"type": "object", "properties": wanted}, separators=(",", ":"))


def _deep_properties(depth: int) -> str:
    return '{"properties":{"a":' * depth + "{}" + "}}" * depth


_MUTUAL = json.dumps(
    {
        "definitions": {
            "x": {"properties": {"a": {"$ref": "#/definitions/z"}}},
            "z": {"properties": {"a": {"$ref": "#/definitions/x"}}},
        },
        "$ref": "#/definitions/x",
    }
)


def _chain(length: int, kind: str = "string") -> str:
    """Each link has the next one twice: a small graph, but a tree of 2^length."""
    links: dict[str, Any] = {
        f"d{it}": {
            "properties": {
                "l": {"$ref": f"#/definitions/d{it + 1}"},
                "r": {"$ref": f"#/definitions/d{it + 1}"},
            }
        }
        for it in range(length)
    }
    links[f"d{length}"] = {"type": kind}
    return json.dumps({"definitions": links, "$ref": "#/definitions/d0"})


def _one_of(count: int, step: int = 1, word: str = "oneOf") -> str:
    branches = [
        {"type": "object", "required": [f"k{it}"], "properties": {f"k{it}": {"const": it}}}
        for it in range(count)
    ]
    return json.dumps({word: branches[::step]}, separators=(",", ":"))


def _pattern(expression: str) -> str:
    victim = "a" * 40 + "!"
    return json.dumps(
        {
            "type": "object",
            "properties": {"s": {"type": "string", "pattern": expression, "default": victim}},
            "patternProperties": {expression: {"type": "string"}},
            "examples": [{"s": victim, victim: victim}],
        }
    )


def _values(count: int) -> str:
    return json.dumps({"enum": [{"v": it} for it in range(count)]}, separators=(",", ":"))


def _protobuf() -> list[Hostile]:
    return [
        Hostile("over a megabyte", "PROTOBUF", (_message(60_000),)),
        Hostile("messages in messages", "PROTOBUF", (_deep_messages(20_000),)),
        Hostile("brackets", "PROTOBUF", ("message M { option x = " + "{a:" * 100_000,)),
        Hostile("a message in itself", "PROTOBUF", (_PROTO + "message M { M m = 1; }",)),
        Hostile("10,000 fields", "PROTOBUF", (_message(10_000), _message(10_001))),
        Hostile("5,000 of one", "PROTOBUF", (_oneof(5_000), _oneof(5_001))),
        Hostile("20,000 values", "PROTOBUF", (_proto_enum(20_000), _proto_enum(19_999))),
        Hostile("5,000 messages", "PROTOBUF", (_messages(5_000), _messages(5_000, -1))),
        Hostile("an endless comment", "PROTOBUF", ("/*" + "*" * 900_000,)),
        Hostile("an endless string", "PROTOBUF", ('syntax = "' + "\\" * 900_001,)),
        Hostile("somebody else's file", "PROTOBUF", (_PROTO + 'import "../../../etc/passwd";',)),
        Hostile("NUL", "PROTOBUF", (_PROTO + "message M { int32 \0 = 1; }",)),
        Hostile(
            "large numbers", "PROTOBUF", (_PROTO + f"message M {{ int32 a = {'9' * 5000}; }}",)
        ),
        Hostile("wide reserves", "PROTOBUF", (_reserved(20_000), _reserved(19_999))),
    ]


_PROTO = 'syntax = "proto3"; '


def _message(fields: int) -> str:
    listed = "".join(f"int32 f{it} = {it + 1 + 1000 * (it >= 18_000)};" for it in range(fields))
    return f"{_PROTO}message M {{ {listed} }}"


def _deep_messages(depth: int) -> str:
    return _PROTO + "".join(f"message M{it} {{" for it in range(depth)) + "}" * depth


def _oneof(branches: int) -> str:
    listed = "".join(f"int32 f{it} = {it + 1};" for it in range(branches))
    return f"{_PROTO}message M {{ oneof o {{ {listed} }} }}"


def _proto_enum(values: int) -> str:
    return f"{_PROTO}enum E {{ " + "".join(f"V{it} = {it};" for it in range(values)) + " }"


def _messages(count: int, step: int = 1) -> str:
    listed = [f"message M{it} {{ M{(it + 1) % count} m = 1; }}" for it in range(count)]
    return _PROTO + " ".join(listed[::step])


def _reserved(count: int) -> str:
    numbers = ",".join(str(2 * it + 20) for it in range(count))
    return f"{_PROTO}message M {{ reserved {numbers}; int32 a = 1; }}"
