"""What the three kinds of schemas have in common: the words that the rest of the registry uses.

Each kind is a package (avro/, jsonschema/, protobuf/) with two functions:

    parse(text, references) -> ParsedSchema       raises InvalidSchemaError
    incompatibilities(reader, writer) -> list[Incompatibility]
        what keeps `reader` from reading what `writer` wrote; nothing: it can

Schemas come from strangers: both functions end in bounded time and memory, whatever they are given.
Pure. Above: kinds.py, subjects.py. Below: nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

MAX_TEXT_BYTES = 1 << 20
MAX_DEPTH = 100
"""How deep a schema may be nested: deeper than any that people write, shallow enough to recurse."""
MAX_STEPS = 200_000
"""How many pairs of parts a comparison may look at."""


class SchemaType(StrEnum):
    AVRO = "AVRO"
    JSON = "JSON"
    PROTOBUF = "PROTOBUF"


class InvalidSchemaError(ValueError):
    """A text that is no schema, or one that we do not take; the message says why and where."""


@dataclass(frozen=True, slots=True)
class Referenced:
    """A schema that another one refers to: `name` is what that one calls it."""

    name: str
    text: str
    references: tuple["Referenced", ...] = ()


class Incompatibility(NamedTuple):
    """`kind` is one of Confluent's names; `message` says to a person what would go wrong."""

    kind: str
    path: str
    message: str


class ParsedSchema(Protocol):
    @property
    def canonical(self) -> str:
        """The text as it is stored: the same for texts that differ in white space only."""

    def normalized(self) -> str:
        """The same for all texts that mean the same: defaults left out, order put right."""

    def formatted(self, form: str) -> str:
        """As `?format=` asks for: Avro knows "resolved", Protobuf "serialized", else canonical."""


class Parse(Protocol):
    def __call__(self, text: str, references: Sequence[Referenced]) -> ParsedSchema: ...
