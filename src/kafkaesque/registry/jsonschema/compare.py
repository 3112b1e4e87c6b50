"""Whether a reader takes every document that a writer may write, and if not, why.

The writer is several schemas that hold together (what it says of a property is the sum of what its
allOf, references, patterns and so on say); the reader is one schema, asked keyword by keyword. What
cannot be shown for the writer as a whole is tried case by case: by the branches of its anyOf or
oneOf, by its types, by the values of its enum.

The rule is soundness: no finding means that every document which the writer's schema takes, the
reader's takes too. Kinds are those of Confluent's SchemaDiff (8.x), and so are verdicts, but for:

    what                                              Confluent     here
    required name that is under no `properties`       compatible    REQUIRED_ATTRIBUTE_ADDED
    required and new with schema `true`, open writer  compatible    REQUIRED_ATTRIBUTE_ADDED
    oneOf: a value that fits two branches             compatible    COMBINED_TYPE_SUBSCHEMAS_CHANGED
    allOf to anyOf/allOf with other branches          by counting   by the branches themselves
    anyOf [integer, number] to anyOf [number]         narrowed      compatible: no value is lost
    patternProperties added or changed                not compared  *_CONTENT_MODEL at its path
    if/then/else, contains, propertyNames             not compared  compared; refused if unclear
    `format`, content*                                not compared  not compared: notes, not rules
    enum and const beside a type or a bound           TYPE_CHANGED  PRODUCT_TYPE_EXTENDED, ENUM_*
    minimum 5 to exclusiveMinimum 4, and the like     added         compatible: no value is lost
    multipleOf 0.5                                    by whole part exactly
    a property that two patterns match                first only    both

    one unsound verdict is kept: a required name that is new and has a `default` is compatible, as
    readers are expected to fill in defaults (Confluent's do). It is the usual way to add a field.

Above: __init__.py. Below: compare_scalars.py, compare_objects.py, compare_arrays.py,
compare_combined.py, impossible.py.
"""

from collections.abc import Callable, Iterator

from kafkaesque.registry.jsonschema.compare_arrays import compare_arrays
from kafkaesque.registry.jsonschema.compare_combined import compare_combined
from kafkaesque.registry.jsonschema.compare_objects import compare_objects
from kafkaesque.registry.jsonschema.compare_scalars import (
    compare_enumeration,
    compare_numbers,
    compare_strings,
    compare_types,
)
from kafkaesque.registry.jsonschema.facts import Facts
from kafkaesque.registry.jsonschema.findings import MAX_FINDINGS, Findings
from kafkaesque.registry.jsonschema.impossible import Impossibility
from kafkaesque.registry.jsonschema.memo import Budget, Memo
from kafkaesque.registry.jsonschema.nodes import TRUE, TYPE_NODES, Node, together
from kafkaesque.registry.jsonschema.sameness import Sameness, led
from kafkaesque.registry.jsonschema.values import FRACTION, INTEGER, key
from kafkaesque.registry.schema_text import Incompatibility, InvalidSchemaError

MAX_CASES = 200
"""How many branches or values a writer is taken apart into."""
_SUMS = (
    "TYPE_CHANGED",
    "SUM_TYPE_NARROWED",
    "COMBINED_TYPE_CHANGED",
    "COMBINED_TYPE_SUBSCHEMAS_CHANGED",
)
_BRANCHING = ("anyOf", "oneOf", "if", "not")

Nodes = tuple[Node, ...]


class Comparison:
    """One run: what it has found out so far, and how much it may still do."""

    def __init__(self) -> None:
        self.budget = Budget()
        self._memo: Memo[Findings] = Memo(assumed=[], budget=self.budget)
        self._sameness = Sameness(self.budget)
        self._impossibility = Impossibility(self)
        self._constants: dict[object, Node] = {}
        self.text = TYPE_NODES["string"]
        """What every name of a property is."""

    def compare(self, writer: Nodes, reader: Node) -> Findings:
        """`writer`: all of them hold. The findings' paths start at the reader."""
        reader = led(reader)
        if reader is TRUE:
            return []
        writer = tuple(dict.fromkeys(map(led, writer)))
        question = (frozenset(map(id, writer)), id(reader))
        return self._memo.answer(question, lambda: self._find(writer, reader))

    def impossible(self, nodes: Nodes) -> bool:
        """That no value fits all of them, shown for certain."""
        return self._impossibility.shown(nodes)

    def grounded(self, find: Callable[[], bool]) -> tuple[bool, bool]:
        return self._memo.grounded(find)

    def same(self, left: Node | None, right: Node | None) -> bool:
        """None: the keyword is not there."""
        if left is None or right is None:
            return left is right
        return self._sameness.same(left, right)

    def _find(self, writer: Nodes, reader: Node) -> Findings:
        if self._among(writer, reader):
            return []
        facts = Facts(writer, self.budget)
        if not facts.types:
            return []
        found = self._keywords(facts, reader)
        if not found:
            return []
        failing = self._failing_case(facts, reader)
        if failing == []:
            return []
        return (_told_by(failing, found) if failing else found)[:MAX_FINDINGS]

    def _among(self, writer: Nodes, reader: Node) -> bool:
        """Whether the reader is one of the schemas that the writer's values must fit anyway."""
        for node in writer:
            for each in together(node):
                self.budget.step()
                if self._sameness.same(each, reader):
                    return True
        return False

    def _keywords(self, facts: Facts, reader: Node) -> Findings:
        if reader.never:
            return [
                Incompatibility(
                    "TYPE_CHANGED", "", "the reader takes nothing here, the writer may write"
                )
            ]
        found: Findings = []
        for target in reader.targets.values():
            found.extend(self.compare(facts.nodes, target))
        for compare_scalar in (
            compare_types,
            compare_enumeration,
            compare_numbers,
            compare_strings,
        ):
            found.extend(compare_scalar(facts, reader))
        for compare_inside in (compare_objects, compare_arrays, compare_combined):
            found.extend(compare_inside(self, facts, reader))
        return found

    def _failing_case(self, facts: Facts, reader: Node) -> Findings | None:
        """Of the first case that the reader does not take; empty: it takes all; None: no cases."""
        found: Findings | None = None
        for case in self._cases(facts, branching=any(word in reader.words for word in _BRANCHING)):
            found = self.compare(case, reader)
            if found:
                break
        return found

    def _cases(self, facts: Facts, *, branching: bool) -> Iterator[Nodes]:
        for index, part in enumerate(facts.parts):
            for word in ("anyOf", "oneOf"):
                if 0 < len(part.words.get(word, ())) <= MAX_CASES:
                    others = tuple(facts.parts[:index] + facts.parts[index + 1 :])
                    yield from self._branches(part, word, others)
                    return
        if not branching:
            return
        if len(_split(facts.types)) > 1:
            yield from ((*facts.parts, TYPE_NODES[name]) for name in _split(facts.types))
        elif facts.values is not None and 1 < len(facts.values) <= MAX_CASES:
            yield from ((*facts.parts, self._constant(value)) for value in facts.values)

    def _branches(self, part: Node, word: str, others: Nodes) -> Iterator[Nodes]:
        rest = (*others, part.without(word))
        for index, branch in enumerate(part.several(word)):
            alone = (
                (part.excluding(index),) if word == "oneOf" and len(part.words[word]) > 1 else ()
            )
            yield (*rest, branch, *alone)

    def _constant(self, value: object) -> Node:
        return self._constants.setdefault(key(value), Node({"const": value}, TRUE.draft))


def _told_by(failing: Findings, found: Findings) -> Findings:
    """The kinds as for the whole; a finding about branches is told for the case that shows it."""
    first = next((each for each in failing if each.kind in _SUMS and not each.path), None)
    return [
        each._replace(message=first.message)
        if first and each.kind in _SUMS and not each.path
        else each
        for each in found
    ]


def _split(types: frozenset[str]) -> list[str]:
    names = set(types)
    if FRACTION in names:
        names -= {FRACTION, INTEGER}
        names.add("number")
    return sorted(names)


def compare(reader: Node, writer: Node) -> list[Incompatibility]:
    try:
        found = Comparison().compare((writer,), reader)
    except RecursionError:
        raise InvalidSchemaError(
            "the two schemas lead too deep into each other to be compared"
        ) from None
    told = {(each.kind, each.path): each for each in reversed(found)}
    return [each._replace(path=f"#{each.path or '/'}") for each in reversed(told.values())]
