"""The parts of an Avro schema: what parse.py makes of the JSON.

A schema is a tree of nodes in which a named type may be met again: then it is the same object, so
recursive records are loops. Nodes are told apart by identity, never compared by content, and have
no repr of their own: it could be endless.

    Primitive | Array | Map | Union | Record | Enum | Fixed

`props` holds what Avro gives no meaning to, in the order of the text, logical types among them:
`logical` says which one is in force (an invalid one is not, and the plain type counts).
Above: parse.py, defaults.py, canonical.py, compatibility.py. Below: nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum as PythonEnum
from typing import Any, Final, TypeAlias

PRIMITIVES: Final = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


class NoDefault(PythonEnum):
    """A field without a default, which differs from one whose default is null."""

    NO_DEFAULT = "no default"


NO_DEFAULT: Final = NoDefault.NO_DEFAULT


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Primitive:
    type: str
    logical: str | None = None
    props: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Array:
    items: "Node"
    props: Mapping[str, Any] = field(default_factory=dict)
    type: str = "array"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Map:
    values: "Node"
    props: Mapping[str, Any] = field(default_factory=dict)
    type: str = "map"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Union:
    branches: tuple["Node", ...]
    type: str = "union"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Fixed:
    name: str
    size: int
    doc: str | None = None
    aliases: tuple[str, ...] = ()
    logical: str | None = None
    props: Mapping[str, Any] = field(default_factory=dict)
    type: str = "fixed"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Enum:
    """`symbols` are the keys, in order: there may be many to look up."""

    name: str
    symbols: Mapping[str, None]
    default: str | None = None
    doc: str | None = None
    aliases: tuple[str, ...] = ()
    props: Mapping[str, Any] = field(default_factory=dict)
    type: str = "enum"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Field:
    name: str
    node: "Node"
    doc: str | None
    default: Any
    order: str
    aliases: tuple[str, ...]
    props: Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Record:
    """`fields` is filled while the record is parsed: a field may already name the record."""

    name: str
    is_error: bool = False
    doc: str | None = None
    aliases: tuple[str, ...] = ()
    props: Mapping[str, Any] = field(default_factory=dict)
    fields: dict[str, Field] = field(default_factory=dict)
    type: str = "record"


Named: TypeAlias = Record | Enum | Fixed
Node: TypeAlias = Primitive | Array | Map | Union | Named


def branch_name(node: Node) -> str:
    """What a union knows a branch by: the full name of a named type, else the type."""
    return node.name if isinstance(node, Record | Enum | Fixed) else node.type


def described(node: Node) -> str:
    """The node in a sentence: `int`, `record shop.Tick`."""
    return f"{node.type} {node.name}" if isinstance(node, Record | Enum | Fixed) else node.type
