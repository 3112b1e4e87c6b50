"""Which part of a predicate to look it up by, and what is left to test then.

A guard is a necessary condition on one term that a table can find: a choice of values, a prefix,
a range. A predicate is held under one guard, or under one for each part of an `or`; whoever matches
the predicate also passes a guard. The best guard passes the fewest records: equality before
prefixes, before ranges with two ends, before ranges with one; of equal ones the one
whose table says that it is the least crowded.
Above: index.py. Below: conditions.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from kafkaesque.client.filters.conditions import All, Any, Choice, Condition, Match, Range
from kafkaesque.client.filters.syntax import Field, Literal, Term


@dataclass(frozen=True, slots=True)
class Prefix:
    term: Term
    text: str


Guard: TypeAlias = Choice | Prefix | Range
Cost: TypeAlias = tuple[int, float]

# Few values, many records each.
_COARSE_ROOTS = ("topic", "partition")


@dataclass(frozen=True, slots=True)
class Plan:
    """`rest` must hold too, of a record that passes one of the guards; None: they say all."""

    guards: tuple[Guard, ...]
    rest: Condition | None
    cost: Cost


def plan(condition: Condition, crowd: Callable[[Guard], float]) -> Plan | None:
    """None if nothing of it can be looked up."""
    guard = _guard(condition)
    if guard is not None:
        rest = condition if _is_half(guard) else None
        return Plan((guard,), rest, (_rank(guard), crowd(guard)))
    if isinstance(condition, Any):
        return _plan_any(condition, crowd)
    if isinstance(condition, All):
        return _plan_all(condition, crowd)
    return None


def _guard(condition: Condition) -> Guard | None:
    match condition:
        case Choice() | Range():
            return condition
        case Match("startswith", term, Literal(str(text))):
            return Prefix(term, text)
    return None


def _rank(guard: Guard) -> int:
    match guard:
        case Choice(Field(root), _) if root in _COARSE_ROOTS:
            return 3
        case Choice(_, values):
            return 4 if isinstance(values[0], bool) else 0
        case Prefix():
            return 1
        case Range(_, low, _, high, _):
            return 5 if low is None or high is None or isinstance(low, str) else 2


def _is_half(guard: Guard) -> bool:
    """Texts between two ends are looked up by the lower one."""
    return isinstance(guard, Range) and isinstance(guard.low, str) and guard.high is not None


def _plan_any(condition: Any, crowd: Callable[[Guard], float]) -> Plan | None:
    guards: list[Guard] = []
    exact = True
    cost: Cost = (0, 0.0)
    for part in condition.parts:
        planned = plan(part, crowd)
        if planned is None:
            return None
        guards.extend(planned.guards)
        exact = exact and planned.rest is None
        cost = max(cost, planned.cost)
    return Plan(tuple(guards), None if exact else condition, cost)


def _plan_all(condition: All, crowd: Callable[[Guard], float]) -> Plan | None:
    plans = [(part, plan(part, crowd)) for part in condition.parts]
    usable = [(planned.cost, part, planned) for part, planned in plans if planned is not None]
    if not usable:
        return None
    cost, part, best = min(usable, key=lambda each: each[0])
    if best.rest is not None:
        return Plan(best.guards, condition, cost)
    others = tuple(other for other in condition.parts if other is not part)
    return Plan(best.guards, others[0] if len(others) == 1 else All(others), cost)
