"""JSON values as the comparison needs them: equal as JSON Schema says, and sorted into types.

`number` falls into two types that share nothing, so that sets of types can be cut and joined:
`integer` is every number without a fraction (1.0 too, in every draft), `fraction` is the others.
Above: facts.py, compare*.py. Below: nothing.
"""

from fractions import Fraction
from typing import Any

INTEGER, FRACTION = "integer", "fraction"
NUMBERS = frozenset((INTEGER, FRACTION))
ALL_TYPES = frozenset(("null", "boolean", "string", "object", "array")) | NUMBERS


def key(value: Any) -> object:
    """Equal for equal values: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, list):
        return ("array", tuple(key(item) for item in value))
    if isinstance(value, dict):
        return ("object", frozenset((name, key(item)) for name, item in value.items()))
    return value


def type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return INTEGER if value == int(value) else FRACTION
    names: dict[type, str] = {str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def types_named(named: str | list[str]) -> frozenset[str]:
    """By the keyword `type`."""
    names = [named] if isinstance(named, str) else named
    return frozenset(names) - {"number"} | (NUMBERS if "number" in names else frozenset())


def said(types: frozenset[str]) -> str:
    """For a person."""
    names = set(types) - NUMBERS
    if types & NUMBERS:
        names.add("number" if FRACTION in types else INTEGER)
    return " or ".join(sorted(names)) if types != ALL_TYPES else "anything"


def exact(number: float) -> Fraction:
    """As it is written: 0.1 is a tenth."""
    return Fraction(repr(number))


def shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
