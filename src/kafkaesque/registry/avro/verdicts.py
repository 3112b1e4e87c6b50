"""Which pairs of nodes fit, where a union leaves a choice.

A pair fits unless something that it needs does not: all pairs that it depends on are met first,
those that fail by themselves are marked, and each failure is carried to who needs it. So recursion
is no special case, and the order of visits does not matter. (Java remembers pairs that it took for
granted within a loop, and can be wrong about them later.) Every pair is looked at once.
Above: compatibility.py. Below: branches.py, resolution.py.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import TypeAlias

from kafkaesque.registry.avro.branches import Branches
from kafkaesque.registry.avro.nodes import Node
from kafkaesque.registry.avro.resolution import Choice, Step, step
from kafkaesque.registry.schema_text import MAX_STEPS, InvalidSchemaError

Pair: TypeAlias = tuple[Node, Node]

MAX_SUPPOSED = MAX_STEPS // 4
"""Pairs to look at again on suppositions, which only spare a reader some repetition."""


class Verdicts:
    def __init__(self) -> None:
        self.branches = Branches()
        self._count = 0
        self._supposed = 0
        self._steps: dict[Pair, Step] = {}
        self._known: dict[Pair, bool] = {}

    def step(self, pair: Pair) -> Step:
        if pair not in self._steps:
            found = self._steps[pair] = step(*pair)
            self._spend(1 + len(found.below))
            for choice in found.choices:
                self._spend(1 + len(self.branches.near(choice.reader, choice.writer)))
        return self._steps[pair]

    def _spend(self, pairs: int) -> None:
        self._count += pairs
        if self._count > MAX_STEPS:
            raise InvalidSchemaError(
                f"the schemas are too large to compare: more than {MAX_STEPS} pairs of types"
            )

    def has_a_fit(self, choice: Choice) -> bool:
        return any(self._fits(pair) for pair in self._alternatives(choice, {}))

    def would_have_a_fit(self, choice: Choice, supposed: Collection[Pair]) -> bool:
        """The same, were the supposed pairs known to fit. After too many questions: no."""
        if self._supposed > MAX_SUPPOSED:
            return False
        readers: dict[Node, list[Node]] = defaultdict(list)
        for reader, writer in supposed:
            readers[writer].append(reader)
        alternatives = self._alternatives(choice, readers)
        verdicts = self._judged(alternatives, dict.fromkeys(supposed, True), readers)
        self._supposed += len(supposed) + len(verdicts)
        return any(verdicts[pair] for pair in alternatives)

    def _fits(self, pair: Pair) -> bool:
        if pair not in self._known:
            self._known.update(self._judged([pair], self._known, {}))
        return self._known[pair]

    def _judged(
        self, pairs: list[Pair], known: Mapping[Pair, bool], supposed: Mapping[Node, list[Node]]
    ) -> dict[Pair, bool]:
        """Verdicts on the pairs and all that they depend on.

        `needed_by` leads from a pair to the groups that it is in, each as (who needs it, number);
        `left` counts the pairs of a group that may still fit. Most groups are of one pair.
        """
        needed_by: dict[Pair, list[tuple[Pair, int]]] = defaultdict(list)
        left: dict[tuple[Pair, int], int] = {}
        failed: list[Pair] = []
        met = set(pairs)
        rest = list(pairs)
        while rest:
            pair = rest.pop()
            groups = self._groups(self.step(pair), supposed) if pair not in known else []
            if groups is None or not all(groups) or known.get(pair) is False:
                failed.append(pair)
                continue
            for number, group in enumerate(groups):
                left[pair, number] = len(group)
                for inner in group:
                    needed_by[inner].append((pair, number))
                rest += set(group) - met
                met.update(group)
        lost = set(failed)
        while failed:
            for need in needed_by[failed.pop()]:
                left[need] -= 1
                if not left[need] and need[0] not in lost:
                    lost.add(need[0])
                    failed.append(need[0])
        return {pair: pair not in lost for pair in met}

    def _groups(self, found: Step, supposed: Mapping[Node, list[Node]]) -> list[list[Pair]] | None:
        """Of each group one pair must fit; None: the pair itself does not."""
        if found.problems:
            return None
        below = [[(inner.reader, inner.writer)] for inner in found.below]
        return below + [self._alternatives(choice, supposed) for choice in found.choices]

    def _alternatives(self, choice: Choice, supposed: Mapping[Node, list[Node]]) -> list[Pair]:
        """`supposed` has readers for each writer: they count although their names do not fit."""
        near = self.branches.near(choice.reader, choice.writer)
        also = (
            one for one in supposed.get(choice.writer, ()) if self.branches.hold(choice.reader, one)
        )
        return [(one, choice.writer) for one in dict.fromkeys((*near, *also))]
