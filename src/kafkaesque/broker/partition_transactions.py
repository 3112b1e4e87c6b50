"""The transactions of one partition: which are open, and which were aborted.

A reader of committed records stops at the *last stable offset*: before the first record of the
oldest transaction that is still open, or whose end is not visible yet. What it reads below that may
hold records of aborted transactions; it is told which, and skips them.
Pure: partition.py tells it of every batch and marker that is appended; at start the same calls
replay the log from the last snapshot on.

A snapshot: count u32, then per open transaction: producer id i64, epoch i16, first offset i64, time
i64; count u32, then per aborted one: producer id i64, first offset i64, offset of its marker i64.
In memory the aborted ones are these bytes, too, in blocks: there may be many of them.

Which of them a reader is told of depends on the batches that it is sent: those that have one of
them. Readers begin anew with each response, and of the others they would see nothing. There may be
a hundred thousand that were open together.
"""

import struct
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Collection, Iterator, Set
from dataclasses import dataclass
from functools import cache
from itertools import compress, islice
from typing import NamedTuple

from kafkaesque.records.batch import CONTROL, HEADER_SIZE, LOG_OVERHEAD, TRANSACTIONAL, BatchHeader
from kafkaesque.records.control import Marker
from kafkaesque.types import AbortedTransaction, Buffer

_COUNT = struct.Struct(">I")
_OPEN = struct.Struct(">qhqq")
_ABORTED = struct.Struct(">qqq")
_BLOCK_SIZE = 128 * _ABORTED.size
_MANY_BLOCKS = 8
_SEEN = struct.Struct(">qi9xhi16xq")
"""Of a batch: base offset, length, attributes, the last offset's delta, producer id."""

LOOKS = 10_000
"""How much one response may look at to say what was aborted in it: so many headers of batches, two
or three milliseconds.
"""
_LOOKS_PER_TRANSACTION = 10
_LOOKS_PER_BLOCK = 20


class OpenTransaction(NamedTuple):
    """Records of a producer that are neither committed nor aborted, and when the first came."""

    producer_id: int
    producer_epoch: int
    first_offset: int
    started_ms: int


class Told(NamedTuple):
    """Of some batches those that are sent, in bytes, and what was aborted in them."""

    size: int
    aborted: list[AbortedTransaction]
    looks: int
    """What it took to find out."""


class _Seen(NamedTuple):
    """Batches in a row: whose transactions have some of them."""

    size: int
    end_offset: int
    producer_ids: Set[int]
    looks: int


def _look_through(batches: Buffer, looks: int) -> _Seen:
    """Through as many of them as it may be, and one at least. Of what is no batch, its reader is to
    find that out.
    """
    at = spent = end_offset = 0
    producer_ids: set[int] = set()
    unended: set[int] = set()
    while at + HEADER_SIZE <= len(batches) and (spent < looks or not at):
        base_offset, length, attributes, delta, producer_id = _SEEN.unpack_from(batches, at)
        following = at + length + LOG_OVERHEAD
        if following < at + HEADER_SIZE or following > len(batches):
            break
        if attributes & TRANSACTIONAL:
            producer_ids.add(producer_id)
            spent += 0 if producer_id in unended else _LOOKS_PER_TRANSACTION
            (unended.discard if attributes & CONTROL else unended.add)(producer_id)
        spent += 1
        end_offset = max(end_offset, base_offset + delta + 1)
        at = following
    return _Seen(at or len(batches), end_offset, producer_ids, spent)


@cache
def _column(first: int, count: int) -> struct.Struct:
    """One of the three fields of so many aborted transactions."""
    return struct.Struct(">" + f"{8 * first}xq{16 - 8 * first}x" * count)


@dataclass(slots=True)
class _Block:
    """Some aborted transactions, packed, in the order of their markers."""

    packed: bytes
    min_first_offset: int
    last_offset: int

    @classmethod
    def of(cls, packed: bytes) -> "_Block":
        count = len(packed) // _ABORTED.size
        *_, last_offset = _ABORTED.unpack_from(packed, len(packed) - _ABORTED.size)
        return cls(packed, min(_column(1, count).unpack(packed)), last_offset)

    def transactions(self) -> Iterator[AbortedTransaction]:
        return map(AbortedTransaction._make, _ABORTED.iter_unpack(self.packed))

    def transactions_of(self, producer_ids: Set[int]) -> list[AbortedTransaction]:
        """The same of a few, without making the others."""
        packed, size = self.packed, _ABORTED.size
        ids = _column(0, len(packed) // size).unpack(packed)
        if producer_ids.isdisjoint(ids):
            return []
        numbers = [number for number, each in enumerate(ids) if each in producer_ids]
        return [AbortedTransaction(*_ABORTED.unpack_from(packed, size * n)) for n in numbers]


class AbortedTransactions:
    """In the order of their markers. Those that began before an offset can be anywhere after it, as
    long as they were open: a block is looked into only if one of its transactions began early
    enough.
    """

    def __init__(self) -> None:
        self._blocks: list[_Block] = []

    def __len__(self) -> int:
        return sum(len(block.packed) for block in self._blocks) // _ABORTED.size

    def add(self, aborted: AbortedTransaction) -> None:
        packed = _ABORTED.pack(*aborted)
        if not self._blocks or len(self._blocks[-1].packed) >= _BLOCK_SIZE:
            self._blocks.append(_Block.of(packed))
            return
        block = self._blocks[-1]
        block.packed += packed
        block.min_first_offset = min(block.min_first_offset, aborted.first_offset)
        block.last_offset = aborted.last_offset

    def between(self, start: int, end: int) -> list[AbortedTransaction]:
        """Those with a record or their marker in [start, end)."""
        return [
            aborted
            for number in range(self._block_of(start), len(self._blocks))
            if self._blocks[number].min_first_offset < end
            for aborted in self._blocks[number].transactions()
            if aborted.last_offset >= start and aborted.first_offset < end
        ]

    def packed_between(self, start: int, end: int) -> list[bytes]:
        """The same and a few more, packed, in parts."""
        first = self._block_of(start)
        blocks = islice(self._blocks, first, None)
        return [block.packed for block in blocks if block.min_first_offset < end]

    def are_many(self, start: int, end: int) -> bool:
        """Whether one response cannot tell of all that have their marker in [start, end)."""
        last = self._block_of(start) + _MANY_BLOCKS
        return last < len(self._blocks) and self._blocks[last].last_offset < end

    def told(self, start: int, batches: Buffer, looks: int) -> Told:
        """To who reads these batches from `start` on: of as many as there is time to look at. One
        at least, unless `looks` is 0.
        """
        first = self._block_of(start)
        if first == len(self._blocks):
            return Told(len(batches), [], 0)
        if looks <= 0:
            return Told(0, [], 0)
        seen = _look_through(batches, looks)
        looks, aborted = seen.looks, []
        for block in islice(self._blocks, first, None):
            if block.min_first_offset < seen.end_offset:
                looks += _LOOKS_PER_BLOCK
                aborted += [
                    each
                    for each in block.transactions_of(seen.producer_ids)
                    if each.last_offset >= start and each.first_offset < seen.end_offset
                ]
        return Told(seen.size, aborted, looks)

    def forget_before(self, offset: int) -> None:
        del self._blocks[: self._block_of(offset)]
        if self._blocks:
            self._keep(0, lambda marker: marker >= offset)

    def forget(self, markers: Collection[int]) -> None:
        markers = frozenset(markers)
        numbers, known_to = list[int](), -1
        for marker in sorted(markers):
            if marker > known_to:
                number = self._block_of(marker)
                if number == len(self._blocks):
                    break
                numbers.append(number)
                known_to = self._blocks[number].last_offset
        for number in reversed(numbers):
            self._keep(number, lambda marker: marker not in markers)

    def _keep(self, number: int, is_kept: Callable[[int], bool]) -> None:
        packed, size = self._blocks[number].packed, _ABORTED.size
        markers = _column(2, len(packed) // size).unpack(packed)
        positions = compress(range(0, len(packed), size), map(is_kept, markers))
        if kept := b"".join([packed[at : at + size] for at in positions]):
            self._blocks[number] = _Block.of(kept)
        else:
            del self._blocks[number]

    def _block_of(self, marker: int) -> int:
        """The first with a marker at this offset or after it."""
        return bisect_left(self._blocks, marker, key=lambda block: block.last_offset)

    def snapshot(self) -> list[bytes]:
        return [_COUNT.pack(len(self)), *(block.packed for block in self._blocks)]

    @classmethod
    def restore(cls, packed: bytes) -> "AbortedTransactions":
        transactions = cls()
        for at in range(0, len(packed), _BLOCK_SIZE):
            transactions._blocks.append(_Block.of(packed[at : at + _BLOCK_SIZE]))
        return transactions


class PartitionTransactions:
    def __init__(self) -> None:
        # By producer, in the order in which they began: the first has the lowest offset.
        self._open: dict[int, OpenTransaction] = {}
        # First offset and marker of those that have ended, until the marker is visible, in the
        # order of both: without those that began after one whose marker comes later. They are as
        # open as that one, and the first has the lowest offset.
        self._ending: deque[tuple[int, int]] = deque()
        self._aborted = AbortedTransactions()

    def open(self) -> list[OpenTransaction]:
        return list(self._open.values())

    def is_open(self, producer_id: int) -> bool:
        return producer_id in self._open

    def appended(self, header: BatchHeader, now_ms: int) -> None:
        """A batch of records; the first of a transaction opens it."""
        if header.is_transactional and header.producer_id not in self._open:
            self._open[header.producer_id] = OpenTransaction(
                header.producer_id, header.producer_epoch, header.base_offset, now_ms
            )

    def ended(self, producer_id: int, marker: Marker, offset: int) -> None:
        """The marker at `offset` ends what the producer has open here, if anything."""
        opened = self._open.pop(producer_id, None)
        if opened is None:
            return
        while self._ending and self._ending[-1][0] > opened.first_offset:
            self._ending.pop()
        self._ending.append((opened.first_offset, offset))
        if marker is Marker.ABORT:
            self._aborted.add(AbortedTransaction(producer_id, opened.first_offset, offset))

    def seen_to(self, high_watermark: int) -> None:
        """Everything below is visible: markers that are need not be remembered."""
        while self._ending and self._ending[0][1] < high_watermark:
            self._ending.popleft()

    def last_stable_offset(self, high_watermark: int) -> int:
        if not self._open and not self._ending:
            return high_watermark
        self.seen_to(high_watermark)
        stable = self._ending[0][0] if self._ending else high_watermark
        if self._open:
            stable = min(stable, next(iter(self._open.values())).first_offset)
        return min(stable, high_watermark)

    def aborted(self, start: int, end: int) -> list[AbortedTransaction]:
        """Those with a record or their marker in [start, end)."""
        return self._aborted.between(start, end)

    def packed_aborted(self, start: int, end: int) -> list[bytes]:
        """The same and a few more, as three i64 each, in parts."""
        return self._aborted.packed_between(start, end)

    def are_many_aborted(self, start: int, end: int) -> bool:
        """Whether one response cannot tell of all that have their marker in [start, end)."""
        return self._aborted.are_many(start, end)

    def told_aborted(self, start: int, batches: Buffer, looks: int) -> Told:
        """To who reads these batches from `start` on."""
        return self._aborted.told(start, batches, looks)

    def forget_before(self, offset: int) -> None:
        """The log starts there now."""
        self._aborted.forget_before(offset)

    def forget_aborted(self, markers: Collection[int]) -> None:
        """Compaction removes the markers at these offsets: nothing is left that they end."""
        self._aborted.forget(markers)

    def snapshot(self) -> list[bytes]:
        """In parts, as that of the producers."""
        parts = [_COUNT.pack(len(self._open))]
        parts += [_OPEN.pack(*each) for each in self._open.values()]
        return parts + self._aborted.snapshot()

    @classmethod
    def restore(cls, snapshot: bytes, position: int = 0) -> "PartitionTransactions":
        """A snapshot from before there were transactions has none of this."""
        transactions = cls()
        if position == len(snapshot):
            return transactions
        (count,) = _COUNT.unpack_from(snapshot, position)
        position += _COUNT.size
        for _ in range(count):
            opened = OpenTransaction(*_OPEN.unpack_from(snapshot, position))
            transactions._open[opened.producer_id] = opened
            position += _OPEN.size
        (count,) = _COUNT.unpack_from(snapshot, position)
        position += _COUNT.size
        packed = snapshot[position : position + count * _ABORTED.size]
        transactions._aborted = AbortedTransactions.restore(packed)
        return transactions
