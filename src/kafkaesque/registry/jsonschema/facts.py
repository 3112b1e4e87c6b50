"""What is known of the values that a writer may write: several schemas, all of which hold.

Everything here errs to one side only: a fact may be weaker than the truth (a type too many, a bound
too wide), never stronger. So what follows from the facts holds for every document.
Above: compare*.py, impossible.py. Below: memo.py (Budget), nodes.py, values.py.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from kafkaesque.registry.jsonschema.drafts import Draft
from kafkaesque.registry.jsonschema.memo import Budget
from kafkaesque.registry.jsonschema.nodes import FALSE, Node, parts
from kafkaesque.registry.jsonschema.values import (
    ALL_TYPES,
    FRACTION,
    exact,
    key,
    type_of,
    types_named,
)

MAX_TYPE_DEPTH = 20
"""How far branches within branches are followed for their types."""


class Bound(NamedTuple):
    value: float
    exclusive: bool


class Facts:
    """`nodes` as they were given; `parts` as they fall apart."""

    def __init__(self, nodes: tuple[Node, ...], budget: Budget) -> None:
        self.nodes = nodes
        self.parts = parts(nodes)
        self._budget = budget
        budget.step(len(self.parts))

    @cached_property
    def types(self) -> frozenset[str]:
        found = types_of(self.parts, 0, self._budget)
        if self._listed is not None:
            found &= frozenset(type_of(value) for value in self._listed)
        return found

    @cached_property
    def _listed(self) -> list[Any] | None:
        """By enum and const alone."""
        found: dict[object, Any] | None = None
        for part in self.parts:
            for fresh in listed(part):
                self._budget.step(len(fresh))
                found = fresh if found is None else {k: v for k, v in found.items() if k in fresh}
        return None if found is None else list(found.values())

    @cached_property
    def values(self) -> list[Any] | None:
        """All that may be written, where that is a list."""
        if self._listed is not None:
            return [value for value in self._listed if type_of(value) in self.types]
        few: dict[str, list[Any]] = {"null": [None], "boolean": [False, True]}
        if self.types <= few.keys():
            return [value for name in sorted(self.types) for value in few[name]]
        return None

    @cached_property
    def upper(self) -> Bound | None:
        bounds = [bound for part in self.parts for bound in bounds_of(part, "maximum")]
        listed = self._measures(type_of_number)
        if listed:
            bounds.append(Bound(max(listed), exclusive=False))
        return min(bounds, key=lambda bound: (bound.value, not bound.exclusive), default=None)

    @cached_property
    def lower(self) -> Bound | None:
        bounds = [bound for part in self.parts for bound in bounds_of(part, "minimum")]
        listed = self._measures(type_of_number)
        if listed:
            bounds.append(Bound(min(listed), exclusive=False))
        return max(bounds, key=lambda bound: (bound.value, bound.exclusive), default=None)

    def multiple_of(self, step: Fraction) -> bool:
        if self.values is not None:
            return all(exact(number) % step == 0 for number in self._measures(type_of_number) or ())
        steps = [
            exact(part.words["multipleOf"]) for part in self.parts if "multipleOf" in part.words
        ]
        if FRACTION not in self.types:
            steps.append(Fraction(1))
        return any(known % step == 0 for known in steps)

    def most(self, word: str) -> int | None:
        """The strictest of maxLength, maxItems or maxProperties, or what the shape allows."""
        counts = [part.words[word] for part in self.parts if word in part.words]
        counts.extend(self._sizes(word, max))
        if word == "maxItems":
            counts.extend(len(rows) for rows, rest in map(rows_of, self.parts) if rest is FALSE)
        if word == "maxProperties":
            counts.extend(
                len(part.words.get("properties", ())) for part in self.parts if closed(part)
            )
        return min(counts, default=None)

    def least(self, word: str) -> int:
        counts = [part.words[word] for part in self.parts if word in part.words]
        counts.extend(self._sizes(word, min))
        if word == "minProperties":
            counts.append(len(self.required))
        return max(counts, default=0)

    def _sizes(self, word: str, pick: Callable[[list[int]], int]) -> Iterator[int]:
        kind: type[Any] = {"Length": str, "Items": list, "Properties": dict}[word[3:]]
        sizes = self._measures(lambda value: len(value) if isinstance(value, kind) else None)
        if sizes:
            yield pick(sizes)

    def _measures(self, measure: Callable[[Any], Any]) -> list[Any] | None:
        if self.values is None:
            return None
        return [size for size in map(measure, self.values) if size is not None]

    @cached_property
    def required(self) -> frozenset[str]:
        return frozenset(name for part in self.parts for name in part.words.get("required", ()))

    def has(self, word: str) -> bool:
        return any(word in part.words for part in self.parts)


def type_of_number(value: Any) -> float | None:
    """The value itself, where it is a number."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def types_of(found: list[Node], depth: int, budget: Budget) -> frozenset[str]:
    types = ALL_TYPES
    for part in found:
        if part.never:
            return frozenset()
        if "type" in part.words:
            types &= types_named(part.words["type"])
        for values in listed(part):
            types &= frozenset(type_of(value) for value in values.values())
        if depth < MAX_TYPE_DEPTH:
            types &= _branch_types(part, depth, budget)
    return types


def _branch_types(part: Node, depth: int, budget: Budget) -> frozenset[str]:
    types = ALL_TYPES
    for word in ("anyOf", "oneOf"):
        if word in part.words:
            joined: frozenset[str] = frozenset()
            for branch in part.several(word):
                budget.step()
                joined |= types_of(parts([branch]), depth + 1, budget)
                if joined == ALL_TYPES:
                    break
            types &= joined
    denied = part.words.get("not")
    if isinstance(denied, dict) and denied.keys() == {"type"}:
        types -= types_named(denied["type"])
    return types


def listed(part: Node) -> list[dict[object, Any]]:
    if part.listed is None:
        lists = [part.words["enum"]] if "enum" in part.words else []
        lists += [[part.words["const"]]] if "const" in part.words else []
        part.listed = [{key(value): value for value in values} for values in lists]
    return part.listed


def bounds_of(part: Node, word: str) -> list[Bound]:
    """`word` is minimum or maximum. In draft 4 the exclusive one says how the other is meant."""
    exclusive = "exclusive" + word.capitalize()
    words = part.words
    found = []
    if word in words:
        found.append(Bound(words[word], exclusive=words.get(exclusive) is True))
    if exclusive in words and not isinstance(words[exclusive], bool):
        found.append(Bound(words[exclusive], exclusive=True))
    return found


def rows_of(part: Node, *, strict: bool = False) -> tuple[list[Node], Node | None]:
    """The schemas of the first items, and of all after them; None: anything.

    `strict` for a reader: an item that only a neighbour may evaluate counts as not evaluated.
    """
    words = part.words
    if part.draft is Draft.D2020:
        rows, rest = part.several("prefixItems"), part.one("items")
    elif isinstance(words.get("items"), list):
        rows, rest = part.several("items"), part.one("additionalItems")
    else:
        rows, rest = [], part.one("items")
    if rest is None and (strict or _items_are_plain(part)):
        rest = part.one("unevaluatedItems")
    return rows, rest


def _items_are_plain(part: Node) -> bool:
    """No neighbour may have evaluated an item."""
    return not any(
        word in part.words
        for word in ("anyOf", "oneOf", "if", "not", "contains", "dependentSchemas")
    )


def closed(part: Node) -> bool:
    return part.words.get("additionalProperties") is False and not part.words.get(
        "patternProperties"
    )
