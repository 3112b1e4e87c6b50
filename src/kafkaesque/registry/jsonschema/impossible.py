"""That no value can fit several schemas at once: where this is shown, branches exclude each other.

Found by types, by lists of values, by bounds, by a `not`, by all branches failing, and for objects
by a property that must be there and cannot: that is how unions told apart by a `kind` work. A no
here means only that nothing was shown.
Above: compare.py. Below: facts.py.
"""

from typing import TYPE_CHECKING

from kafkaesque.registry.jsonschema.compare_objects import written_property
from kafkaesque.registry.jsonschema.facts import Facts
from kafkaesque.registry.jsonschema.nodes import Node
from kafkaesque.registry.jsonschema.values import NUMBERS

if TYPE_CHECKING:
    from kafkaesque.registry.jsonschema.compare import Comparison

MAX_INSIDE = 4
"""How deep into values and branches we look."""


class Impossibility:
    def __init__(self, comparison: "Comparison") -> None:
        self._comparison = comparison
        self._known: dict[tuple[frozenset[int], int], bool] = {}

    def shown(self, nodes: tuple[Node, ...], inside: int = 0) -> bool:
        question = (frozenset(map(id, nodes)), inside)
        if question not in self._known:
            self._comparison.budget.step()
            found, free = self._comparison.grounded(
                lambda: self._show(Facts(nodes, self._comparison.budget), inside)
            )
            if found and not free:
                return True
            self._known[question] = found
        return self._known[question]

    def _show(self, facts: Facts, inside: int) -> bool:
        if all(self._type_fails(facts, name, inside) for name in facts.types):
            return True
        if facts.values is not None and not facts.values:
            return True
        if self._denied(facts):
            return True
        return inside < MAX_INSIDE and self._no_branch(facts, inside)

    def _type_fails(self, facts: Facts, name: str, inside: int) -> bool:
        if name in NUMBERS:
            low, high = facts.lower, facts.upper
            return (
                low is not None
                and high is not None
                and (
                    low.value > high.value
                    or (low.value == high.value and (low.exclusive or high.exclusive))
                )
            )
        what = {"string": "Length", "array": "Items", "object": "Properties"}.get(name)
        if what is None:
            return False
        most = facts.most(f"max{what}")
        if most is not None and facts.least(f"min{what}") > most:
            return True
        return name == "object" and self._property_fails(facts, inside)

    def _property_fails(self, facts: Facts, inside: int) -> bool:
        return inside < MAX_INSIDE and any(
            self.shown(written_property(self._comparison, facts, name).nodes, inside + 1)
            for name in sorted(facts.required)
        )

    def _denied(self, facts: Facts) -> bool:
        for index, part in enumerate(facts.parts):
            denied = part.one("not")
            if denied is not None:
                others = (*facts.parts[:index], part.without("not"), *facts.parts[index + 1 :])
                if not self._comparison.compare(others, denied):
                    return True
        return False

    def _no_branch(self, facts: Facts, inside: int) -> bool:
        for index, part in enumerate(facts.parts):
            for word in ("anyOf", "oneOf"):
                if word in part.words:
                    rest = (*facts.parts[:index], part.without(word), *facts.parts[index + 1 :])
                    if all(
                        self.shown((*rest, branch), inside + 1) for branch in part.several(word)
                    ):
                        return True
        return False
