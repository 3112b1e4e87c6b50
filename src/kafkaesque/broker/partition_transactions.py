"""The transactions of one partition: which are open, and which were aborted.

A reader of committed records stops at the *last stable offset*: before the first record of the
oldest transaction that is still open, or whose end is not visible yet. What it reads below that may
hold records of aborted transactions; it is told which, and skips them.
Pure: partition.py tells it of every batch and marker that is appended; at start the same calls
replay the log from the last snapshot on.

A snapshot: count u32, then per open transaction: producer id i64, epoch i16, first offset i64, time
i64; count u32, then per aborted one: producer id i64, first offset i64, offset of its marker i64.
In memory the aborted ones are these bytes, too, in blocks: there may be many of them.
"""

import struct
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kafkaesque.records.batch import BatchHeader
from kafkaesque.records.control import Marker
from kafkaesque.types import AbortedTransaction

_COUNT = struct.Struct(">I")
_OPEN = struct.Struct(">qhqq")
_ABORTED = struct.Struct(">qqq")
_BLOCK_SIZE = 128 * _ABORTED.size
_FEW_BLOCKS = 8


class OpenTransaction(NamedTuple):
    """Records of a producer that are neither committed nor aborted, and when the first came."""

    producer_id: int
    producer_epoch: int
    first_offset: int
    started_ms: int


@dataclass(slots=True)
class _Block:
    """Some aborted transactions, packed, in the order of their markers."""

    packed: bytes
    min_first_offset: int
    last_offset: int

    def transactions(self) -> Iterator[AbortedTransaction]:
        return map(AbortedTransaction._make, _ABORTED.iter_unpack(self.packed))


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
            self._blocks.append(_Block(packed, aborted.first_offset, aborted.last_offset))
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

    def few_from(self, start: int, end: int) -> tuple[list[AbortedTransaction], int]:
        """The same for an end that is lower where there would be many: after one of the markers.
        But for those that were open together, a thousand at most.
        """
        last = self._block_of(start) + _FEW_BLOCKS
        if last < len(self._blocks):
            end = min(end, self._blocks[last].last_offset + 1)
        return self.between(start, end), end

    def forget_before(self, offset: int) -> None:
        del self._blocks[: self._block_of(offset)]
        if self._blocks:
            self._keep(0, lambda aborted: aborted.last_offset >= offset)

    def forget(self, markers: Collection[int]) -> None:
        markers = frozenset(markers)
        for number in sorted({self._block_of(marker) for marker in markers}, reverse=True):
            if number < len(self._blocks):
                self._keep(number, lambda aborted: aborted.last_offset not in markers)

    def _keep(self, number: int, is_kept: Callable[[AbortedTransaction], bool]) -> None:
        kept = list(filter(is_kept, self._blocks[number].transactions()))
        if kept:
            self._blocks[number].packed = b"".join(_ABORTED.pack(*aborted) for aborted in kept)
            self._blocks[number].last_offset = kept[-1].last_offset
        else:
            del self._blocks[number]

    def _block_of(self, marker: int) -> int:
        """The first with a marker at this offset or after it."""
        return bisect_left(self._blocks, marker, key=lambda block: block.last_offset)

    def snapshot(self) -> list[bytes]:
        return [_COUNT.pack(len(self)), *(block.packed for block in self._blocks)]


class PartitionTransactions:
    def __init__(self) -> None:
        # By producer, in the order in which they began: the first has the lowest offset.
        self._open: dict[int, OpenTransaction] = {}
        # First offset and marker of those that have ended, until the marker is visible, in the
        # order of their markers.
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
        stable = min((first for first, _ in self._ending), default=high_watermark)
        if self._open:
            stable = min(stable, next(iter(self._open.values())).first_offset)
        return min(stable, high_watermark)

    def aborted(self, start: int, end: int) -> list[AbortedTransaction]:
        """Those with a record or their marker in [start, end)."""
        return self._aborted.between(start, end)

    def few_aborted(self, start: int, end: int) -> tuple[list[AbortedTransaction], int]:
        """Those with a record or their marker between `start` and where there are enough of them
        for a while, or `end`; and where that is.
        """
        return self._aborted.few_from(start, end)

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
        for _ in range(count):
            fields = _ABORTED.unpack_from(snapshot, position)
            transactions._aborted.add(AbortedTransaction(*fields))
            position += _ABORTED.size
        return transactions
