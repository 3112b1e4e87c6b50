"""Segments in memory: the same log without a disk, for tests, demos and topics that may be lost.

A segment is a list of batches with their base offsets and byte positions beside it, so that a read
is three bisections and one join. Nothing here is durable, so nothing is ever dirty: what is
appended counts as flushed. A read returns at once.
Above: log.py. Below: slices.py for what a read returns.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from kafkaesque.log.compaction import Batch
from kafkaesque.log.config import LogConfig
from kafkaesque.log.slices import NOTHING, Hints, KnownSlice, Slice
from kafkaesque.log.store import Checkpoint, Cleaned, Flush, Recovery, Segment, Swap
from kafkaesque.records.batch import NO_TIMESTAMP, BatchHeader, read_header
from kafkaesque.types import Buffer


class MemorySlice:
    """Batches that are put together when they are read: whoever only asks how much there is keeps
    no copy.
    """

    __slots__ = ("_batches", "size")

    def __init__(self, batches: list[bytes], size: int) -> None:
        self._batches = batches
        self.size = size

    def read_nowait(self) -> Buffer | None:
        return self.read()

    def read(self) -> Buffer:
        return b"".join(self._batches)


class MemorySegment:
    __slots__ = (
        "_bases",
        "_batches",
        "_created_ms",
        "_first_timestamp",
        "_latest",
        "_latest_so_far",
        "_positions",
        "base_offset",
        "next_offset",
        "size",
    )

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self.next_offset = base_offset
        self.size = 0
        self._batches: list[bytes] = []
        self._bases: list[int] = []
        self._positions: list[int] = []
        # The largest timestamp up to each batch: it only rises, and can be searched.
        self._latest_so_far: list[int] = []
        self._latest = (NO_TIMESTAMP, base_offset)
        self._created_ms = 0
        self._first_timestamp = NO_TIMESTAMP

    def append(self, batch: Buffer, header: BatchHeader, now_ms: int) -> None:
        if not self._batches:
            self._created_ms = now_ms
            self._first_timestamp = header.max_timestamp
        # A copy: the batch is a view of a request's frame, which would stay alive with it.
        self._batches.append(bytes(batch))
        self._bases.append(header.base_offset)
        self._positions.append(self.size)
        if header.max_timestamp > self._latest[0]:
            self._latest = header.max_timestamp, header.last_offset
        self._latest_so_far.append(self._latest[0])
        self.size += len(batch)
        self.next_offset = header.next_offset

    def absorb(self, following: "MemorySegment") -> None:
        """Take over the batches of a segment that comes after this one."""
        self._positions += [self.size + position for position in following._positions]
        self._batches += following._batches
        self._bases += following._bases
        if self._first_timestamp < 0:
            self._first_timestamp = following._first_timestamp
        before = self._latest[0]
        self._latest_so_far += [max(before, time) for time in following._latest_so_far]
        if following._latest[0] > self._latest[0]:
            self._latest = following._latest
        self.size += following.size
        self.next_offset = following.next_offset

    def must_roll(self, header: BatchHeader, now_ms: int, config: LogConfig) -> bool:
        if not self._batches:
            return False
        if self._first_timestamp >= 0:
            waited_ms = header.max_timestamp - self._first_timestamp
        else:
            waited_ms = now_ms - self._created_ms
        return self.size + header.size > config.segment_bytes or waited_ms > config.segment_ms

    def slice(self, offset: int, max_bytes: int, limit: int, min_one: bool, hints: Hints) -> Slice:
        first = self._find(offset)
        end = bisect_left(self._bases, limit)
        if first >= end:
            return NOTHING
        start = self._positions[first]
        fitting = bisect_right(self._positions, start + max_bytes) - 1
        if self.size - start <= max_bytes:
            fitting = len(self._batches)
        count = min(end, fitting) - first
        if count <= 0:
            return KnownSlice(self._batches[first]) if min_one else NOTHING
        if count == 1:
            return KnownSlice(self._batches[first])
        last = first + count
        size = (self._positions[last] if last < len(self._batches) else self.size) - start
        return MemorySlice(self._batches[first:last], size)

    def _find(self, offset: int) -> int:
        """The number of the first batch that ends at or above `offset`."""
        number = max(bisect_right(self._bases, offset) - 1, 0)
        if number < len(self._batches) and read_header(self._batches[number]).last_offset < offset:
            number += 1
        return number

    def headers(self, from_offset: int) -> Iterator[tuple[int, BatchHeader]]:
        for number in range(self._find(from_offset), len(self._batches)):
            yield self._positions[number], read_header(self._batches[number])

    def batch(self, position: int, size: int) -> Buffer:
        return self._batches[bisect_left(self._positions, position)][:size]

    def latest(self) -> tuple[int, int]:
        return self._latest

    def first_timestamp(self) -> int:
        return self._first_timestamp

    def batches(self) -> Iterator[Batch]:
        for batch in self._batches:
            yield batch, 0, read_header(batch)

    def older_than(self, timestamp: int) -> int:
        number = bisect_left(self._latest_so_far, timestamp)
        return self._bases[number] if number < len(self._bases) else self.next_offset

    def latest_before(self, offset: int) -> tuple[int, int]:
        return NO_TIMESTAMP, self.base_offset

    def truncate(self, offset: int) -> None:
        number = self._find(offset)
        if number == len(self._batches):
            return
        self.size = self._positions[number]
        del self._batches[number:], self._bases[number:], self._positions[number:]
        del self._latest_so_far[number:]
        self.next_offset = self.base_offset
        self._latest = (NO_TIMESTAMP, self.base_offset)
        for batch in self._batches:
            header = read_header(batch)
            self.next_offset = header.next_offset
            if header.max_timestamp > self._latest[0]:
                self._latest = header.max_timestamp, header.last_offset

    def remove(self) -> None:
        pass


class MemorySegments:
    durable = False

    def __init__(self) -> None:
        self.active = MemorySegment(0)
        self.segments = [self.active]

    def open(
        self, config: LogConfig, log_start_offset: int, recovery_point: int | None, clean: bool
    ) -> Recovery:
        self.restart_at(log_start_offset, config)
        return Recovery()

    def roll(self, base_offset: int, config: LogConfig) -> None:
        self.active = MemorySegment(base_offset)
        self.segments.append(self.active)

    def truncate(self, offset: int, config: LogConfig) -> None:
        bases = [segment.base_offset for segment in self.segments]
        del self.segments[max(bisect_right(bases, offset), 1) :]
        self.active = self.segments[-1]
        self.active.truncate(offset)

    def restart_at(self, offset: int, config: LogConfig, known_to: int = -1) -> None:
        self.active = MemorySegment(offset)
        self.segments = [self.active]

    def detach(self, count: int) -> list[Segment]:
        detached: list[Segment] = list(self.segments[:count])
        del self.segments[:count]
        return detached

    def remove(self, segments: Sequence[Segment]) -> None:
        pass

    @property
    def unfinished_swap(self) -> Swap | None:
        return None

    def swap(self, old: Sequence[Segment], cleaned: Cleaned) -> Swap:
        raise NotImplementedError("memory has no files to swap")

    def replace(self, old: Sequence[Segment], new: Segment) -> None:
        assert isinstance(new, MemorySegment)
        gone = set(map(id, old))
        self.segments = [segment for segment in self.segments if id(segment) not in gone]
        at = bisect_right(self.segments, new.base_offset, key=lambda s: s.base_offset)
        self.segments.insert(at, new)

    def remove_cleaned(self) -> None:
        pass

    def flush(self, end_offset: int) -> Flush:
        raise NotImplementedError("memory has nothing to flush")

    def end_flush(self, flush: Flush) -> None:
        raise NotImplementedError("memory has nothing to flush")

    def repair_tail(self, flush: Flush | None, recovery_point: int) -> None:
        raise NotImplementedError("memory has nothing to flush")

    def checkpoint(self, offset: int, snapshot: tuple[int, bytes] | None) -> Checkpoint:
        raise NotImplementedError("memory has nothing to recover")

    def end_checkpoint(self, checkpoint: Checkpoint) -> None:
        raise NotImplementedError("memory has nothing to recover")

    def write_snapshot(self, offset: int, data: bytes) -> None:
        pass

    def latest_snapshot(self, max_offset: int) -> tuple[int, bytes] | None:
        return None

    def close(self, clean: bool) -> None:
        pass
