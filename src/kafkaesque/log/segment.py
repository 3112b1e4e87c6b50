"""A segment on disk: a .log file of batches, and its .index and .timeindex beside it.

`ActiveSegment` is the last of a log and takes appends; its indexes live in memory and reach their
files when the log is checkpointed, sealed or closed. `SealedSegment` never changes, and its indexes
are searched where they lie. After a clean stop neither reads anything until it is first used.
Above: disk.py, log.py. Below: slices.py, index.py, segment_files.py.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.config import LogConfig
from kafkaesque.log.files import File, fetch
from kafkaesque.log.index import (
    MAX_RELATIVE_OFFSET,
    OFFSET_ENTRY_SIZE,
    TIME_ENTRY_SIZE,
    OffsetIndexFile,
    SegmentIndex,
    TimeIndexFile,
)
from kafkaesque.log.segment_files import INDEX, LOG, TIME_INDEX, SegmentFiles
from kafkaesque.log.slices import FileSlice, Hints, OffsetIndex, Slice, locate
from kafkaesque.records.batch import HEADER_SIZE, NO_TIMESTAMP, BatchHeader, read_header
from kafkaesque.types import Buffer

_WALK_BYTES = 65536


def walk(file: File, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """The headers of the batches in [position, end). CORRUPT_MESSAGE where they do not fill it."""
    while position < end:
        window = fetch(file, min(_WALK_BYTES, end - position), position, True)
        at = 0
        while at + HEADER_SIZE <= len(window):
            header = read_header(window, at)
            yield position + at, header
            at += header.size
        if at == 0:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"half a batch header at byte {position}")
        position += at
    if position != end:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"a batch lacks {position - end} bytes")


class DiskSegment(ABC):
    """What active and sealed segments have in common: a file that can be read."""

    __slots__ = ("base_offset", "files", "following", "next_offset", "size")

    def __init__(self, files: SegmentFiles, next_offset: int, size: int) -> None:
        self.files = files
        self.base_offset = files.base_offset
        self.next_offset = next_offset
        self.size = size
        self.following: DiskSegment | None = None

    @abstractmethod
    def file(self) -> File: ...

    @abstractmethod
    def offset_index(self, wait: bool) -> OffsetIndex: ...

    def slice(self, offset: int, max_bytes: int, limit: int, min_one: bool, hints: Hints) -> Slice:
        return FileSlice(self, offset, max_bytes, limit, min_one, hints)

    def headers(self, from_offset: int) -> Iterator[tuple[int, BatchHeader]]:
        """(position, header) of the batches that end at or above an offset. Blocking."""
        size = self.size
        position = locate(self, from_offset, True)
        if position is not None:
            yield from walk(self.file(), position, size)

    def batch(self, position: int, size: int) -> Buffer:
        return fetch(self.file(), size, position, True)

    def remove(self) -> None:
        self.files.remove()


class SealedSegment(DiskSegment):
    """`index`: only memory has it, until a checkpoint has written it."""

    __slots__ = ("_first_timestamp", "_latest", "index")

    def __init__(
        self,
        files: SegmentFiles,
        next_offset: int,
        size: int,
        latest: tuple[int, int] | None = None,
        index: SegmentIndex | None = None,
    ) -> None:
        super().__init__(files, next_offset, size)
        self._first_timestamp: int | None = None
        self._latest = latest
        self.index = index

    def file(self) -> File:
        return self.files.pooled(LOG)

    def offset_index(self, wait: bool) -> OffsetIndex:
        return self.index or OffsetIndexFile(self.files.pooled(INDEX), self.base_offset, wait)

    def latest(self) -> tuple[int, int]:
        """The largest timestamp, and the last offset of the batch that has it."""
        if self._latest is None:
            self._latest = self._time_index().last()
        return self._latest

    def first_timestamp(self) -> int:
        if self._first_timestamp is None:
            self._first_timestamp = read_header(self.batch(0, HEADER_SIZE)).max_timestamp
        return self._first_timestamp

    def older_than(self, timestamp: int) -> int:
        return self._time_index().older_than(timestamp)

    def latest_before(self, offset: int) -> tuple[int, int]:
        return self._time_index().latest_before(offset)

    def _time_index(self) -> SegmentIndex | TimeIndexFile:
        return self.index or TimeIndexFile(self.files.pooled(TIME_INDEX), self.base_offset)


class ActiveSegment(DiskSegment):
    __slots__ = (
        "_created_ms",
        "_file",
        "_first_timestamp",
        "_index",
        "_interval_bytes",
        "_offset_entries_written",
        "_repairs",
        "_time_entries_written",
        "_torn",
        "dirty",
        "index_generation",
        "is_damaged",
    )

    def __init__(
        self,
        files: SegmentFiles,
        next_offset: int,
        size: int,
        interval_bytes: int,
        repairs: list[str],
    ) -> None:
        """One that exists: its index is read when it is first needed."""
        super().__init__(files, next_offset, size)
        self.dirty = False
        self.index_generation = 0
        self.is_damaged = False
        self._interval_bytes = interval_bytes
        self._repairs = repairs
        self._file: File | None = None
        self._index: SegmentIndex | None = None
        self._offset_entries_written = 0
        self._time_entries_written = 0
        self._first_timestamp = NO_TIMESTAMP
        self._created_ms = -1
        self._torn = False

    @classmethod
    def create(cls, files: SegmentFiles, interval_bytes: int) -> "ActiveSegment":
        segment = cls(files, files.base_offset, 0, interval_bytes, [])
        segment._file = files.create_log()
        segment._index = SegmentIndex(files.base_offset, interval_bytes)
        return segment

    def file(self) -> File:
        if self._file is None:
            self._file = self.files.open(LOG)
        return self._file

    def offset_index(self, wait: bool) -> SegmentIndex:
        return self._index or self.load_index()

    @property
    def is_touched(self) -> bool:
        """Whether anything was read or written since the log was opened."""
        return self._index is not None

    def append(self, batch: Buffer, header: BatchHeader, now_ms: int) -> None:
        index = self._index or self.load_index()
        file = self._file or self.file()
        position = self.size
        if self._torn:
            self.cut_torn_bytes()
        try:
            file.pwrite(batch, position)
        except OSError:
            self._torn = True
            raise
        last_offset = header.base_offset + header.last_offset_delta
        index.add(last_offset, header.max_timestamp, position, len(batch))
        if position == 0:
            self._first_timestamp = header.max_timestamp
        if self._created_ms < 0:
            self._created_ms = now_ms
        self.size = position + len(batch)
        self.next_offset = last_offset + 1
        self.dirty = True

    def must_roll(self, header: BatchHeader, now_ms: int, config: LogConfig) -> bool:
        """Whether the batch belongs into a new segment, by Kafka's rules."""
        if header.base_offset + header.last_offset_delta - self.base_offset > MAX_RELATIVE_OFFSET:
            return True
        if self.size == 0:
            return False
        if self.size + header.size > config.segment_bytes:
            return True
        index = self._index or self.load_index()
        return self._waited_ms(header, now_ms) > config.segment_ms or index.is_full(
            config.segment_index_bytes
        )

    def _waited_ms(self, header: BatchHeader, now_ms: int) -> int:
        """By the records' own clock, as in Kafka; by the wall's only where they have none."""
        if self._first_timestamp >= 0:
            return header.max_timestamp - self._first_timestamp
        return now_ms - self._created_ms if self._created_ms >= 0 else 0

    def cut_torn_bytes(self) -> None:
        """Drop what a failed write left behind the last batch.

        Overwriting it would not do: the rest of a longer batch could hold bytes that look like one.
        """
        if self._torn:
            self.file().truncate(self.size)
            self.dirty = True
            self._torn = False

    def latest(self) -> tuple[int, int]:
        index = self._index or self.load_index()
        return index.max_timestamp, index.offset_of_max_timestamp

    def first_timestamp(self) -> int:
        if self._index is None:
            self.load_index()
        return self._first_timestamp

    def older_than(self, timestamp: int) -> int:
        return (self._index or self.load_index()).older_than(timestamp)

    def latest_before(self, offset: int) -> tuple[int, int]:
        return (self._index or self.load_index()).latest_before(offset)

    def load_index(self) -> SegmentIndex:
        """Read the indexes, and check that the log ends where it was closed."""
        closed_at = self.next_offset
        index = self.measure()
        if self.size and self.next_offset != closed_at:
            self._index, found, self.next_offset = None, self.next_offset, closed_at
            self.is_damaged = True
            raise KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR,
                f"{self.files.path(LOG)} was closed at offset {closed_at} and now ends at {found}: "
                "restart the broker, and it scans the log",
            )
        return index

    def measure(self) -> SegmentIndex:
        """Read the indexes, and the batches behind their last entries: so the end is known."""
        index = self.files.load_index(self._interval_bytes, self.size)
        if index is None:
            self._repairs.append(f"{self.files.path(INDEX)}: missing or damaged, built anew")
            index = SegmentIndex(self.base_offset, self._interval_bytes)
        self.adopt(index, index.last_position)
        return index

    def adopt(self, index: SegmentIndex, position: int) -> None:
        """Take over an index that knows, and has in its files, the batches before `position`."""
        self._offset_entries_written = len(index.offsets)
        self._time_entries_written = len(index.timestamps)
        self._extend_index(index, position)
        self._index = index

    def _extend_index(self, index: SegmentIndex, position: int) -> None:
        for at, header in walk(self.file(), position, self.size):
            index.add(header.last_offset, header.max_timestamp, at, header.size)
            self.next_offset = header.next_offset
        if self.size:
            self._first_timestamp = read_header(self.batch(0, HEADER_SIZE)).max_timestamp

    def truncate(self, offset: int) -> None:
        """Drop the batch that contains `offset`, and all after it."""
        position = locate(self, offset, True)
        if position is None:
            return
        index = self.offset_index(True)
        whole = self.size, self.next_offset
        try:
            self.size, self.next_offset = position, self.base_offset
            self._extend_index(index, index.cut(offset))
            self.file().truncate(position)
        except (OSError, KafkaError):
            # Nothing is gone: the index is read again when it is needed.
            self._index, (self.size, self.next_offset) = None, whole
            raise
        self.dirty = True
        self._torn = False
        self.index_generation += 1
        self._offset_entries_written = min(self._offset_entries_written, len(index.offsets))
        self._time_entries_written = min(self._time_entries_written, len(index.timestamps))
        self.write_index()

    def unwritten_index(self) -> list[tuple[str, bytes, int]]:
        """(suffix, bytes, position) of the entries that the index files lack."""
        if self._index is None:
            return []
        self._index.note_max_timestamp()
        offsets, times = self._offset_entries_written, self._time_entries_written
        return [
            (INDEX, self._index.offset_bytes(offsets), offsets * OFFSET_ENTRY_SIZE),
            (TIME_INDEX, self._index.time_bytes(times), times * TIME_ENTRY_SIZE),
        ]

    def mark_written(self, offset_entries: int, time_entries: int) -> None:
        self._offset_entries_written = max(self._offset_entries_written, offset_entries)
        self._time_entries_written = max(self._time_entries_written, time_entries)

    def forget_written_index(self) -> None:
        """Have all of the index written again."""
        self._offset_entries_written = 0
        self._time_entries_written = 0

    def write_index(self) -> None:
        index = self._index or self.load_index()
        for suffix, data, position in self.unwritten_index():
            self.files.write_index(suffix, data, position)
        self._offset_entries_written = len(index.offsets)
        self._time_entries_written = len(index.timestamps)

    def seal(self) -> SealedSegment:
        """The same files, complete. Raises OSError, and can be tried again."""
        self.finish()
        return SealedSegment(self.files, self.next_offset, self.size, self.latest())

    def finish(self) -> None:
        """Complete the files: no torn bytes, and the largest timestamp in the time index."""
        self.cut_torn_bytes()
        self.write_index()

    def release(self) -> None:
        """Let go of the file. A reader or a flush that still holds it is not disturbed."""
        self._file = None
