"""Logical types whose bytes are not already what Arrow holds: decimals and UUIDs.

A decimal is a whole number of two's complement, highest byte first, of any length; Arrow wants 16
or 32 bytes, lowest first. A UUID is text; Arrow holds its 16 bytes. Both are turned by one gather.
What is written in a way that the gather does not know goes one by one, through Python's own types.
Above: compile.py. Below: scalars.py, cursor.py.
"""

from decimal import Decimal
from uuid import UUID

import numpy as np
import pyarrow as pa

from kafkaesque.client.columns.cursor import Bytes, Cursor, Longs
from kafkaesque.client.columns.errors import Fault
from kafkaesque.client.columns.node import walk_bytes, walk_past
from kafkaesque.client.columns.scalars import array_of, cut

MAX_PRECISION = 76

_NO_NIBBLE = 0xFF
_NIBBLES: Bytes = np.full(256, _NO_NIBBLE, np.uint8)
for _value, _digit in enumerate("0123456789abcdef"):
    _NIBBLES[[ord(_digit), ord(_digit.upper())]] = _value
_DASHES = np.array([8, 13, 18, 23])
_DIGITS = np.array([place for place in range(36) if place not in _DASHES])


class Decimals:
    """`size`: how many bytes of a fixed; None for bytes."""

    def __init__(self, precision: int, scale: int, size: int | None) -> None:
        self._bytes = 16 if precision <= 38 else 32
        self.type = (
            pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
        )
        self._size = size
        self._limit = 10**precision
        self.width = size
        self.least = 1 if size is None else size

    def read(self, cursor: Cursor) -> pa.Array:
        start, size = self._places(cursor)
        if len(size) and int(size.max()) > self._bytes:
            return self._one_by_one(cursor, start, size)
        back = start + size - 1
        places = back[:, None] - np.arange(self._bytes)
        beyond = np.arange(self._bytes) >= size[:, None]
        places[beyond] = cursor.text.zone
        found = cursor.text.data[places]
        negative = (size > 0) & (cursor.text.data[start] > 0x7F)
        found[beyond & negative[:, None]] = 0xFF
        decimals = array_of(self.type, found)
        try:
            decimals.validate(full=True)
        except pa.ArrowInvalid:
            return self._one_by_one(cursor, start, size)
        return decimals

    def _places(self, cursor: Cursor) -> tuple[Longs, Longs]:
        if self._size is None:
            return cursor.lengths()
        start = cursor.move(self._size)
        return start, np.where(start < cursor.text.zone, self._size, 0)

    def _one_by_one(self, cursor: Cursor, start: Longs, size: Longs) -> pa.Array:
        each_one = cut(cursor.text, start, size, pa.binary()).to_pylist()
        found = [self._decimal(data) for data in each_one]
        wrong = np.fromiter((each is None for each in found), np.bool_, len(found))
        if wrong.any():
            cursor.fail(wrong, Fault.DECIMAL)
        return pa.array([each if each is not None else Decimal(0) for each in found], self.type)

    def _decimal(self, data: bytes) -> Decimal | None:
        unscaled = int.from_bytes(data, "big", signed=True)
        if abs(unscaled) >= self._limit:
            return None
        digits = tuple(int(digit) for digit in str(abs(unscaled)))
        return Decimal((int(unscaled < 0), digits, -self.type.scale))

    def skip(self, cursor: Cursor) -> None:
        self._places(cursor)

    def walk(self, data: bytes, at: int, stop: int, depth: int) -> int:
        if self._size is None:
            return walk_bytes(data, at, stop)
        return walk_past(self._size, at, stop)


class Uuids:
    width: int | None = None
    least = 1

    def __init__(self) -> None:
        self.type = pa.uuid()

    def read(self, cursor: Cursor) -> pa.Array:
        start, size = cursor.lengths()
        usual = size == 36
        first = np.where(usual, start, 0)
        if usual.any():
            nibbles = _NIBBLES[cursor.text.data[_within(cursor, first[:, None] + _DIGITS)]]
            dashes = cursor.text.data[_within(cursor, first[:, None] + _DASHES)]
            usual &= (nibbles != _NO_NIBBLE).all(axis=1) & (dashes == ord("-")).all(axis=1)
            found: Bytes = nibbles[:, ::2] * np.uint8(16) | nibbles[:, 1::2]
        else:
            found = np.zeros((len(cursor), 16), np.uint8)
        if not usual.all():
            self._one_by_one(cursor, start, size, np.flatnonzero(~usual), found)
        return pa.ExtensionArray.from_storage(self.type, array_of(pa.binary(16), found))

    def _one_by_one(
        self, cursor: Cursor, start: Longs, size: Longs, which: Longs, found: Bytes
    ) -> None:
        wrong = np.zeros(len(cursor), np.bool_)
        texts = cut(cursor.text, start[which], size[which], pa.binary())
        for row, data in zip(which, texts.to_pylist(), strict=True):
            try:
                found[row] = np.frombuffer(UUID(data.decode()).bytes, np.uint8)
            except ValueError:
                wrong[row] = True
                found[row] = 0
        if wrong.any():
            cursor.fail(wrong, Fault.UUID)

    def skip(self, cursor: Cursor) -> None:
        cursor.lengths()

    def walk(self, data: bytes, at: int, stop: int, depth: int) -> int:
        return walk_bytes(data, at, stop)


def _within(cursor: Cursor, places: Longs) -> Longs:
    return np.minimum(places, len(cursor.text.data) - 1)
