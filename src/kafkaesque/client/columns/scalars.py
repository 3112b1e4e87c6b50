"""Avro's primitive types, enum and fixed: one array of each field, for all rows.

    null     null          float    float32     bytes   binary
    boolean  bool          double   float64     string  string
    int      int32         long     int64       enum    dictionary of strings
    fixed    binary(size), or binary if it is empty or larger than 256 bytes

Numbers of 4 and 8 bytes lie at any place: they are taken from a view of the buffer that begins
anew at every byte. The texts of a column are cut out by Arrow: a binary array over the buffer as it
is, whose even entries are the texts and whose odd ones what lies between them, of which the even
ones are taken.
Above: compile.py. Below: cursor.py, node.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafkaesque.client.columns.cursor import Cursor, Longs, Mask, Text
from kafkaesque.client.columns.errors import Fault
from kafkaesque.client.columns.node import walk_bytes, walk_number, walk_past

MAX_FIXED = 256


def array_of(kind: pa.DataType, values: npt.NDArray[Any], missing: Mask | None = None) -> pa.Array:
    """An array over numpy's own memory; null where it is `missing`."""
    # Not pa.array(values): that loads pandas, where it is installed, which takes seconds.
    values = np.ascontiguousarray(values)
    there = None if missing is None else _bits(~missing)
    return pa.Array.from_buffers(kind, len(values), [there, pa.py_buffer(values)])


def booleans(values: Mask) -> pa.BooleanArray:
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, _bits(values)])


def _bits(values: Mask) -> pa.Buffer:
    return pa.py_buffer(np.packbits(values, bitorder="little"))


def cut(
    text: Text, start: Longs, size: Longs, kind: pa.DataType, missing: Mask | None = None
) -> pa.Array:
    """The bytes of each row as an array of binary or string; null where they are `missing`."""
    count = len(start)
    edges = np.empty(2 * count + 1, np.int32)
    edges[0:-1:2] = start
    edges[1::2] = start + size
    edges[-1] = len(text.data)
    pieces = pa.Array.from_buffers(
        kind, 2 * count, [None, pa.py_buffer(edges), pa.py_buffer(text.data)]
    )
    even = np.arange(0, 2 * count, 2, dtype=np.int32)
    return pieces.take(array_of(pa.int32(), even, missing))


def cut_text(cursor: Cursor, start: Longs, size: Longs) -> pa.Array:
    """Strings; rows that are not UTF-8 fail."""
    found = cut(cursor.text, start, size, pa.binary())
    try:
        return found.cast(pa.string())
    except pa.ArrowInvalid:
        wrong = np.fromiter((not _is_utf8(one) for one in found.to_pylist()), np.bool_, len(found))
        cursor.fail(wrong, Fault.UTF8)
        return cut(cursor.text, start, np.where(wrong, 0, size), pa.string())


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


class Nothing:
    type: pa.DataType = pa.null()
    width: int | None = 0
    least = 0

    def read(self, cursor: Cursor) -> pa.Array:
        return pa.nulls(len(cursor))

    def skip(self, cursor: Cursor) -> None:
        pass

    def walk(self, data: bytes, at: int, stop: int, depth: int) -> int:
        return at


class Boolean:
    type: pa.DataType = pa.bool_()
    width: int | None = 1
    least = 1

    def read(self, cursor: Cursor) -> pa.Array:
        return booleans(cursor.text.data[cursor.move(1)] != 0)

    def skip(self, cursor: Cursor) -> None:
        cursor.move(1)

    def walk(self, data: bytes, at: int, stop: int, depth: int) -> int:
        return walk_past(1, at, stop)


@dataclass(frozen=True, slots=True)
class Number:
    """int and long. `below`: what the number must stay below, from 0 on; None: no such bound."""

    type: pa.DataType
    bits: int
    below: int | None = None
    width: int | None = None
    least: int = 1

    def read(self, cursor: Cursor) -> pa.Array:
        value = cursor.number()
        if self.bits == 32:
            value = _bounded(cursor, value, value != value.astype(np.int32), Fault.INT)
        if self.below is not None:
            value = _bounded(cursor, value, (value < 0) | (value >= self.below), Fault.TIME)
        return array_of(self.type, value.astype(np.int32) if self.bits == 32 else value)

    def skip(self, cursor: Cursor) -> None:
        cursor.number()

    def walk(self, data: bytes, at: int, stop: int, depth: int) -> int:
        return walk_number(data, at, stop)[1]


def _bounded(cursor: Cursor, value: Longs, wrong: Mask, fault: Fault) -> Longs:
    if wrong.any():
        cursor.fail(wrong, fault)
        value = np.where(wrong, 0, value)
    return value


@dataclass(frozen=True, slots=True)
class Real:
    """float and double, of 4 and 8 bytes, the lowest first."""

    type: pa.DataType
    size: int
    least: int

    @property
    def width(self) -> int | None:
        return self.size

    def read(self, cursor: Cursor) -> pa.Array:
        word = cursor.text.words[cursor.move(self.size)]
        return array_of(self.type, word if self.size == 8 else word.astype(np.uint32))

    def skip(self, cursor: Cursor) -> None:
        cursor.move(self.size)

    def walk(self, data: bytes, at: int, stop: int, depth: int) -> int:
        return walk_past(self.size, at, stop)


@dataclass(frozen=True, slots=True)
class Raw:
    """bytes and string."""

    type: pa.DataType
    width: int | None = None
    least: int = 1

    def read(self, cursor: Cursor) -> pa.Array:
        start, size = cursor.lengths()
        if pa.types.is_string(self.type):
            return cut_text(cursor, start, size)
        return cut(cursor.text, start, size, self.type)

    def skip(self, cursor: Cursor) -> None:
        cursor.lengths()

    def walk(self, data: bytes, at: int, stop: int, depth: int) -> int:
        return walk_bytes(data, at, stop)


class Symbols:
    """enum: its symbols are held once."""

    width: int | None = None
    least = 1

    def __init__(self, symbols: Sequence[str]) -> None:
        self._symbols = pa.array(symbols, pa.string())
        self.type = pa.dictionary(pa.int32(), pa.string())

    def read(self, cursor: Cursor) -> pa.Array:
        place = cursor.number()
        wrong = (place < 0) | (place >= len(self._symbols))
        place = _bounded(cursor, place, wrong, Fault.SYMBOL)
        places = array_of(pa.int32(), place.astype(np.int32))
        return pa.DictionaryArray.from_arrays(places, self._symbols, safe=False)

    def skip(self, cursor: Cursor) -> None:
        cursor.number()

    def walk(self, data: bytes, at: int, stop: int, depth: int) -> int:
        return walk_number(data, at, stop)[1]


class Fixed:
    def __init__(self, size: int) -> None:
        self.width: int | None = size
        self.least = size
        self._size = size
        self.type = pa.binary(size) if 0 < size <= MAX_FIXED else pa.binary()

    def read(self, cursor: Cursor) -> pa.Array:
        start = cursor.move(self._size)
        good = start < cursor.text.zone
        if self.type == pa.binary():
            return cut(cursor.text, start, np.where(good, self._size, 0), self.type)
        places = start[:, None] + np.arange(self._size)
        if not good.all():
            places[~good] = cursor.text.zone
        return array_of(self.type, cursor.text.data[places])

    def skip(self, cursor: Cursor) -> None:
        cursor.move(self._size)

    def walk(self, data: bytes, at: int, stop: int, depth: int) -> int:
        return walk_past(self._size, at, stop)
