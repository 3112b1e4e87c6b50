"""Records, unions, arrays and maps.

    record            struct                       array   list
    union of X, null  X that may be null           map     map of string
    another union     dense union, its children in the order of the branches

A union reads each branch for the rows that have it. Of an array the places of all items are found
first (items.py), and then all items of all rows are read at once, as if each were a row.
Above: compile.py. Below: items.py, node.py, cursor.py.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from kafkaesque.client.columns.cursor import Cursor, Longs
from kafkaesque.client.columns.errors import Fault, RefusedError
from kafkaesque.client.columns.items import Items
from kafkaesque.client.columns.node import Node, walk_number
from kafkaesque.client.columns.scalars import Raw, array_of


class Fields:
    """A record; those fields that are not `wanted` are passed over."""

    def __init__(
        self, fields: Sequence[tuple[str, Node]], wanted: frozenset[str] | None = None
    ) -> None:
        self._fields = [(node, wanted is None or name in wanted, name) for name, node in fields]
        self._kept = [pa.field(name, node.type) for node, keep, name in self._fields if keep]
        self.type = pa.struct(self._kept)
        widths = [node.width for _, node in fields]
        self.width = None if None in widths else sum(width for width in widths if width)
        self.least = sum(node.least for _, node in fields)

    def read(self, cursor: Cursor) -> pa.Array:
        columns = []
        for node, keep, _ in self._fields:
            if keep:
                columns.append(node.read(cursor))
            else:
                node.skip(cursor)
        if not columns:
            return pa.Array.from_buffers(self.type, len(cursor), [None])
        return pa.StructArray.from_arrays(columns, fields=self._kept)

    def skip(self, cursor: Cursor) -> None:
        if self.width is not None:
            cursor.move(self.width)
            return
        for node, _, _ in self._fields:
            node.skip(cursor)

    def walk(self, data: bytes, at: int, stop: int, depth: int) -> int:
        for node, _, _ in self._fields:
            at = node.walk(data, at, stop, depth + 1)
        return at


class Branches:
    """What unions of both sorts share: the branch's number, then its value."""

    width: int | None = None
    type: pa.DataType

    def __init__(self, branches: Sequence[Node]) -> None:
        self._branches = branches
        self.least = 1 + min((branch.least for branch in branches), default=0)

    def _numbers(self, cursor: Cursor) -> Longs:
        number = cursor.number()
        wrong = (number < 0) | (number >= len(self._branches))
        if wrong.any():
            cursor.fail(wrong, Fault.BRANCH)
            number[wrong] = 0
        return number

    def skip(self, cursor: Cursor) -> None:
        number = self._numbers(cursor)
        for place, branch in enumerate(self._branches):
            if branch.width == 0:
                continue
            rows = np.flatnonzero(number == place)
            if len(rows) == len(cursor):
                branch.skip(cursor)
            elif len(rows):
                some = cursor.pick(rows)
                branch.skip(some)
                cursor.put(rows, some)

    def walk(self, data: bytes, at: int, stop: int, depth: int) -> int:
        number, at = walk_number(data, at, stop)
        if not 0 <= number < len(self._branches):
            raise RefusedError(Fault.BRANCH)
        return self._branches[number].walk(data, at, stop, depth + 1)


class Maybe(Branches):
    """A union of null and one other type. `value` is the other's place."""

    def __init__(self, branches: Sequence[Node], value: int) -> None:
        super().__init__(branches)
        self._value = value
        self.type = branches[value].type

    def read(self, cursor: Cursor) -> pa.Array:
        there = self._numbers(cursor) == self._value
        rows = np.flatnonzero(there)
        if len(rows) == len(cursor):
            return self._branches[self._value].read(cursor)
        if not len(rows):
            return pa.nulls(len(cursor), self.type)
        some = cursor.pick(rows)
        found = self._branches[self._value].read(some)
        cursor.put(rows, some)
        places = np.zeros(len(cursor), np.int32)
        places[rows] = np.arange(len(rows), dtype=np.int32)
        return found.take(array_of(pa.int32(), places, ~there))


class Either(Branches):
    """Any other union."""

    def __init__(self, branches: Sequence[Node], names: Sequence[str]) -> None:
        super().__init__(branches)
        self._names = list(names)
        children = [pa.field(name, node.type) for name, node in zip(names, branches, strict=True)]
        self.type = pa.dense_union(children)

    def read(self, cursor: Cursor) -> pa.Array:
        number = self._numbers(cursor)
        place_in_child = np.zeros(len(cursor), np.int32)
        children = []
        for place, branch in enumerate(self._branches):
            rows = np.flatnonzero(number == place)
            some = cursor.pick(rows)
            children.append(branch.read(some))
            cursor.put(rows, some)
            place_in_child[rows] = np.arange(len(rows), dtype=np.int32)
        return pa.UnionArray.from_dense(
            array_of(pa.int8(), number.astype(np.int8)),
            array_of(pa.int32(), place_in_child),
            children,
            self._names,
        )


class Listed:
    """An array."""

    width: int | None = None
    least = 1

    def __init__(self, item: Node) -> None:
        self._item = item
        self._items = Items(item)
        self.type = pa.list_(item.type)

    def read(self, cursor: Cursor) -> pa.Array:
        edges, items = self._items.find(cursor)
        return pa.ListArray.from_arrays(
            array_of(pa.int32(), edges), self._item.read(items), type=self.type
        )

    def skip(self, cursor: Cursor) -> None:
        self._items.find(cursor)

    def walk(self, data: bytes, at: int, stop: int, depth: int) -> int:
        return self._items.walk(data, at, stop, depth + 1)


class Mapped:
    """A map: an array of pairs."""

    width: int | None = None
    least = 1

    def __init__(self, value: Node) -> None:
        self._key = Raw(pa.string())
        self._value = value
        self._items = Items(Fields([("key", self._key), ("value", value)]))
        self.type = pa.map_(pa.string(), value.type)

    def read(self, cursor: Cursor) -> pa.Array:
        edges, items = self._items.find(cursor)
        keys = self._key.read(items)
        values = self._value.read(items)
        return pa.MapArray.from_arrays(array_of(pa.int32(), edges), keys, values, type=self.type)

    def skip(self, cursor: Cursor) -> None:
        self._items.find(cursor)

    def walk(self, data: bytes, at: int, stop: int, depth: int) -> int:
        return self._items.walk(data, at, stop, depth + 1)
