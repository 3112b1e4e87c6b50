"""Terms and conditions as text: what `parse` reads back as the same meaning.

Two predicates are equal when this text is. Above: normal.py, predicate.py. Below: conditions.py.
"""

import re

import orjson

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
from kafkaesque.client.filters.syntax import Call, Field, Literal, Scalar, Step, Term

_PLAIN_NAME = re.compile(r"[^\W\d]\w*\Z")


def scalar_text(value: Scalar | None) -> str:
    return orjson.dumps(value).decode()


def term_text(term: Term) -> str:
    if isinstance(term, Literal):
        return scalar_text(term.value)
    if isinstance(term, Call):
        return f"{term.name}({', '.join(term_text(argument) for argument in term.arguments)})"
    return field_text(term)


def field_text(field: Field) -> str:
    return field.root + "".join(_step_text(step) for step in field.path)


def _step_text(step: Step) -> str:
    if isinstance(step, str) and _PLAIN_NAME.match(step):
        return f".{step}"
    return f"[{scalar_text(step)}]"


def condition_text(condition: Condition) -> str:
    match condition:
        case Constant(value):
            return scalar_text(value)
        case Choice(term, values):
            return _choice_text(term, values, "==", "in")
        case Range():
            return _range_text(condition)
        case Null(term):
            return f"{term_text(term)} == null"
        case Match(name, term, argument):
            return f"{name}({term_text(term)}, {term_text(argument)})"
        case Relation(operator, left, right):
            return f"{term_text(left)} {operator} {term_text(right)}"
        case Negation(inner):
            return _negation_text(inner)
        case All(parts):
            return " and ".join(
                f"({condition_text(part)})" if isinstance(part, Any) else condition_text(part)
                for part in parts
            )
        case Any(parts):
            return " or ".join(condition_text(part) for part in parts)


def _choice_text(term: Term, values: tuple[Scalar, ...], equal: str, among: str) -> str:
    if len(values) == 1:
        return f"{term_text(term)} {equal} {scalar_text(values[0])}"
    return f"{term_text(term)} {among} ({', '.join(scalar_text(value) for value in values)})"


def _range_text(span: Range) -> str:
    term = term_text(span.term)
    if span.low is None:
        return f"{term} {'<' if span.high_open else '<='} {scalar_text(span.high)}"
    if span.high is None:
        return f"{term} {'>' if span.low_open else '>='} {scalar_text(span.low)}"
    return (
        f"{scalar_text(span.low)} {'<' if span.low_open else '<='} {term}"
        f" {'<' if span.high_open else '<='} {scalar_text(span.high)}"
    )


def _negation_text(inner: Condition) -> str:
    match inner:
        case Choice(term, values):
            return _choice_text(term, values, "!=", "not in")
        case Null(term):
            return f"{term_text(term)} != null"
        case Relation("==", left, right):
            return f"{term_text(left)} != {term_text(right)}"
    return f"not {condition_text(inner)}"
