"""Several conditions on one term, said as one.

    x in (1, 2) and x in (2, 3)   x == 2          x == 1 or x in (2, 3)    x in (1, 2, 3)
    x > 1 and x >= 2 and x < 9    2 <= x < 9      x > 5 and x in (1, 7)    x == 7
    x != 1 and x != 2             x not in (1, 2)

Above: normal.py. Below: conditions.py.
"""

from collections.abc import Iterable
from typing import Any

from kafkaesque.client.filters.conditions import Choice, Condition, Constant, Negation, Range
from kafkaesque.client.filters.syntax import Scalar, Term


def merged_all(parts: Iterable[Condition]) -> list[Condition]:
    choices: dict[Term, set[Scalar]] = {}
    refused: dict[Term, set[Scalar]] = {}
    ranges: dict[Term, Range] = {}
    others: list[Condition] = []
    for part in parts:
        match part:
            case Choice(term, values):
                known = choices.get(term)
                choices[term] = set(values) if known is None else known & set(values)
            case Negation(Choice(term, values)):
                refused.setdefault(term, set()).update(values)
            case Range(term):
                ranges[term] = _narrower(ranges[term], part) if term in ranges else part
            case _:
                others.append(part)
    for term, span in ranges.items():
        if term in choices:
            choices[term] = {value for value in choices[term] if within(span, value)}
        elif _is_point(span):
            assert span.low is not None
            choices[term] = {span.low}
        else:
            others.append(Constant(False) if _is_empty(span) else span)
    for term in refused.keys() & choices.keys():
        choices[term] -= refused.pop(term)
    others.extend(Negation(_choice(term, values)) for term, values in refused.items())
    others.extend(_choice(term, values) for term, values in choices.items())
    return others


def merged_any(parts: Iterable[Condition]) -> list[Condition]:
    choices: dict[Term, set[Scalar]] = {}
    others: list[Condition] = []
    for part in parts:
        if isinstance(part, Choice):
            choices.setdefault(part.term, set()).update(part.values)
        else:
            others.append(part)
    others.extend(_choice(term, values) for term, values in choices.items())
    return others


def within(span: Range, value: Any) -> bool:
    """Value and bounds are of one kind."""
    low: Any = span.low
    high: Any = span.high
    above = low is None or (value > low if span.low_open else value >= low)
    return above and (high is None or (value < high if span.high_open else value <= high))


def _choice(term: Term, values: set[Scalar]) -> Condition:
    if not values:
        return Constant(False)
    return Choice(term, tuple(sorted(values)))


def _narrower(one: Range, other: Range) -> Range:
    low, low_open = one.low, one.low_open
    if other.low is not None:
        if low is None or other.low > low:  # type: ignore[operator]
            low, low_open = other.low, other.low_open
        elif other.low == low:
            low_open = low_open or other.low_open
    high, high_open = one.high, one.high_open
    if other.high is not None:
        if high is None or other.high < high:  # type: ignore[operator]
            high, high_open = other.high, other.high_open
        elif other.high == high:
            high_open = high_open or other.high_open
    return Range(one.term, low, low_open, high, high_open)


def _is_empty(span: Range) -> bool:
    if span.low is None or span.high is None:
        return False
    return not within(span, span.low) if span.low == span.high else span.low > span.high  # type: ignore[operator]


def _is_point(span: Range) -> bool:
    return span.low is not None and span.low == span.high and not _is_empty(span)
