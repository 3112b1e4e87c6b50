"""A tree into its meaning: the same text for the same meaning, as far as that is cheap.

- == and in become Choice, comparisons with a literal Range; literals move to the right.
- not moves inwards, down to single conditions. It does not turn < into >=: both are false of a
  record without the field, and not makes either true.
- Parts of and / or are flattened, sorted, and freed of doubles; on one term, choices and ranges
  are merged.
- What can be said without a record is said: 1 < 2, lower("A").
Above: predicate.py. Below: conditions.py, syntax.py, written.py.
"""

import operator
from collections.abc import Callable, Iterable
from typing import Any as Anything

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
from kafkaesque.client.filters.merging import merged_all, merged_any
from kafkaesque.client.filters.syntax import (
    Call,
    Comparison,
    Expression,
    Field,
    Junction,
    Literal,
    Membership,
    Not,
    Scalar,
    Term,
)
from kafkaesque.client.filters.written import condition_text, term_text

_COMPARE: dict[str, Callable[[Anything, Anything], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_MATCHES: dict[str, Callable[[str, str], bool]] = {
    "startswith": str.startswith,
    "endswith": str.endswith,
    "contains": operator.contains,
}


def meaning(expression: Expression, wanted: bool = True) -> Condition:
    """The condition that holds when the expression is `wanted`."""
    match expression:
        case Not(inner):
            return meaning(inner, not wanted)
        case Junction(word, parts):
            meanings = [meaning(part, wanted) for part in parts]
            return _all(meanings) if (word == "and") is wanted else _any(meanings)
        case Comparison(sign, left, right):
            if sign == "!=":
                return _polar(_comparison("==", _plain(left), _plain(right)), not wanted)
            return _polar(_comparison(sign, _plain(left), _plain(right)), wanted)
        case Membership(term, choices, negated):
            values = (choice.value for choice in choices if choice.value is not None)
            return _polar(_choice(_plain(term), values), wanted is not negated)
        case Call("exists", arguments):
            return _polar(Null(_plain(arguments[0])), not wanted)
        case Call(name, (term, argument)):
            return _polar(_match(name, _plain(term), _plain(argument)), wanted)
        case Literal(value):
            return Constant(bool(value) is wanted)
        case Field() | Call():
            return _polar(Choice(_plain(expression), (True,)), wanted)


def _polar(condition: Condition, wanted: bool) -> Condition:
    if wanted:
        return condition
    if isinstance(condition, Constant):
        return Constant(not condition.value)
    return Negation(condition)


def _plain(term: Term) -> Term:
    """Without positions; what a function makes of a literal is a literal."""
    if isinstance(term, Field):
        return Field(term.root, term.path)
    if isinstance(term, Call):
        argument = _plain(term.arguments[0])
        if isinstance(argument, Literal):
            text = str(argument.value)
            return Literal(text.lower() if term.name == "lower" else len(text))
        return Call(term.name, (argument,))
    return Literal(None if term.value is None else _plain_scalar(term.value))


def _plain_scalar(value: Scalar) -> Scalar:
    """One way to write a number: 100.0 is 100. Beyond 64 bits it is a float, as in records."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    return value


def _comparison(sign: str, left: Term, right: Term) -> Condition:
    if isinstance(left, Literal):
        if isinstance(right, Literal):
            return Constant(_COMPARE[sign](left.value, right.value))
        left, right, sign = right, left, _MIRRORED[sign]
    if not isinstance(right, Literal):
        return _relation(sign, left, right)
    if right.value is None:
        return Null(left)
    if sign == "==":
        return Choice(left, (right.value,))
    if sign in ("<", "<="):
        return Range(left, high=right.value, high_open=sign == "<")
    return Range(left, low=right.value, low_open=sign == ">")


def _relation(sign: str, left: Term, right: Term) -> Relation:
    backwards = sign in (">", ">=") or (sign == "==" and term_text(left) > term_text(right))
    if backwards:
        return Relation(_MIRRORED[sign], right, left)
    return Relation(sign, left, right)


def _choice(term: Term, values: Iterable[Scalar]) -> Condition:
    distinct = {_plain_scalar(value) for value in values}
    if isinstance(term, Literal):
        return Constant(term.value in distinct)
    return Choice(term, tuple(sorted(distinct)))


def _match(name: str, term: Term, argument: Term) -> Condition:
    if isinstance(term, Literal) and isinstance(argument, Literal):
        return Constant(_MATCHES[name](str(term.value), str(argument.value)))
    return Match(name, term, argument)


def _all(parts: list[Condition]) -> Condition:
    flat: list[Condition] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, All) else (part,))
    kept = merged_all(part for part in flat if part != Constant(True))
    if Constant(False) in kept:
        return Constant(False)
    different = _different(kept)
    if not different:
        return Constant(True)
    return different[0] if len(different) == 1 else All(different)


def _any(parts: list[Condition]) -> Condition:
    flat: list[Condition] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Any) else (part,))
    kept = merged_any(part for part in flat if part != Constant(False))
    if Constant(True) in kept:
        return Constant(True)
    different = _different(kept)
    if not different:
        return Constant(False)
    return different[0] if len(different) == 1 else Any(different)


def _different(parts: Iterable[Condition]) -> tuple[Condition, ...]:
    by_text = {condition_text(part): part for part in parts}
    return tuple(by_text[text] for text in sorted(by_text))
