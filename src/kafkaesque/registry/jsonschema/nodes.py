"""A schema as the comparison sees it: the keywords that count in its draft, with children at hand.

A node is known by its identity: one per place in a document, however often it is referred to. Made
nodes (a schema without one of its keywords, a type alone) are kept too, so that the same one is
never made twice and a comparison that comes back to it knows it again.

    own        what a schema says itself: without $ref and allOf, whose schemas stand beside it
    parts      the own nodes of a schema, of all it refers to and of its allOf: together they are it
    fence      unevaluatedProperties, said as additionalProperties over all names that are evaluated
Above: facts.py, compare*.py. Below: references.py (which makes the first ones), drafts.py.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from kafkaesque.registry.jsonschema.drafts import IN_PLACE, IN_PLACE_MAPS, REFERENCES, Draft

CONDITIONAL = ("anyOf", "oneOf", *IN_PLACE, *IN_PLACE_MAPS)
"""In-place keywords other than allOf: what they evaluate depends on the value."""


@dataclass(eq=False, slots=True)
class Node:
    words: dict[str, Any]
    draft: Draft
    targets: dict[str, "Node"] = field(default_factory=dict)
    """Where this node's own references lead, by keyword."""
    children: "dict[int, Node]" = field(default_factory=dict)
    """All nodes of the schema and its references, by the identity of their JSON. Shared."""
    never: bool = False
    made: "dict[object, Node]" = field(default_factory=dict)
    listed: list[dict[object, Any]] | None = None
    """The values of enum and const by their keys: long lists are looked at often."""

    def child(self, raw: dict[str, Any] | bool) -> "Node":
        if isinstance(raw, bool):
            return TRUE if raw else FALSE
        return self.children[id(raw)]

    def one(self, word: str) -> "Node | None":
        return self.child(self.words[word]) if word in self.words else None

    def several(self, word: str) -> "list[Node]":
        return [self.child(raw) for raw in self.words.get(word, ())]

    def named(self, word: str) -> "dict[str, Node]":
        return {name: self.child(raw) for name, raw in self.words.get(word, {}).items()}

    def without(self, *words: str) -> "Node":
        """This node, less some keywords."""
        if words not in self.made:
            kept = {word: value for word, value in self.words.items() if word not in words}
            targets = {word: node for word, node in self.targets.items() if word not in words}
            self.made[words] = Node(kept, self.draft, targets, self.children)
        return self.made[words]

    def excluding(self, index: int) -> "Node":
        """That no other branch of this node's oneOf takes the value."""
        key = ("excluding", index)
        if key not in self.made:
            others = list(self.words["oneOf"])
            del others[index]
            union: dict[str, Any] = {"anyOf": others}
            self.children[id(union)] = Node(union, self.draft, {}, self.children)
            self.made[key] = Node({"not": union}, self.draft, {}, self.children)
        return self.made[key]

    def inner(self) -> "Iterator[Node]":
        """What must hold beside the node's own words: its references and its allOf."""
        yield from self.targets.values()
        yield from self.several("allOf")


TRUE = Node({}, Draft.D2020)
FALSE = Node({}, Draft.D2020, never=True)
TYPE_NODES = {
    name: Node({"type": name}, Draft.D2020)
    for name in ("null", "boolean", "integer", "number", "string", "object", "array")
}


def parts(nodes: Iterable[Node]) -> list[Node]:
    """Each node once: schemas that double at every step would grow without end otherwise."""
    seen: set[int] = set()
    found: list[Node] = []
    waiting = list(nodes)
    while waiting:
        node = waiting.pop(0)
        if id(node) in seen:
            continue
        seen.add(id(node))
        waiting.extend(node.inner())
        made = own(node)
        if made.words or made.never:
            found.append(made)
        border = fence(node, strict=False)
        if border is not None:
            found.append(border)
    return found


def own(node: Node) -> Node:
    """Items that a neighbour may have evaluated are no longer known to be fenced in."""
    if node.targets or "allOf" in node.words:
        return node.without("allOf", "unevaluatedProperties", "unevaluatedItems", *REFERENCES)
    return node.without("unevaluatedProperties") if "unevaluatedProperties" in node.words else node


def fence(node: Node, *, strict: bool) -> Node | None:
    """`strict` for a reader: names that only a branch may evaluate count as not evaluated.

    For a writer such names would be missing from what it may write, so there is no fence then.
    """
    if "unevaluatedProperties" not in node.words or "additionalProperties" in node.words:
        return None
    key = ("fence", strict)
    if key not in node.made:
        node.made[key] = _fence(node, strict=strict) or TRUE
    made = node.made[key]
    return None if made is TRUE else made


def _fence(node: Node, *, strict: bool) -> Node | None:
    names: dict[str, bool] = {}
    patterns: dict[str, bool] = {}
    for part in together(node):
        words = part.words
        if part is not node and (
            "additionalProperties" in words or "unevaluatedProperties" in words
        ):
            return None
        if not strict and any(word in words for word in CONDITIONAL):
            return None
        names.update(dict.fromkeys(words.get("properties", ()), True))
        patterns.update(dict.fromkeys(words.get("patternProperties", ()), True))
    closed = {
        "properties": names,
        "patternProperties": patterns,
        "additionalProperties": node.words["unevaluatedProperties"],
    }
    return Node(closed, node.draft, {}, node.children)


def together(node: Node) -> Iterator[Node]:
    """A node, what it refers to, its allOf, and so on: what a value must fit in any case."""
    seen: set[int] = set()
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if id(part) not in seen:
            seen.add(id(part))
            waiting.extend(part.inner())
            yield part
