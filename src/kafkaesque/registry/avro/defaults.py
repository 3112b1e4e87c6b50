"""Is a default a value of the field's type?

As the specification has it, in JSON: bytes and fixed as text of characters below 256; a union's
default may be of any branch (1.12; up to 1.11 only of the first); a record's fields that are left
out must have defaults of their own. Like Java, NaN and the infinities are taken as text.
Stricter than Java, which takes any text here and fails when it reads: an enum's default is one of
its symbols, a fixed's is as long as it should be.
Above: parse.py. Below: nodes.py.
"""

import sys
from collections.abc import Iterable
from typing import Any

from kafkaesque.registry.avro.json_text import dump
from kafkaesque.registry.avro.names import shortened
from kafkaesque.registry.avro.nodes import (
    NO_DEFAULT,
    Array,
    Enum,
    Fixed,
    Map,
    Node,
    Record,
    Union,
    described,
)
from kafkaesque.registry.schema_text import MAX_STEPS, InvalidSchemaError

SPECIAL_DOUBLES = ("NaN", "Infinity", "-Infinity")


class DefaultCheck:
    """Checks the defaults of one schema; what was checked once is not checked again."""

    def __init__(self) -> None:
        self._problems: dict[tuple[int, int], str | None] = {}

    def problem(self, node: Node, value: Any) -> str | None:
        """What is wrong with the default, for a person; None: nothing.

        The caller keeps node and value alive: they are remembered by identity.
        """
        pair = id(node), id(value)
        if pair not in self._problems:
            if len(self._problems) >= MAX_STEPS:
                raise InvalidSchemaError("the defaults are too large to check: make them smaller")
            # JSON cannot hold itself: who comes back here came through the defaults of fields.
            self._problems[pair] = "it would hold itself without end"
            self._problems[pair] = self._look(node, value)
        return self._problems[pair]

    def _look(self, node: Node, value: Any) -> str | None:
        match node:
            case Union():
                return self._look_at_branches(node, value)
            case Array():
                if not isinstance(value, list):
                    return _mismatch(node, value)
                return self._first(node.items, value)
            case Map():
                if not isinstance(value, dict):
                    return _mismatch(node, value)
                return self._first(node.values, value.values())
            case Record():
                return self._look_at_fields(node, value)
            case Enum():
                if isinstance(value, str) and value in node.symbols:
                    return None
                return f"{_shown(value)} is not one of the symbols of {described(node)}"
            case Fixed():
                if _is_bytes(value) and len(value) == node.size:
                    return None
                return f"{_shown(value)} is no text of {node.size} bytes, as {node.name} wants"
            case _:
                return None if _is_primitive(node.type, value) else _mismatch(node, value)

    def _first(self, node: Node, values: Iterable[Any]) -> str | None:
        return next((wrong for value in values if (wrong := self.problem(node, value))), None)

    def _look_at_branches(self, union: Union, value: Any) -> str | None:
        for branch in union.branches:
            if self.problem(branch, value) is None:
                return None
        branches = shortened(", ".join(described(branch) for branch in union.branches[:5]))
        return f"{_shown(value)} is a value of no branch of the union ({branches})"

    def _look_at_fields(self, record: Record, value: Any) -> str | None:
        if not isinstance(value, dict):
            return _mismatch(record, value)
        for field in record.fields.values():
            if field.name in value:
                if wrong := self.problem(field.node, value[field.name]):
                    return shortened(f'field "{field.name}" of {record.name}: {wrong}', 300)
            elif field.default is NO_DEFAULT:
                return f'it lacks the field "{field.name}" of {record.name}, which has no default'
            elif wrong := self.problem(field.node, field.default):
                return shortened(f'the default of "{field.name}" of {record.name}: {wrong}', 300)
        return None


def _is_primitive(type_name: str, value: Any) -> bool:
    match type_name:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "int":
            return _is_integer(value, 31)
        case "long":
            return _is_integer(value, 63)
        case "float" | "double":
            return _is_number(value) or value in SPECIAL_DOUBLES
        case "bytes":
            return _is_bytes(value)
        case _:
            return isinstance(value, str)


def _is_integer(value: Any, bits: int) -> bool:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return is_integer and -(1 << bits) <= value < 1 << bits


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) <= sys.float_info.max


def _is_bytes(value: Any) -> bool:
    return isinstance(value, str) and all(ord(letter) < 256 for letter in value)


def _mismatch(node: Node, value: Any) -> str:
    return f"{_shown(value)} is not of type {described(node)}"


def _shown(value: Any) -> str:
    return shortened(dump(value))
