"""Makes a failing plan smaller: leaves out parts, as many at a time as possible, while it fails in
the same way (delta debugging).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from tests.simulation.plan import Crash, Fault, Plan, Step
from tests.simulation.world import World

Part: TypeAlias = Step | Fault | Crash

_NAMES = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f-]+)?|\b[a-z]+-\d+s?(-\d+s?)?|\bt\d\b|\d+(\.\d+)?|'[^']*'"
)


def kind(failure: str) -> str:
    """A failure without its names and numbers: two of a kind are taken for the same."""
    return _NAMES.sub("#", failure)[:90]


def shrink(plan: Plan, failure: str, known: str | None = None) -> Plan:
    """The smallest plan that could be found to fail in the same way."""
    wanted = kind(failure)

    def fails(parts: Sequence[Part]) -> bool:
        found = World(_plan(plan, parts), known).run()
        return found is not None and kind(found) == wanted

    return _plan(plan, minimized([*plan.steps, *plan.faults, *plan.crashes], fails))


def minimized(parts: list[Part], fails: Callable[[Sequence[Part]], bool]) -> list[Part]:
    size = max(len(parts) // 2, 1)
    while True:
        at, smaller = 0, False
        while at < len(parts):
            rest = parts[:at] + parts[at + size :]
            if fails(rest):
                parts, smaller = rest, True
            else:
                at += size
        if size == 1 and not smaller:
            return parts
        size = max(size // 2, 1)


def _plan(plan: Plan, parts: Sequence[Part]) -> Plan:
    return replace(
        plan,
        steps=tuple(part for part in parts if isinstance(part, Step)),
        faults=tuple(part for part in parts if isinstance(part, Fault)),
        crashes=tuple(part for part in parts if isinstance(part, Crash)),
    )
