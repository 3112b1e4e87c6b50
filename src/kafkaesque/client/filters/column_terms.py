"""How a term is read from columns: readers.py, for all records at once.

A term has one kind for the whole column; `null` marks where a record has nothing there. What a
filter would see as text that the column does not hold as such (moments, decimals, bytes, UUIDs) is
opaque: it can be told from null, and no more. What cannot be read with the exact outcome of a
record-by-record look raises NotColumnarError: a bare `value`, unions, maps, JSON within Avro, keys
that are not UTF-8, lower() of more than ASCII, numbers that a column of floats may have rounded,
and members that were left out of the columns.
Above: columnar.py. Below: syntax.py, pyarrow.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafkaesque.client.columns.decoded import Decoded
from kafkaesque.client.columns.errors import Fault
from kafkaesque.client.columns.scalars import array_of
from kafkaesque.client.filters.syntax import Call, Field, Literal, Step, Term

EXACT = 2**53
"""From here on a float may stand for several whole numbers."""

Mask = npt.NDArray[np.bool_]


class NotColumnarError(Exception):
    """To be asked record by record."""


class Sort(Enum):
    WHOLE = "whole numbers"
    REAL = "floats"
    TEXT = "text"
    BOOLEAN = "booleans"
    OTHER = "lists, objects, or nothing: never equal to anything"
    OPAQUE = "text that the column does not hold"


@dataclass(frozen=True, slots=True)
class Columns:
    """The records of one partition: `records` as columns_of gives them, and what their values are,
    if that is known: rows of a struct."""

    topic: str
    partition: int
    records: pa.RecordBatch
    document: Decoded | None = None


@dataclass(frozen=True, slots=True)
class TermColumn:
    """`values`: numpy for numbers and booleans, an Arrow string array for text."""

    sort: Sort
    values: Any
    null: Mask


def term_column(term: Term, columns: Columns) -> TermColumn:
    if isinstance(term, Literal):
        raise NotColumnarError
    if isinstance(term, Call):
        return _call(term, columns)
    match term.root:
        case "value":
            return _of_value(term, columns)
        case "header":
            return _text(_header(str(term.path[0]), columns))
        case "key":
            return _text(columns.records.column("key"))
        case "topic":
            return _of(pa.repeat(columns.topic, columns.records.num_rows))
        case "partition":
            return _of(pa.repeat(columns.partition, columns.records.num_rows))
    return _of(columns.records.column(term.root))


def _call(call: Call, columns: Columns) -> TermColumn:
    text = term_column(call.arguments[0], columns)
    if text.sort is Sort.OPAQUE:
        raise NotColumnarError
    if text.sort is not Sort.TEXT:
        return TermColumn(Sort.OTHER, None, np.ones(len(text.null), np.bool_))
    if call.name == "length":
        return _of(pc.utf8_length(text.values))
    if not pc.all(pc.string_is_ascii(text.values), min_count=0).as_py():
        raise NotColumnarError
    return _of(pc.ascii_lower(text.values))


def _of_value(field: Field, columns: Columns) -> TermColumn:
    if not field.path or columns.document is None:
        raise NotColumnarError
    # A value that is JSON, but no object, has no members; it may have places.
    faults = columns.document.faults
    if faults.any() and ((faults > 0) & (faults != Fault.JSON)).any():
        raise NotColumnarError
    found = columns.document.array
    if not pa.types.is_struct(found.type) or not isinstance(field.path[0], str):
        raise NotColumnarError
    partial = columns.document.partial
    for step in field.path:
        found = _step(found, step, partial)
    # A schema that was given may have rounded numbers.
    if partial and pa.types.is_floating(found.type) and found.type != pa.float64():
        raise NotColumnarError
    return _of(found)


def _step(found: pa.Array, step: Step, partial: bool) -> pa.Array:
    kind = found.type
    if pa.types.is_struct(kind):
        place = kind.get_field_index(step) if isinstance(step, str) else -1
        if place >= 0:
            return pc.struct_field(found, [place])
        if partial:
            raise NotColumnarError
    elif pa.types.is_list(kind):
        if isinstance(step, int):
            return _element(found, step)
    elif _is_nested(kind):
        raise NotColumnarError
    return pa.nulls(len(found))


def _element(found: pa.ListArray, place: int) -> pa.Array:
    edges = found.offsets.to_numpy().astype(np.int64)
    at = edges[:-1] + place
    missing = (at >= edges[1:]) | ~found.is_valid().to_numpy(zero_copy_only=False)
    return found.values.take(array_of(pa.int64(), np.where(missing, 0, at), missing))


def _is_nested(kind: pa.DataType) -> bool:
    """What has parts that these columns do not show as such."""
    return bool(pa.types.is_union(kind) or pa.types.is_map(kind) or isinstance(kind, pa.JsonType))


def _header(name: str, columns: Columns) -> pa.Array:
    """The last value of that name. U+FFFD may stand for bytes that were no text."""
    if "\ufffd" in name:
        raise NotColumnarError
    lists = columns.records.column("headers")
    edges = lists.offsets.to_numpy()
    rows = np.repeat(np.arange(len(lists)), np.diff(edges))
    pairs = lists.flatten()
    same = pc.equal(pc.struct_field(pairs, [0]), name).to_numpy(zero_copy_only=False)
    place = np.full(len(lists), -1)
    place[rows[same]] = np.flatnonzero(same)
    return pc.struct_field(pairs, [1]).take(array_of(pa.int64(), np.maximum(place, 0), place < 0))


def _text(data: pa.Array) -> TermColumn:
    try:
        return _of(data.cast(pa.string()))
    except pa.ArrowInvalid:
        raise NotColumnarError from None


def _of(found: pa.Array) -> TermColumn:
    kind = found.type
    null: Mask = found.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_dictionary(kind):
        found = found.cast(kind.value_type)
        kind = found.type
    if pa.types.is_string(kind):
        return TermColumn(Sort.TEXT, found, null)
    if pa.types.is_boolean(kind):
        return TermColumn(Sort.BOOLEAN, _numpy(found, False), null)
    if pa.types.is_integer(kind):
        return TermColumn(Sort.WHOLE, _numpy(found, 0).astype(np.int64), null)
    if pa.types.is_floating(kind):
        return _real(_numpy(found, 0.0).astype(np.float64), null)
    if pa.types.is_union(kind):
        raise NotColumnarError
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        return TermColumn(Sort.OTHER, None, null)
    return TermColumn(Sort.OPAQUE, None, null)


def _real(values: npt.NDArray[np.float64], null: Mask) -> TermColumn:
    """JSON has no NaN and no infinity: they are null."""
    finite = np.isfinite(values)
    if (np.abs(values[finite]) >= EXACT).any():
        raise NotColumnarError
    return TermColumn(Sort.REAL, np.where(finite, values, 0.0), null | ~finite)


def _numpy(found: pa.Array, instead: Any) -> npt.NDArray[Any]:
    filled = found.fill_null(instead) if found.null_count else found
    values: npt.NDArray[Any] = filled.to_numpy(zero_copy_only=False)
    return values
