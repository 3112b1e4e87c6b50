"""What a filter means, without the accidents of how it was written.

Negation stands only around a condition on terms; ranges and choices hold one kind of value; the
parts of All and Any are sorted and different. normal.py makes them so.
Above: normal.py, compile.py, guards.py, written.py. Below: syntax.py (the terms).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from kafkaesque.client.filters.syntax import Call, Field, Scalar, Term


@dataclass(frozen=True, slots=True)
class Constant:
    value: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """The term is one of these: == and in. Sorted, without doubles, at least one."""

    term: Term
    values: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers or texts between two bounds; one of them may be None."""

    term: Term
    low: str | int | float | None = None
    low_open: bool = False
    high: str | int | float | None = None
    high_open: bool = False


@dataclass(frozen=True, slots=True)
class Null:
    """The term is null or missing."""

    term: Term


@dataclass(frozen=True, slots=True)
class Match:
    """`name` is startswith, endswith or contains."""

    name: str
    term: Term
    argument: Term


@dataclass(frozen=True, slots=True)
class Relation:
    """Between two terms of which neither is a literal: ==, < or <=."""

    operator: str
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Negation:
    inner: "Condition"


@dataclass(frozen=True, slots=True)
class All:
    parts: "tuple[Condition, ...]"


@dataclass(frozen=True, slots=True)
class Any:
    parts: "tuple[Condition, ...]"


Condition: TypeAlias = Constant | Choice | Range | Null | Match | Relation | Negation | All | Any


def fields(condition: Condition) -> Iterator[Field]:
    """What it reads of a record, each as often as it stands there."""
    match condition:
        case Constant():
            return
        case Choice(term) | Range(term) | Null(term):
            yield from _fields_of(term)
        case Match(_, left, right) | Relation(_, left, right):
            yield from _fields_of(left)
            yield from _fields_of(right)
        case Negation(inner):
            yield from fields(inner)
        case All(parts) | Any(parts):
            for part in parts:
                yield from fields(part)


def _fields_of(term: Term) -> Iterator[Field]:
    if isinstance(term, Field):
        yield term
    elif isinstance(term, Call):
        for argument in term.arguments:
            yield from _fields_of(argument)
