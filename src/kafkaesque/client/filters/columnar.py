"""A filter over columns: which of many records match, in one go.

`mask(predicate, columns)` is exactly what `Predicate.matches` says of each record, or None if that
cannot be known from the columns: then ask record by record. Whole numbers are compared as such: a
bound that is none is moved to the next whole number, one beyond 64 bits holds for all or for none.
Texts are ordered by code points, which is the order of their UTF-8 bytes.
Needs the extra [columns], and is imported by those who have it.
Above: whoever reads many records. Below: column_terms.py, conditions.py, pyarrow.
"""

import math
from functools import reduce
from typing import Any as Anything

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaesque.client.filters.column_terms import (
    EXACT,
    Columns,
    Mask,
    NotColumnarError,
    Sort,
    TermColumn,
    term_column,
)
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
from kafkaesque.client.filters.predicate import Predicate
from kafkaesque.client.filters.syntax import Literal, Scalar, Term

__all__ = ["Columns", "mask"]

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_NUMBERS = {"==": np.equal, "<": np.less, "<=": np.less_equal}
_TEXTS = {"==": pc.equal, "<": pc.less, "<=": pc.less_equal}
_MATCHES = {
    "startswith": pc.starts_with,
    "endswith": pc.ends_with,
    "contains": pc.match_substring,
}


def mask(predicate: Predicate, columns: Columns) -> Mask | None:
    """Which records match; None: not to be told from columns."""
    try:
        return _mask(predicate.condition, columns)
    except NotColumnarError:
        return None


def _mask(condition: Condition, columns: Columns) -> Mask:
    match condition:
        case Constant(value):
            return np.full(columns.records.num_rows, value, np.bool_)
        case Choice(term, values):
            return _choice(_known(term, columns), values)
        case Range():
            return _range(_known(condition.term, columns), condition)
        case Null(term):
            return term_column(term, columns).null
        case Match(name, term, Literal(str(text))):
            return _match(_known(term, columns), name, text)
        case Match():
            raise NotColumnarError
        case Relation(operator, left, right):
            return _relation(operator, _known(left, columns), _known(right, columns))
        case Negation(inner):
            return ~_mask(inner, columns)
        case All(parts):
            return reduce(np.logical_and, [_mask(part, columns) for part in parts])
        case Any(parts):
            return reduce(np.logical_or, [_mask(part, columns) for part in parts])


def _known(term: Term, columns: Columns) -> TermColumn:
    found = term_column(term, columns)
    if found.sort is Sort.OPAQUE:
        raise NotColumnarError
    return found


def _choice(column: TermColumn, values: tuple[Scalar, ...]) -> Mask:
    first = values[0]
    if isinstance(first, str):
        if column.sort is not Sort.TEXT:
            return _none(column)
        return _filled(pc.is_in(column.values, pa.array(values, pa.string())))
    if isinstance(first, bool):
        if column.sort is not Sort.BOOLEAN:
            return _none(column)
        return np.isin(column.values, values) & ~column.null
    if column.sort is Sort.WHOLE:
        wanted = [v for v in values if isinstance(v, int) and _LOWEST <= v <= _HIGHEST]
        return np.isin(column.values, np.array(wanted, np.int64)) & ~column.null
    if column.sort is Sort.REAL:
        small = [float(v) for v in values if not isinstance(v, str) and abs(v) < EXACT]
        return np.isin(column.values, np.array(small, np.float64)) & ~column.null
    return _none(column)


def _range(column: TermColumn, span: Range) -> Mask:
    if isinstance(span.low if span.low is not None else span.high, str):
        return _text_range(column, span) if column.sort is Sort.TEXT else _none(column)
    if column.sort not in (Sort.WHOLE, Sort.REAL):
        return _none(column)
    found = ~column.null
    low: Anything = span.low
    high: Anything = span.high
    if column.sort is Sort.REAL:
        if low is not None:
            found &= column.values > low if span.low_open else column.values >= low
        if high is not None:
            found &= column.values < high if span.high_open else column.values <= high
        return found
    if low is not None:
        found &= _at_least(column, _whole_low(low, span.low_open))
    if high is not None:
        found &= _at_most(column, _whole_high(high, span.high_open))
    return found


def _whole_low(bound: float, is_open: bool) -> float:
    """The lowest whole number that is not below the bound."""
    if not math.isfinite(bound):
        return bound
    return math.floor(bound) + 1 if is_open else math.ceil(bound)


def _whole_high(bound: float, is_open: bool) -> float:
    if not math.isfinite(bound):
        return bound
    return math.ceil(bound) - 1 if is_open else math.floor(bound)


def _at_least(column: TermColumn, bound: float) -> Mask:
    if not _LOWEST <= bound <= _HIGHEST:
        return np.full(len(column.null), bound < 0, np.bool_)
    found: Mask = column.values >= np.int64(bound)
    return found


def _at_most(column: TermColumn, bound: float) -> Mask:
    if not _LOWEST <= bound <= _HIGHEST:
        return np.full(len(column.null), bound > 0, np.bool_)
    found: Mask = column.values <= np.int64(bound)
    return found


def _text_range(column: TermColumn, span: Range) -> Mask:
    found = ~column.null
    if span.low is not None:
        above = pc.greater if span.low_open else pc.greater_equal
        found &= _filled(above(column.values, span.low))
    if span.high is not None:
        below = pc.less if span.high_open else pc.less_equal
        found &= _filled(below(column.values, span.high))
    return found


def _match(column: TermColumn, name: str, text: str) -> Mask:
    if column.sort is not Sort.TEXT:
        return _none(column)
    return _filled(_MATCHES[name](column.values, text))


def _relation(operator: str, left: TermColumn, right: TermColumn) -> Mask:
    both = ~(left.null | right.null)
    sorts = {left.sort, right.sort}
    if sorts == {Sort.TEXT}:
        return _filled(_TEXTS[operator](left.values, right.values))
    if sorts == {Sort.BOOLEAN}:
        return both & np.equal(left.values, right.values) if operator == "==" else _none(left)
    if not sorts <= {Sort.WHOLE, Sort.REAL}:
        return _none(left)
    for column in (left, right):
        if len(sorts) == 2 and column.sort is Sort.WHOLE and _is_large(column):
            raise NotColumnarError
    found: Mask = both & _NUMBERS[operator](left.values, right.values)
    return found


def _is_large(column: TermColumn) -> bool:
    return bool(((column.values >= EXACT) | (column.values <= -EXACT)).any())


def _none(column: TermColumn) -> Mask:
    return np.zeros(len(column.null), np.bool_)


def _filled(found: pa.BooleanArray) -> Mask:
    plain: Mask = found.fill_null(False).to_numpy(zero_copy_only=False)
    return plain
