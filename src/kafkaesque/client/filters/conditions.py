"""What a filter means, without the accidents of how it was written.

Negation stands only around a condition on terms; ranges and choices hold one kind of value; the
parts of All and Any are sorted and different. normal.py makes them so.
Above: normal.py, compile.py, guards.py, written.py. Below: syntax.py (the terms).
"""

from dataclasses import dataclass
from typing import TypeAlias

from kafkaesque.client.filters.syntax import Scalar, Term


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
