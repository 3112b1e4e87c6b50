"""What a schema is compiled to: a tree of nodes, each of which can do three things.

    read   decode its field of all rows at once, to one Arrow array
    skip   move all rows past the field, checking no more than that takes
    walk   move one row past it, byte by byte: for the few rows that go on when all others are done

Above: scalars.py, logical.py, nested.py. Below: cursor.py.
"""

from typing import Protocol

import pyarrow as pa

from kafkaesque.client.columns.cursor import Cursor
from kafkaesque.client.columns.errors import Fault, RefusedError


class Node(Protocol):
    @property
    def type(self) -> pa.DataType: ...

    @property
    def width(self) -> int | None:
        """How many bytes every value has; None if they differ."""

    @property
    def least(self) -> int:
        """The fewest bytes that a value can have."""

    def read(self, cursor: Cursor) -> pa.Array: ...

    def skip(self, cursor: Cursor) -> None: ...

    def walk(self, data: bytes, at: int, stop: int, depth: int) -> int:
        """Where the value at `at` ends, below `depth` others. Raises RefusedError."""


def walk_number(data: bytes, at: int, stop: int) -> tuple[int, int]:
    value = shift = 0
    while at < stop:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                raise RefusedError(Fault.NUMBER)
            return (value >> 1) ^ -(value & 1), at
        shift += 7
        if shift > 63:
            raise RefusedError(Fault.NUMBER)
    raise RefusedError(Fault.CUT_OFF)


def walk_bytes(data: bytes, at: int, stop: int) -> int:
    size, at = walk_number(data, at, stop)
    if not 0 <= size <= stop - at:
        raise RefusedError(Fault.LENGTH)
    return at + size


def walk_past(size: int, at: int, stop: int) -> int:
    if at + size > stop:
        raise RefusedError(Fault.CUT_OFF)
    return at + size
