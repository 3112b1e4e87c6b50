"""An Avro schema as the registry holds it: its nodes, and its texts.

Above: registry/kinds.py. Below: parse.py, canonical.py.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kafkaesque.registry.avro.canonical import canonical_text
from kafkaesque.registry.avro.json_text import TOO_DEEP
from kafkaesque.registry.avro.nodes import Node
from kafkaesque.registry.avro.parse import nodes_of
from kafkaesque.registry.schema_text import InvalidSchemaError, Referenced


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """`referenced` are the full names of the types that references define."""

    root: Node
    referenced: frozenset[str]
    canonical: str

    def normalized(self) -> str:
        return _text(self.root, self.referenced, normalized=True)

    def formatted(self, form: str) -> str:
        """As `resolved`: with the referenced types in it, so that the text stands alone."""
        return _text(self.root) if form == "resolved" else self.canonical


def parse(text: str, references: Sequence[Referenced] = ()) -> AvroSchema:
    root, referenced = nodes_of(text, references)
    return AvroSchema(root, referenced, _text(root, referenced))


def _text(root: Node, known: Iterable[str] = (), *, normalized: bool = False) -> str:
    try:
        text = canonical_text(root, known, normalized=normalized)
        text.encode()
    except RecursionError:
        raise InvalidSchemaError(TOO_DEEP) from None
    except UnicodeEncodeError:
        raise InvalidSchemaError("a text in the schema has half a surrogate pair") from None
    return text
