"""Where the items of an array or a map lie, for all rows.

    (count > 0 | items)* or (count < 0 | bytes of the block | items)*, then 0

Items that are all of one size lie at places that can be reckoned; numbers end at the bytes below
128, which are found once for the whole buffer. Any other items are found in rounds: the first of
every row is passed over at once, then the second of those rows that have one, and so on. When few
rows go on, each is walked to its end alone: a round costs the same for one row as for a hundred.
A count is held against the bytes that are left; items of no bytes at all may be 64 in one array.
Above: nested.py. Below: node.py, cursor.py.
"""

import numpy as np
import numpy.typing as npt

from kafkaesque.client.columns.cursor import Cursor, Longs
from kafkaesque.client.columns.errors import Fault, RefusedError
from kafkaesque.client.columns.node import Node, walk_number
from kafkaesque.client.columns.scalars import Number, Symbols

MAX_EMPTY_ITEMS = 64
FEW_ROWS = 16


class Items:
    def __init__(self, item: Node) -> None:
        self._item = item
        self._numbers = isinstance(item, Number | Symbols)

    def find(self, cursor: Cursor) -> tuple[npt.NDArray[np.int32], Cursor]:
        """The edges of each row among all items, and a cursor on the items; moves past them."""
        total = np.zeros(len(cursor), np.int64)
        blocks: list[tuple[Longs, Longs]] = []
        pending = np.arange(len(cursor))
        while len(pending):
            if len(pending) < FEW_ROWS and blocks:
                for row in pending.tolist():
                    self._walk_row(cursor, row, total, blocks)
                break
            some = cursor.pick(pending)
            count = self._counts(some, total[pending])
            more = count > 0
            if more.all():
                starts = self._starts(some, count)
                cursor.put(pending, some)
            else:
                cursor.put(pending, some)
                pending, count, some = pending[more], count[more], some.pick(more)
                starts = self._starts(some, count)
                cursor.put(pending, some)
            total[pending] += count
            blocks.append((np.repeat(pending, count), starts))
        return _edges(total), self._cursor(cursor, blocks)

    def _counts(self, some: Cursor, so_far: Longs) -> Longs:
        count = some.number()
        sized = np.flatnonzero(count < 0)
        if len(sized):
            blocks = some.pick(sized)
            blocks.number()
            some.put(sized, blocks)
            count[sized] = -count[sized]
        left = some.stop - some.at
        if self._item.least:
            wrong = count > left // self._item.least
        else:
            wrong = count > MAX_EMPTY_ITEMS - so_far
        wrong |= count < 0  # the lowest number has no positive one
        if wrong.any():
            some.fail(wrong, Fault.COUNT)
            count[wrong] = 0
        return count

    def _starts(self, some: Cursor, count: Longs) -> Longs:
        """Places of `count` items of each row, row by row; moves past them."""
        width = self._item.width
        if width is not None:
            starts: Longs = np.repeat(some.at, count) + _within(count) * width
            some.at = some.at + count * width
            return starts
        if self._numbers:
            return _number_starts(some, count)
        return self._rounds(some, count)

    def _rounds(self, some: Cursor, count: Longs) -> Longs:
        first = np.cumsum(count) - count
        starts = np.full(int(count.sum()), some.text.zone, np.int64)
        rows = np.arange(len(some))
        done = 0
        live = some.pick(rows)
        while True:
            going = (count[rows] > done) & (live.at < some.text.zone)
            if not going.all():
                some.put(rows, live)
                rows, live = rows[going], live.pick(going)
            if len(rows) < FEW_ROWS:
                break
            starts[first[rows] + done] = live.at
            self._item.skip(live)
            done += 1
        some.put(rows, live)
        for row in rows.tolist():
            places = self._walk_items(some, row, int(count[row]) - done)
            starts[first[row] + done : first[row] + done + len(places)] = places
        return starts

    def _walk_items(self, some: Cursor, row: int, count: int) -> list[int]:
        data, at, stop = some.text.as_bytes(), int(some.at[row]), int(some.stop[row])
        places = []
        try:
            for _ in range(count):
                places.append(at)
                at = self._item.walk(data, at, stop, 0)
            some.at[row] = at
        except RefusedError as error:
            some.fail(np.arange(len(some)) == row, error.fault)
        return places

    def _walk_row(
        self, cursor: Cursor, row: int, total: Longs, blocks: list[tuple[Longs, Longs]]
    ) -> None:
        """All that is left of one row's blocks."""
        data, at, stop = cursor.text.as_bytes(), int(cursor.at[row]), int(cursor.stop[row])
        places: list[int] = []
        so_far = int(total[row])
        try:
            while True:
                count, at = self._walk_count(data, at, stop, so_far + len(places))
                if not count:
                    break
                for _ in range(count):
                    places.append(at)
                    at = self._item.walk(data, at, stop, 0)
            cursor.at[row] = at
        except RefusedError as error:
            cursor.fail(np.arange(len(cursor)) == row, error.fault)
        total[row] += len(places)
        blocks.append((np.full(len(places), row), np.array(places, np.int64)))

    def _walk_count(self, data: bytes, at: int, stop: int, so_far: int) -> tuple[int, int]:
        count, at = walk_number(data, at, stop)
        if count < 0:
            count = -count
            _, at = walk_number(data, at, stop)
        least = self._item.least
        if count > ((stop - at) // least if least else MAX_EMPTY_ITEMS - so_far):
            raise RefusedError(Fault.COUNT)
        return count, at

    def walk(self, data: bytes, at: int, stop: int, depth: int) -> int:
        so_far = 0
        while True:
            count, at = self._walk_count(data, at, stop, so_far)
            if not count:
                return at
            so_far += count
            for _ in range(count):
                at = self._item.walk(data, at, stop, depth)

    def _cursor(self, cursor: Cursor, blocks: list[tuple[Longs, Longs]]) -> Cursor:
        if not blocks:
            return cursor.pick(np.zeros(0, np.int64))
        rows, starts = blocks[0]
        if len(blocks) > 1:
            rows = np.concatenate([each for each, _ in blocks])
            starts = np.concatenate([each for _, each in blocks])
            order = np.argsort(rows, kind="stable")
            rows, starts = rows[order], starts[order]
        return Cursor(cursor.text, starts, cursor.stop[rows], cursor.row[rows])


def _number_starts(some: Cursor, count: Longs) -> Longs:
    ends = some.text.number_ends()
    first = np.searchsorted(ends, some.at)
    last = first + count - 1
    wrong = last >= len(ends)
    last[wrong] = len(ends) - 1
    after = ends[last] + 1
    wrong |= after > some.stop
    within = _within(count)
    places = np.repeat(first, count) + within - 1
    starts: Longs = np.where(
        within == 0,
        np.repeat(some.at, count),
        ends[np.minimum(places, len(ends) - 1)] + 1,
    )
    some.at = after
    if wrong.any():
        some.fail(wrong, Fault.CUT_OFF)
        starts[np.repeat(wrong, count)] = some.text.zone
    return starts


def _within(count: Longs) -> Longs:
    """0, 1, 2 … for each row."""
    total = int(count.sum())
    found: Longs = np.arange(total) - np.repeat(np.cumsum(count) - count, count)
    return found


def _edges(total: Longs) -> npt.NDArray[np.int32]:
    edges = np.zeros(len(total) + 1, np.int32)
    np.cumsum(total, out=edges[1:], dtype=np.int32)
    return edges
