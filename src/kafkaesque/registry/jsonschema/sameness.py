"""Whether two schemas say the same: word by word, through references, notes left aside.

This is what saves unchanged schemas from rules that can prove little: conditions, exclusive
branches, patterns, unevaluated properties.
Above: compare.py. Below: memo.py, nodes.py.
"""

from typing import Any

from kafkaesque.registry.jsonschema.drafts import (
    REFERENCES,
    SCHEMA_LISTS,
    SCHEMA_MAPS,
    SCHEMAS,
    Draft,
)
from kafkaesque.registry.jsonschema.memo import Budget, Memo
from kafkaesque.registry.jsonschema.nodes import Node
from kafkaesque.registry.jsonschema.values import key

PLAIN = frozenset(
    (
        "type",
        "enum",
        "const",
        "maximum",
        "minimum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "multipleOf",
        "maxLength",
        "minLength",
        "pattern",
        "maxItems",
        "minItems",
        "uniqueItems",
        "maxContains",
        "minContains",
        "maxProperties",
        "minProperties",
        "required",
        "dependentRequired",
    )
)
_INNER = frozenset((*SCHEMAS, *SCHEMA_LISTS, *SCHEMA_MAPS, "items")) - {"definitions", "$defs"}
_SAYING = PLAIN | _INNER | frozenset(REFERENCES)


class Sameness:
    def __init__(self, budget: Budget) -> None:
        self._memo: Memo[bool] = Memo(assumed=True, budget=budget)
        self._budget = budget

    def same(self, left: Node, right: Node) -> bool:
        left, right = led(left), led(right)
        if left is right:
            return True
        if left.never != right.never or (left.draft > Draft.D7) != (right.draft > Draft.D7):
            return left.words == right.words == {} and left.never == right.never
        if _said(left) != _said(right) or (
            left.draft != right.draft and "unevaluatedItems" in left.words
        ):
            return False
        return self._memo.answer((id(left), id(right)), lambda: self._alike(left, right))

    def _alike(self, left: Node, right: Node) -> bool:
        for word in _said(left):
            if word in left.targets or word in right.targets:
                if word not in left.targets or word not in right.targets:
                    return False
                alike = self.same(left.targets[word], right.targets[word])
            elif word in PLAIN:
                alike = key(left.words[word]) == key(right.words[word])
            else:
                alike = self._inner(left, right, left.words[word], right.words[word])
            if not alike:
                return False
        return True

    def _inner(self, left: Node, right: Node, ours: Any, theirs: Any) -> bool:
        self._budget.step()
        if isinstance(ours, list) and isinstance(theirs, list):
            return len(ours) == len(theirs) and all(
                self._inner(left, right, *pair) for pair in zip(ours, theirs, strict=True)
            )
        if _is_schema(left, ours) and _is_schema(right, theirs):
            return self.same(left.child(ours), right.child(theirs))
        if isinstance(ours, dict) and isinstance(theirs, dict):
            return ours.keys() == theirs.keys() and all(
                self._inner(left, right, ours[name], theirs[name]) for name in ours
            )
        return key(ours) == key(theirs)


def _is_schema(node: Node, raw: Any) -> bool:
    return isinstance(raw, bool) or (isinstance(raw, dict) and id(raw) in node.children)


def _said(node: Node) -> frozenset[str]:
    return _SAYING & node.words.keys()


def led(node: Node) -> Node:
    """Through references that stand alone; circles of those were refused."""
    while len(node.targets) == 1 and len(_said(node)) == 1:
        (node,) = node.targets.values()
    return node
