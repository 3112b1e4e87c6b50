"""Answers to questions that lead back to themselves, as recursive schemas do.

A question that is asked again while it is being answered is taken as a yes. What was found on that
ground is kept only when the first asking came out well: else a yes would outlive its reason, and
another branch would build on it. A no needs no such care, for it holds even if all else is well.
Every question is counted, and how deep questions lie in questions: strangers write schemas.
Above: compare.py, sameness.py. Below: nothing.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from kafkaesque.registry.schema_text import MAX_DEPTH, MAX_STEPS, InvalidSchemaError

Answer = TypeVar("Answer")
_NEVER = 1 << 60


class Budget:
    def __init__(self) -> None:
        self.steps = 0
        self.depth = 0

    def step(self, weight: int = 1) -> None:
        self.steps += weight
        if self.steps > MAX_STEPS:
            raise InvalidSchemaError(
                f"the two schemas cannot be compared within {MAX_STEPS} steps: "
                "use fewer branches (anyOf, oneOf), or less that is defined twice"
            )

    def enter(self) -> None:
        self.step()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise InvalidSchemaError(
                f"the two schemas lead deeper than {MAX_DEPTH} levels, references included: "
                "they cannot be compared"
            )

    def leave(self) -> None:
        self.depth -= 1


class Memo(Generic[Answer]):
    """`assumed` is the answer that stands for yes."""

    def __init__(self, assumed: Answer, budget: Budget) -> None:
        self._assumed = assumed
        self._budget = budget
        self._known: dict[object, Answer] = {}
        self._open: dict[object, int] = {}
        self._leaned_on = _NEVER
        """The outermost open question that something since then was taken from."""

    def answer(self, question: object, find: Callable[[], Answer]) -> Answer:
        if question in self._known:
            return self._known[question]
        if question in self._open:
            self._leaned_on = min(self._leaned_on, self._open[question])
            return self._assumed
        level = len(self._open)
        before, self._leaned_on = self._leaned_on, _NEVER
        self._open[question] = level
        self._budget.enter()
        found = find()
        self._budget.leave()
        del self._open[question]
        if found != self._assumed or self._leaned_on >= level:
            self._known[question] = found
        if self._leaned_on >= level:
            self._leaned_on = _NEVER
        self._leaned_on = min(before, self._leaned_on)
        return found

    def grounded(self, find: Callable[[], bool]) -> tuple[bool, bool]:
        """What `find` finds, and whether it took no open question for answered."""
        before, self._leaned_on = self._leaned_on, _NEVER
        found = find()
        free = self._leaned_on == _NEVER
        self._leaned_on = min(before, self._leaned_on)
        return found, free
