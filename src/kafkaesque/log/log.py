"""A log: batches by offset, in segments. Append at the end, read anywhere, drop from the start.

    log start offset <= flushed offset <= end offset (the next to be written)

All of it belongs to the event loop, and none of it waits for the disk, except where it says
"blocking": that is for a thread. A flush, a checkpoint and a swap are begun on the loop, run in a
thread and ended on the loop; appends go on meanwhile. Readers stay below the flushed offset, which
is the broker's business, so what lies above it may be dropped at any time.
The route of a record: broker/partition.py, then here, then segment.py (or memory.py), files.py.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import is_

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log import retention, timestamps
from kafkaesque.log.config import LogConfig
from kafkaesque.log.disk import DiskSegments
from kafkaesque.log.index import MAX_RELATIVE_OFFSET
from kafkaesque.log.memory import MemorySegments
from kafkaesque.log.slices import NOTHING, Hints, Slice, unreadable
from kafkaesque.log.store import Checkpoint, Cleaned, Flush, Recovery, Segment, Store, Swap
from kafkaesque.records.batch import BatchHeader
from kafkaesque.types import Buffer

__all__ = ["Checkpoint", "Flush", "Log", "LogConfig", "Recovery", "Segment", "Slice", "Swap"]


class Log:
    """Attributes are to be read; only `config` may be assigned."""

    def __init__(
        self,
        store: Store,
        config: LogConfig,
        recovery: Recovery,
        log_start_offset: int,
        recovery_point: int,
    ) -> None:
        self.config = config
        self.recovery = recovery
        self.log_start_offset = log_start_offset
        self.end_offset = store.active.next_offset
        self.flushed_offset = self.end_offset
        self.recovery_point = min(recovery_point, self.end_offset)
        self.size = sum(segment.size for segment in store.segments)
        self._store = store
        self._active = store.active
        self._durable = store.durable
        self._flush: Flush | None = None
        self._hints = Hints()
        self._removed_size = 0

    @classmethod
    def open(
        cls,
        store: DiskSegments | MemorySegments,
        config: LogConfig,
        *,
        log_start_offset: int | None = None,
        recovery_point: int | None = None,
        clean: bool = False,
    ) -> "Log":
        """Blocking. After a clean stop the recovery point is the log's end, and nothing is read."""
        start = log_start_offset or 0
        try:
            recovery = store.open(config, start, recovery_point, clean)
            start = max(start, store.segments[0].base_offset)
            end = store.active.next_offset
            if start > end:
                recovery.sentences.append(
                    f"the log ended at {end}, below its start offset {start}, and begins anew there"
                )
                store.restart_at(start, config)
        except OSError as error:
            raise unreadable(error) from error
        return cls(store, config, recovery, start, recovery_point or 0)

    def append(self, batch: Buffer, header: BatchHeader, now_ms: int) -> None:
        """Add one batch that is stamped and validated. A failure leaves the log as it was."""
        try:
            if self._active.must_roll(header, now_ms, self.config):
                self._roll_for(header)
            self._active.append(batch, header, now_ms)
        except OSError as error:
            raise _unwritable(error) from error
        self.size += len(batch)
        self.end_offset = header.base_offset + header.last_offset_delta + 1
        if not self._durable:
            self.flushed_offset = self.end_offset

    def roll(self) -> None:
        """Seal the active segment, unless it is empty, and begin a new one."""
        if self._active.size:
            try:
                self._roll(self.end_offset)
            except OSError as error:
                raise _unwritable(error) from error

    def _roll_for(self, header: BatchHeader) -> None:
        fits = header.last_offset - self.end_offset <= MAX_RELATIVE_OFFSET
        self._roll(self.end_offset if fits else header.base_offset)

    def _roll(self, base_offset: int) -> None:
        self._store.roll(base_offset, self.config)
        self._active = self._store.active

    def read(self, offset: int, max_bytes: int, limit: int, *, min_one: bool = True) -> Slice:
        """Whole batches below `limit`, which is a batch's edge, from the one with `offset` on.

        The first is part of it even if it exceeds `max_bytes`, unless `min_one` is false.
        """
        if not self.log_start_offset <= offset <= self.end_offset:
            raise self._out_of_range(offset)
        if offset >= limit or offset == self.end_offset:
            return NOTHING
        segment = self._segment(offset)
        return segment.slice(offset, max_bytes, limit, min_one, self._hints)

    def _segment(self, offset: int) -> Segment:
        """The segment whose range contains `offset`."""
        if offset >= self._active.base_offset:
            return self._active
        return self._store.segments[self._segment_number(offset)]

    def _segment_number(self, offset: int) -> int:
        segments = self._store.segments
        return max(bisect_right(segments, offset, key=lambda s: s.base_offset) - 1, 0)

    def _out_of_range(self, offset: int) -> KafkaError:
        return KafkaError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"offset {offset} is not in [{self.log_start_offset}, {self.end_offset}]",
        )

    def headers(self, from_offset: int) -> Iterator[BatchHeader]:
        """The headers of all batches that end at or above an offset. Blocking."""
        segments = self._store.segments[self._segment_number(from_offset) :]
        try:
            for segment in segments:
                for _, header in segment.headers(from_offset):
                    yield header
        except OSError as error:
            raise unreadable(error) from error

    def offset_for_timestamp(self, timestamp: int, limit: int) -> tuple[int, int] | None:
        """(offset, timestamp) of the first record below `limit` not older than that. Blocking."""
        return _whole(self.search_timestamp(timestamp, limit))

    def search_timestamp(
        self, timestamp: int, limit: int, max_unpacked: int = timestamps.MAX_UNPACKED_BYTES
    ) -> timestamps.Search:
        """The same in steps, for a thread: of the segments that there are now. A batch that unpacks
        to more than `max_unpacked` raises TooLargeError.
        """
        segments = self._readable_segments(limit)
        start = self.log_start_offset
        found = timestamps.first_at_or_after(segments, timestamp, start, limit, max_unpacked)
        return _search(found)

    def offset_of_max_timestamp(self, limit: int) -> tuple[int, int] | None:
        """(offset, timestamp) of the first of the newest records below `limit`. Blocking."""
        return _whole(self.search_max_timestamp(limit))

    def search_max_timestamp(
        self, limit: int, max_unpacked: int = timestamps.MAX_UNPACKED_BYTES
    ) -> timestamps.Search:
        """The same in steps, for a thread: of the segments that there are now."""
        segments = self._readable_segments(limit)
        return _search(timestamps.latest(segments, self.log_start_offset, limit, max_unpacked))

    def _readable_segments(self, limit: int) -> Sequence[Segment]:
        return [segment for segment in self._store.segments if segment.base_offset < limit]

    @property
    def flushing(self) -> bool:
        return self._flush is not None

    def begin_flush(self) -> Flush | None:
        """A job that makes all of the log durable. None: nothing to do, or one is under way."""
        if self._flush is not None or self.flushed_offset == self.end_offset:
            return None
        self._flush = self._store.flush(self.end_offset)
        return self._flush

    def end_flush(self, flush: Flush) -> None:
        """Its `run` has returned: what it covers is durable."""
        if flush is not self._flush:
            raise ValueError("that flush is not under way")
        self._flush = None
        self._store.end_flush(flush)
        if flush.end_offset > self.flushed_offset:
            self.flushed_offset = flush.end_offset
            if flush.position is not None:
                self._hints.note(flush.end_offset, flush.position)

    def recover_from_failed_flush(self) -> None:
        """A flush's `run` has raised: drop what it may have lost, and look at the disk. Blocking.

        After a failed fsync the kernel calls its pages clean though the disk lacks them, so neither
        another fsync nor a read of the page cache proves anything. Everything above the flushed
        offset goes, and what is left is synced and read back from the disk. Where the log starts
        above that, nothing is left.
        Raises KafkaError while the disk still fails; it may be called again.
        """
        if self.flushed_offset < self.log_start_offset:
            self._restart()
        else:
            self.truncate(self.flushed_offset)
        try:
            self._store.repair_tail(self._flush, self.recovery_point)
        except OSError as error:
            raise _unwritable(error) from error
        self._flush = None

    def truncate(self, offset: int) -> None:
        """Drop the batch that contains `offset`, and all after it. Blocking.

        Below the flushed offset only after a recovery point at or below `offset` was written.
        Durable when it returns; where it raises, the log needs `recover_from_failed_flush`.
        """
        if not self.log_start_offset <= offset <= self.end_offset:
            raise self._out_of_range(offset)
        self._hints = Hints()
        try:
            self._store.truncate(offset, self.config)
        except OSError as error:
            raise _unwritable(error) from error
        if self._store.active.next_offset < self.log_start_offset:
            self._restart()
        else:
            self._adopt_active()

    def _restart(self) -> None:
        """Begin anew where the log starts: of what was durable, nothing is read any more."""
        self._hints = Hints()
        try:
            self._store.restart_at(self.log_start_offset, self.config, self.flushed_offset)
        except OSError as error:
            raise _unwritable(error) from error
        self._adopt_active()
        self.flushed_offset = self.end_offset

    def _adopt_active(self) -> None:
        """The store has dropped the end of the log."""
        self._active = self._store.active
        self.end_offset = self._active.next_offset
        self.size = sum(segment.size for segment in self._store.segments)
        self.flushed_offset = min(self.flushed_offset, self.end_offset)
        self.recovery_point = min(self.recovery_point, self.end_offset)
        if self._flush is not None:
            self._flush.lower(self.end_offset)

    def delete_before(self, offset: int) -> list[Segment]:
        """Start the log at `offset`. Returns the segments that are now wholly below it.

        They are not read any more. Write the log start offset to disk, then `remove_segments`.
        """
        if offset > self.end_offset:
            raise self._out_of_range(offset)
        self.log_start_offset = max(self.log_start_offset, offset)
        segments = self._store.segments
        count = sum(segment.next_offset <= self.log_start_offset for segment in segments[:-1])
        removed = self._store.detach(count)
        self._shrink(sum(segment.size for segment in removed))
        return removed

    def _shrink(self, size: int) -> None:
        self.size -= size
        self._removed_size += size

    @property
    def appended_size(self) -> int:
        """Bytes there are, and those that were removed from the start or by compaction: it grows
        by what is appended, and by nothing else.
        """
        return self.size + self._removed_size

    def enforce_retention(self, now_ms: int) -> list[Segment]:
        """`delete_before` what the config calls too old or too much. May roll."""
        segments = self._store.segments
        start = retention.retained_from(segments, self.config, self.flushed_offset, now_ms)
        if start == self.end_offset and self._active.size:
            try:
                self.roll()
            except KafkaError:
                # A full disk has no room for a new segment: what is sealed makes some.
                start = self._active.base_offset
        return self.delete_before(start)

    def remove_segments(self, segments: Sequence[Segment]) -> None:
        """Delete the files of segments that `delete_before` returned. Blocking; raises OSError."""
        if segments:
            self._store.remove(segments)

    @property
    def sealed(self) -> Sequence[Segment]:
        """All segments but the active one, oldest first: only these may be compacted."""
        return self._store.segments[:-1]

    def roll_if_older(self, timestamp: int) -> None:
        """Seal the active segment if its first record is older than that."""
        if self._active.size and 0 <= self._active.first_timestamp() < timestamp:
            self.roll()

    def swap(self, old: Sequence[Segment], cleaned: Cleaned) -> Swap | None:
        """A job that puts a compacted segment in the place of those that it was made of.

        Let nobody remove segments until it has ended. None: they are not all there any more, or
        another swap is unfinished.
        """
        if self.unfinished_swap is not None:
            return None
        number = self._segment_number(old[0].base_offset)
        there = self.sealed[number : number + len(old)]
        if len(there) != len(old) or not all(map(is_, there, old)):
            return None
        return self._store.swap(old, cleaned)

    @property
    def unfinished_swap(self) -> Swap | None:
        """One that is under way, or that a failing disk has broken off: `finish` it."""
        return self._store.unfinished_swap

    def end_swap(self, swap: Swap) -> None:
        """It is completed: read the new segment from now on."""
        self.replace(swap.old, swap.new)

    def replace(self, old: Sequence[Segment], new: Segment) -> None:
        """Read `new` in the place of `old`. Whoever reads those at the moment is not disturbed."""
        self._store.replace(old, new)
        self._hints = Hints()
        self._shrink(self.size - sum(segment.size for segment in self._store.segments))

    def remove_cleaned(self) -> None:
        """Delete what compaction has written and nobody has asked for. Blocking; raises OSError."""
        self._store.remove_cleaned()

    def checkpoint(self, snapshot: tuple[int, bytes] | None = None) -> Checkpoint | None:
        """A job after which recovery need not look below the flushed offset of now.

        One at a time: one that was not ended counts as failed. Let it end before a truncation.
        `snapshot` is (offset, bytes) of the broker's producer state, written with it. What was
        appended since it was taken has to be looked at, though it be flushed.
        """
        if not self._durable or (snapshot is None and self.recovery_point == self.flushed_offset):
            return None
        offset = self.flushed_offset if snapshot is None else min(snapshot[0], self.flushed_offset)
        return self._store.checkpoint(offset, snapshot)

    def end_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Its `run` has returned. Its offset may now be written as the recovery point."""
        self._store.end_checkpoint(checkpoint)
        # A truncation meanwhile may have gone below it.
        checkpoint.offset = min(checkpoint.offset, self.flushed_offset)
        self.recovery_point = checkpoint.offset

    def write_snapshot(self, offset: int, data: bytes) -> None:
        """Keep the broker's producer state at an offset. Blocking; raises OSError."""
        self._store.write_snapshot(offset, data)

    def latest_snapshot(self, max_offset: int | None = None) -> tuple[int, bytes] | None:
        """The last readable snapshot at or below an offset, by default the log's end. Blocking."""
        return self._store.latest_snapshot(self.end_offset if max_offset is None else max_offset)

    def close(self, clean: bool) -> None:
        """Let go of the files. Blocking. `clean` first makes everything durable, or raises."""
        try:
            self._store.close(clean)
        except OSError as error:
            raise _unwritable(error) from error
        if clean:
            self.flushed_offset = self.recovery_point = self.end_offset


def _search(search: timestamps.Search) -> timestamps.Search:
    try:
        return (yield from search)
    except OSError as error:
        raise unreadable(error) from error


def _whole(search: timestamps.Search) -> tuple[int, int] | None:
    while True:
        try:
            next(search)
        except StopIteration as end:
            found: tuple[int, int] | None = end.value
            return found


def _unwritable(error: OSError) -> KafkaError:
    reason = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
    return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log cannot be written: {reason}")
