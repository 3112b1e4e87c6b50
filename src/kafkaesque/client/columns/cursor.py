"""One place in each of many values, moved on by all of them at once.

    data   the values' bytes, one after another | 64 zero bytes: the quiet zone
    at     where the next field of each row begins      stop   where the row's value ends

Every read checks that it ends at `stop` or before. A row that fails is noted with its reason, and
goes on from the quiet zone: there every number is 0, every text, array and map empty, so that the
steps that follow need not know which rows are still good. No read ever leaves the buffer.
A number is taken as the 8 bytes at its place, and its 7-bit groups are pushed together; the few
that are longer get their last two bytes apart.
Above: scalars.py, nested.py, logical.py. Below: numpy.
"""

from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt

from kafkaesque.client.columns.errors import Fault

Bytes: TypeAlias = npt.NDArray[np.uint8]
Longs: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

ZONE_BYTES = 64
PART_ROWS = 16_384
"""So many rows at once: numpy's arrays of them stay in the cache, and are not mapped anew."""

_U = np.uint64
_GO_ON = _U(0x8080808080808080)
_ONE = _U(1)
_PAIRS = (_U(0x007F007F007F007F), _U(0x7F007F007F007F00), _U(1))
_FOURS = (_U(0x00003FFF00003FFF), _U(0x3FFF00003FFF0000), _U(2))
_EIGHTS = (_U(0x000000000FFFFFFF), _U(0x0FFFFFFF00000000), _U(4))


class Text:
    """The bytes of all rows, and what has gone wrong with each row."""

    __slots__ = ("_number_ends", "data", "faults", "plain", "words", "zone")

    def __init__(self, raw: Bytes, rows: int) -> None:
        self.data: Bytes = np.concatenate([raw, np.zeros(ZONE_BYTES, np.uint8)])
        self.zone = len(raw)
        self.words: npt.NDArray[np.uint64] = np.ndarray(
            (len(self.data) - 7,), np.dtype("<u8"), buffer=self.data.data, strides=(1,)
        )
        self.faults: npt.NDArray[np.uint8] = np.zeros(rows, np.uint8)
        self.plain: bytes | None = None
        self._number_ends: Longs | None = None

    def as_bytes(self) -> bytes:
        """For those who walk a value byte by byte: numpy is slow at that."""
        if self.plain is None:
            self.plain = self.data.tobytes()
        return self.plain

    def number_ends(self) -> Longs:
        """Every byte that may be the last one of a number."""
        if self._number_ends is None:
            self._number_ends = np.flatnonzero(self.data < 0x80)
        return self._number_ends


class Cursor:
    __slots__ = ("at", "row", "stop", "text")

    def __init__(self, text: Text, at: Longs, stop: Longs, row: Longs) -> None:
        self.text = text
        self.at = at
        self.stop = stop
        self.row = row

    def __len__(self) -> int:
        return len(self.at)

    def pick(self, which: Longs | Mask) -> Self:
        """Some of the rows, with a place of their own: `put` brings it back."""
        return type(self)(self.text, self.at[which], self.stop[which], self.row[which])

    def put(self, which: Longs | Mask, other: "Cursor") -> None:
        self.at[which] = other.at

    def fail(self, which: Mask, fault: Fault) -> None:
        rows = self.row[which]
        faults = self.text.faults
        faults[rows[faults[rows] == Fault.NONE]] = fault
        self.at[which] = self.text.zone
        self.stop[which] = self.text.zone + ZONE_BYTES // 2

    def move(self, size: int) -> Longs:
        """Past `size` bytes; gives where they begin. A row without them is in the quiet zone."""
        start = self.at
        after = start + size
        short = after > self.stop
        self.at = after
        if short.any():
            self.fail(short, Fault.CUT_OFF)
            start = np.where(short, self.text.zone, start)
        return start

    def number(self) -> Longs:
        first = self.text.data[self.at]
        if not (first > 0x7F).any():
            small = first.astype(np.int64)
            self.at = self.at + 1
            value = (small >> 1) ^ -(small & 1)
        else:
            value = self._long_number()
        over = self.at > self.stop
        if over.any():
            self.fail(over, Fault.CUT_OFF)
            value[over] = 0
        return value

    def _long_number(self) -> Longs:
        word = self.text.words[self.at]
        last = ~word & _GO_ON
        # All bits below the last byte's highest one; everything where no byte is the last.
        below = (last & (~last + _ONE)) - _ONE
        bits = word & below & ~_GO_ON
        for low, high, shift in (_PAIRS, _FOURS, _EIGHTS):
            bits = (bits & low) | ((bits & high) >> shift)
        size = (np.bitwise_count(below) >> 3).astype(np.int64) + 1
        endless = last == 0
        if endless.any():
            self._tail(endless, bits, size)
        self.at = self.at + size
        value: Longs = (bits >> _ONE).view(np.int64) ^ -(bits & _ONE).view(np.int64)
        return value

    def _tail(self, endless: Mask, bits: npt.NDArray[np.uint64], size: Longs) -> None:
        at = self.at[endless]
        ninth = self.text.data[at + 8].astype(np.uint64)
        tenth = self.text.data[at + 9].astype(np.uint64)
        longer = ninth > 0x7F
        bits[endless] |= (ninth & _U(0x7F)) << _U(56)
        bits[endless] |= np.where(longer, tenth & _ONE, 0).astype(np.uint64) << _U(63)
        size[endless] = np.where(longer, 10, 9)
        wide = np.zeros(len(self), np.bool_)
        # A number that runs into the next row is cut off, whatever stands there.
        wide[endless] = longer & (tenth > 1) & (at + 10 <= self.stop[endless])
        if wide.any():
            bits[wide] = 0
            size[wide] = 0
            self.fail(wide, Fault.NUMBER)

    def lengths(self) -> tuple[Longs, Longs]:
        """Where the bytes of a text begin, and how many they are; moves past them."""
        size = self.number()
        start = self.at  # a row that fails begins in the quiet zone here too
        wrong = (size < 0) | (size > self.stop - start)
        if wrong.any():
            self.fail(wrong, Fault.LENGTH)
            size[wrong] = 0
        self.at = start + size
        return start, size

    def nullable_lengths(self) -> tuple[Longs, Longs]:
        """As `lengths`, of bytes that may be null: their size is below 0."""
        size = self.number()
        start = self.at
        wrong = size > self.stop - start
        if wrong.any():
            self.fail(wrong, Fault.LENGTH)
            size[wrong] = 0
        self.at = start + np.maximum(size, 0)
        return start, size
