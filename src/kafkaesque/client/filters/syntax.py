"""The tree of a filter as it was written, each node with the position of its token.

Terms (Literal, Field, Call of lower or length) have a value; expressions hold or not. A term that
is a boolean may stand where an expression does. Positions do not count when nodes are compared:
conditions.py goes on using the terms. Above: grammar.py builds it. Below: nothing.
"""

from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | bool
Step: TypeAlias = str | int


@dataclass(frozen=True, slots=True)
class Literal:
    value: Scalar | None
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Field:
    """`root` is value, key, header, topic, partition, offset or timestamp; only value and header
    have a path: names, and numbers for places in an array."""

    root: str
    path: tuple[Step, ...] = ()
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    arguments: "tuple[Term, ...]"
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`position` is the operator's."""

    operator: str
    left: "Term"
    right: "Term"
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Membership:
    term: "Term"
    choices: tuple[Literal, ...]
    negated: bool
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Not:
    inner: "Expression"
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Junction:
    word: OneOf["and", "or"]
    parts: "tuple[Expression, ...]"
    position: int = field(default=0, compare=False)


Term: TypeAlias = Literal | Field | Call
Expression: TypeAlias = Term | Comparison | Membership | Not | Junction
