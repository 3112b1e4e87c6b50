"""A schema's text to JsonSchema: checked, linked, and in the forms that the registry stores.

    canonical     without white space, keys in the order in which they were written
    normalized    the same, keys sorted: what Confluent's registry does for JSON, no more (`true`
                  and `{}`, the order in `required` and so on stay as they are)
    resolved      references within: every referenced document under $defs (up to draft 7:
                  definitions), by its name, and each $ref that led there pointed at it
Above: __init__.py. Below: loading.py, references.py, resolved.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kafkaesque.registry.jsonschema.drafts import Draft
from kafkaesque.registry.jsonschema.loading import Schema, compact, load
from kafkaesque.registry.jsonschema.nodes import Node
from kafkaesque.registry.jsonschema.references import Links, link
from kafkaesque.registry.jsonschema.resolved import resolved
from kafkaesque.registry.schema_text import Referenced


@dataclass(frozen=True, slots=True, eq=False)
class JsonSchema:
    canonical: str
    root: Schema
    links: Links

    @property
    def draft(self) -> Draft:
        return self.links.resources[0].document.draft

    @property
    def node(self) -> Node:
        return self.links.node(self.root)

    def normalized(self) -> str:
        return compact(self.root, sort=True)

    def formatted(self, form: str) -> str:
        """Knows "resolved"; any other form is the canonical text."""
        if form == "resolved" and len(self.links.resources) > 1 and isinstance(self.root, dict):
            return compact(resolved(self.root, self.links))
        return self.canonical


def parse(text: str, references: Sequence[Referenced] = ()) -> JsonSchema:
    document = load(text)
    return JsonSchema(compact(document.root), document.root, link(document, references))
