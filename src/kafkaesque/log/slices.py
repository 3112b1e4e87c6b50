"""What a read returns: whole batches of one segment, as they lie in its file.

A slice is planned on the event loop and read there without waiting, or in a thread where the page
cache lacks some of it (`read_nowait` gave None). A reader whose last read came from the disk is not
even tried on the loop: Linux would begin to read there, and that alone can take milliseconds.
Where both ends are known the read is one pread
of exactly those bytes. `Hints` makes that the common case: it remembers where earlier reads and
flushes ended. Else the offset index says where to start looking, and headers are walked for at
most an index interval at each end.
Above: log.py hands slices to the broker. Below: segment.py's files and indexes.
"""

from struct import Struct
from typing import Protocol

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.files import File, NotCachedError, fetch
from kafkaesque.records.batch import HEADER_SIZE, LOG_OVERHEAD
from kafkaesque.types import Buffer

_LENGTH = Struct(">qi")  # base offset, batch length
_SPAN = Struct(">qi11xi")  # and the last offset's delta, at byte 23
_SMALLEST_LENGTH = HEADER_SIZE - LOG_OVERHEAD
_WINDOW_BYTES = 8192
_SLOTS = 61
_COLD_BYTES = 512 * 1024
"""What is read from the disk at a time, unless one batch is larger: a flush has to wait for it."""


class Slice(Protocol):
    size: int
    """What it spans: exact at the log's tail, else an estimate. 0: there is nothing to read."""

    def read_nowait(self) -> Buffer | None:
        """The bytes, or None where the disk would have to be waited for."""

    def read(self) -> Buffer:
        """The bytes. May wait for the disk: for a thread."""


class Hints:
    """offset -> position of the batch that starts there, and whether what came before it had to be
    read from the disk. Small, lossy, fit for threads.
    """

    __slots__ = ("_slots",)

    def __init__(self) -> None:
        self._slots = [(-1, 0, False)] * _SLOTS

    def find(self, offset: int) -> int | None:
        known, position, _ = self._slots[offset % _SLOTS]
        return position if known == offset else None

    def is_cold(self, offset: int) -> bool:
        known, _, cold = self._slots[offset % _SLOTS]
        return cold and known == offset

    def note(self, offset: int, position: int, cold: bool = False) -> None:
        self._slots[offset % _SLOTS] = (offset, position, cold)


class OffsetIndex(Protocol):
    def floor(self, offset: int) -> int: ...

    def last_before(self, position: int, limit: int) -> int: ...


class Source(Protocol):
    """The segment that a slice reads from, and those after it."""

    @property
    def base_offset(self) -> int: ...

    @property
    def next_offset(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def following(self) -> "Source | None": ...

    def file(self) -> File: ...

    def offset_index(self, wait: bool) -> OffsetIndex: ...


class KnownSlice:
    """Bytes that are here already: of a memory segment, or none at all."""

    __slots__ = ("_data", "size")

    def __init__(self, data: Buffer) -> None:
        self._data = data
        self.size = len(data)

    def read_nowait(self) -> Buffer | None:
        return self._data

    def read(self) -> Buffer:
        return self._data


class FileSlice:
    __slots__ = (
        "_cold",
        "_end",
        "_hints",
        "_limit",
        "_max_bytes",
        "_min_one",
        "_offset",
        "_piece",
        "_start",
        "_whole",
        "segment",
        "size",
    )

    def __init__(
        self,
        segment: Source,
        offset: int,
        max_bytes: int,
        limit: int,
        min_one: bool,
        hints: Hints,
    ) -> None:
        self.segment = segment
        start = 0 if offset == segment.base_offset else hints.find(offset)
        end = segment.size if limit >= segment.next_offset else hints.find(limit)
        if start is not None and end is not None and 0 < end - start <= max_bytes:
            self._whole = True
            self.size = end - start
            if limit >= segment.next_offset:
                # A reader at the head comes back for what is appended next.
                hints.note(segment.next_offset, end)
        else:
            self._whole = False
            self.size = max(1, min(max_bytes, (end or segment.size) - (start or 0)))
        self._start = start
        self._end = end
        self._offset = offset
        self._max_bytes = max_bytes
        self._piece = max_bytes
        self._limit = limit
        self._min_one = min_one
        self._hints = hints
        self._cold = hints.is_cold(offset)

    def read_nowait(self) -> Buffer | None:
        if self._cold:
            return None
        try:
            return self._read(False)
        except NotCachedError:
            return None

    def read(self) -> Buffer:
        self._piece = min(self._max_bytes, _COLD_BYTES)
        self._whole = self._whole and self.size <= self._piece
        self._cold = False
        try:
            return self._read(False)
        except NotCachedError:
            self._cold = True
            return self._read(True)

    def _read(self, wait: bool) -> Buffer:
        try:
            file = self.segment.file()
            file.read_no_further()
            if self._whole and self._start is not None:
                return fetch(file, self.size, self._start, wait)
            return self._search(wait)
        except OSError as error:
            raise unreadable(error) from error

    def _search(self, wait: bool) -> Buffer:
        segment: Source | None = self.segment
        start = self._start
        if start is None or start >= self.segment.size:
            start = locate(self.segment, self._offset, wait)
        # Compaction may have removed every batch from `offset` to the end of its segment.
        while start is None and segment is not None:
            segment = segment.following
            start = 0 if segment is not None and segment.size else None
        if segment is None or start is None:
            return b""
        return self._batches_from(segment, start, wait)

    def _batches_from(self, segment: Source, start: int, wait: bool) -> Buffer:
        end = segment.size if segment is not self.segment or self._end is None else self._end
        file = segment.file()
        base_offset, length = _LENGTH.unpack(fetch(file, _LENGTH.size, start, wait))
        first = length + LOG_OVERHEAD
        if base_offset >= self._limit or (first > self._max_bytes and not self._min_one):
            return b""
        size = min(end - start, max(first, self._piece))
        data = fetch(file, size, start, wait)
        indexed = segment.offset_index(wait).last_before(start + size, self._limit)
        return self._trim(data, start, max(indexed - start, 0))

    def _trim(self, data: Buffer, start: int, at: int) -> Buffer:
        """Cut off what is not whole or not below the limit, looking from the batch at `at` on."""
        end, limit, last = len(data), self._limit, -1
        while at + LOG_OVERHEAD <= end:
            base_offset, length = _LENGTH.unpack_from(data, at)
            following = at + length + LOG_OVERHEAD
            if base_offset >= limit or following > end:
                self._hints.note(base_offset, start + at, self._cold)
                break
            last, at = at, following
        else:
            if last >= 0:
                base_offset, _, delta = _SPAN.unpack_from(data, last)
                self._hints.note(base_offset + delta + 1, start + at, self._cold)
        return data if at == end else memoryview(data)[:at]


NOTHING = KnownSlice(b"")


def locate(segment: Source, offset: int, wait: bool) -> int | None:
    """Where the first batch starts that ends at or above `offset`; None: the segment has none."""
    file, size = segment.file(), segment.size
    position = segment.offset_index(wait).floor(offset)
    while position < size:
        window = fetch(file, min(_WINDOW_BYTES, size - position), position, wait)
        at = 0
        while at + _SPAN.size <= len(window):
            base_offset, length, delta = _SPAN.unpack_from(window, at)
            if base_offset + delta >= offset:
                return position + at
            if length < _SMALLEST_LENGTH:
                raise OSError(
                    0, f"no batch at byte {position + at} of segment {segment.base_offset}"
                )
            at += length + LOG_OVERHEAD
        if at == 0:
            raise OSError(0, f"half a header at byte {position} of segment {segment.base_offset}")
        position += at
    return None


def unreadable(error: OSError) -> KafkaError:
    reason = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
    return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log cannot be read: {reason}")
