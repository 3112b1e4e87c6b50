"""A condition into a closure: Subject in, True or False out, and never an exception.

A value of another kind than the filter's, or none at all, makes a condition false. The types are
compared exactly: to Python True is 1, to a filter it is not.
Above: predicate.py, index.py. Below: readers.py, conditions.py.
"""

from collections.abc import Callable
from typing import Any as Anything
from typing import TypeAlias

from kafkaesque.client.filters.conditions import (
    All,
    Any,
    Choice,
    Condition,
    Constant,
    Match,
    Negation,
    Null,
    Range,
    Relation,
)
from kafkaesque.client.filters.kinds import Kind, own_kind, scalar_kind
from kafkaesque.client.filters.readers import reader
from kafkaesque.client.filters.subject import Subject
from kafkaesque.client.filters.syntax import Scalar, Term

Test: TypeAlias = Callable[[Subject], bool]


def compiled(condition: Condition) -> Test:
    match condition:
        case Constant(value):
            return lambda subject: value
        case Choice(term, values):
            return _choice(term, values)
        case Range():
            return _range(condition)
        case Null(term):
            read = reader(term, as_text=False)
            return lambda subject: read(subject) is None
        case Match(name, term, argument):
            return _match(name, term, argument)
        case Relation(operator, left, right):
            return _relation(operator, left, right)
        case Negation(inner):
            test = compiled(inner)
            return lambda subject: not test(subject)
        case All(parts):
            return _all([compiled(part) for part in parts])
        case Any(parts):
            return _any([compiled(part) for part in parts])


def _choice(term: Term, values: tuple[Scalar, ...]) -> Test:
    kind = scalar_kind(values[0])
    read = reader(term, as_text=kind is Kind.TEXT)
    wanted = frozenset(values)
    only = values[0] if len(values) == 1 else None
    if kind is Kind.TEXT:
        if only is not None:
            return lambda subject: bool(read(subject) == only)

        def among_texts(subject: Subject) -> bool:
            found = read(subject)
            return type(found) is str and found in wanted

        return among_texts
    if kind is Kind.BOOLEAN:

        def among_booleans(subject: Subject) -> bool:
            found = read(subject)
            return type(found) is bool and found in wanted

        return among_booleans

    def among_numbers(subject: Subject) -> bool:
        found = read(subject)
        return (type(found) is int or type(found) is float) and found in wanted

    return among_numbers


def _range(span: Range) -> Test:
    text = isinstance(span.low if span.low is not None else span.high, str)
    read = reader(span.term, as_text=text)
    holds = _between(span)
    if text:

        def text_within(subject: Subject) -> bool:
            found = read(subject)
            return type(found) is str and holds(found)

        return text_within

    def number_within(subject: Subject) -> bool:
        found = read(subject)
        return (type(found) is int or type(found) is float) and holds(found)

    return number_within


def _between(span: Range) -> Callable[[Anything], bool]:
    low: Anything = span.low
    high: Anything = span.high
    if low is None:
        return (lambda found: found < high) if span.high_open else (lambda found: found <= high)
    if high is None:
        return (lambda found: found > low) if span.low_open else (lambda found: found >= low)
    if span.low_open:
        if span.high_open:
            return lambda found: low < found < high
        return lambda found: low < found <= high
    if span.high_open:
        return lambda found: low <= found < high
    return lambda found: low <= found <= high


def _match(name: str, term: Term, argument: Term) -> Test:
    read = reader(term, as_text=True)
    part = reader(argument, as_text=True)

    def matches(subject: Subject) -> bool:
        found = read(subject)
        wanted = part(subject)
        if type(found) is not str or type(wanted) is not str:
            return False
        if name == "startswith":
            return found.startswith(wanted)
        return found.endswith(wanted) if name == "endswith" else wanted in found

    return matches


def _relation(operator: str, left: Term, right: Term) -> Test:
    as_text = Kind.TEXT in (own_kind(left), own_kind(right))
    read_left = reader(left, as_text=as_text)
    read_right = reader(right, as_text=as_text)

    def related(subject: Subject) -> bool:
        one, other = read_left(subject), read_right(subject)
        kind = type(one)
        if kind is int or kind is float:
            if type(other) is not int and type(other) is not float:
                return False
        elif (kind is not str and kind is not bool) or type(other) is not kind:
            return False
        if operator == "==":
            return bool(one == other)
        if kind is bool:
            return False
        return bool(one < other) if operator == "<" else bool(one <= other)

    return related


def _all(tests: list[Test]) -> Test:
    if len(tests) == 2:
        first, second = tests
        return lambda subject: first(subject) and second(subject)

    def every(subject: Subject) -> bool:
        for test in tests:  # noqa: SIM110  # a generator costs more than the tests
            if not test(subject):
                return False
        return True

    return every


def _any(tests: list[Test]) -> Test:
    if len(tests) == 2:
        first, second = tests
        return lambda subject: first(subject) or second(subject)

    def some(subject: Subject) -> bool:
        for test in tests:  # noqa: SIM110
            if test(subject):
                return True
        return False

    return some
