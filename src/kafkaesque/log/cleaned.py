"""Where compaction writes: segments under names that end in `.cleaned`, which nobody reads yet.

    <base offset>.log.cleaned | .index.cleaned | .timeindex.cleaned

`CleanedSegment` is one of them. `CleanedSegments` writes what is left of one old segment after the
other and lets small neighbours share one, up to the size of a segment and of its indexes. How much
is left of an old segment shows only when it is written: what turns out too large for the one
before is taken out of it again, and begins the next.
Bytes are synced as they come: one large sync at the end would hold up the broker's own.
Above: compact.py. Below: files.py, index.py; store.py for the shape of the result.
"""

from collections.abc import Sequence

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.config import LogConfig
from kafkaesque.log.files import Files
from kafkaesque.log.index import MAX_RELATIVE_OFFSET, SegmentIndex
from kafkaesque.log.segment import walk
from kafkaesque.log.segment_files import CLEANED, INDEX, LOG, SUFFIXES, TIME_INDEX
from kafkaesque.log.store import Cleaned
from kafkaesque.records.batch import read_header
from kafkaesque.types import Buffer

_WRITE_BYTES = 1 << 20
_SYNC_BYTES = 8 << 20
_MOST_REPLACED = 64
"""Old segments that one may replace: while it does, three files of each are held open."""
_LARGEST_FILE = MAX_RELATIVE_OFFSET


class CleanedSegment:
    def __init__(self, files: Files, directory: str, base_offset: int, interval_bytes: int) -> None:
        self.base_offset = base_offset
        self.next_offset = base_offset
        self.size = 0
        self.index = SegmentIndex(base_offset, interval_bytes)
        self._files = files
        self._stem = f"{directory}/{base_offset:020d}"
        self._pending = bytearray()
        self._synced = 0
        # Never written over: a child that lost its broker may still hold what it left here.
        self.remove()
        self._file = files.open(self._path(LOG), create=True)

    def _path(self, suffix: str) -> str:
        return self._stem + suffix + CLEANED

    def remove(self) -> None:
        for suffix in SUFFIXES:
            if self._files.exists(self._path(suffix)):
                self._files.remove(self._path(suffix))

    def append(self, batch: Buffer) -> None:
        header = read_header(batch)
        if self.size + len(batch) > _LARGEST_FILE:
            message = f"what is left of segment {self.base_offset} does not fit a file"
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, message)
        self.index.add(header.last_offset, header.max_timestamp, self.size, len(batch))
        self._pending += batch
        self.size += len(batch)
        self.next_offset = header.next_offset
        if len(self._pending) >= _WRITE_BYTES:
            self._write()

    def _write(self) -> None:
        at = self.size - len(self._pending)
        self._file.pwrite(self._pending, at)
        self._pending = bytearray()
        if self.size - self._synced >= _SYNC_BYTES:
            self._file.sync()
            self._synced = self.size

    def move_tail(self, position: int, offset: int, to: "CleanedSegment") -> None:
        """Give another one the batches from `position` on; they begin at or above `offset`."""
        self._write()
        for at, header in walk(self._file, position, self.size):
            to.append(self._file.pread(header.size, at))
        self._file.truncate(position)
        self.size = position
        self.next_offset = self.base_offset
        self._synced = min(self._synced, position)
        for at, header in walk(self._file, self.index.cut(offset), position):
            self.index.add(header.last_offset, header.max_timestamp, at, header.size)
            self.next_offset = header.next_offset

    def finish(self) -> Cleaned:
        """Its bytes and indexes are on disk when this returns; its names need not be."""
        self._write()
        self._file.sync()
        self._file.close()
        self.index.note_max_timestamp()
        for suffix, entries in (
            (INDEX, self.index.offset_bytes()),
            (TIME_INDEX, self.index.time_bytes()),
        ):
            file = self._files.open(self._path(suffix), create=True)
            file.pwrite(entries, 0)
            file.sync()
            file.close()
        return Cleaned(
            self.base_offset,
            self.next_offset,
            self.size,
            self.index.max_timestamp,
            self.index.offset_of_max_timestamp,
        )


class CleanedSegments:
    """`begin` an old segment, `append` what is left of it, `end` it; `finish` after the last."""

    def __init__(self, files: Files, directory: str, config: LogConfig) -> None:
        self._files = files
        self._directory = directory
        self._config = config
        self._current: CleanedSegment | None = None
        self._replaced = 0
        self._is_changed = False
        self._end_mark: bytes | None = None
        self._finished: list[Cleaned] = []
        # Of the old segment that is being written: where it begins in the new one.
        self._base_offset = 0
        self._position = 0

    def begin(self, base_offset: int, next_offset: int) -> None:
        current = self._current
        if current is not None and (
            self._replaced >= _MOST_REPLACED
            or next_offset - 1 - current.base_offset > MAX_RELATIVE_OFFSET
        ):
            self._close(current)
            current = None
        if current is None:
            current = self._current = self._new(base_offset)
        self._base_offset = base_offset
        self._position = current.size

    def append(self, batch: Buffer) -> None:
        assert self._current is not None
        self._current.append(batch)

    def end(self, is_changed: bool, end_mark: bytes | None) -> None:
        """`is_changed`: something of the old segment is gone, or written differently.

        `end_mark` is to be the last batch, should the new segment end here.
        """
        current = self._current
        assert current is not None
        if self._replaced and self._is_too_large(current, end_mark):
            following = self._new(self._base_offset)
            current.move_tail(self._position, self._base_offset, following)
            self._close(current)
            self._current = following
        self._replaced += 1
        self._is_changed |= is_changed
        self._end_mark = end_mark

    def _is_too_large(self, current: CleanedSegment, end_mark: bytes | None) -> bool:
        size = current.size + len(end_mark or b"")
        is_full = current.index.is_full(self._config.segment_index_bytes)
        return size > self._config.segment_bytes or is_full

    def finish(self) -> Sequence[Cleaned]:
        if self._current is not None:
            self._close(self._current)
        return self._finished

    def _new(self, base_offset: int) -> CleanedSegment:
        interval = self._config.index_interval_bytes
        return CleanedSegment(self._files, self._directory, base_offset, interval)

    def _close(self, segment: CleanedSegment) -> None:
        if self._end_mark is not None:
            segment.append(self._end_mark)
        if self._is_changed or self._replaced > 1:
            self._finished.append(segment.finish())
        else:
            segment.remove()
        self._current, self._end_mark = None, None
        self._replaced, self._is_changed = 0, False
