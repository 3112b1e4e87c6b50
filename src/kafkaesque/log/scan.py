"""Reading a segment that nobody vouches for: how far is it a row of whole, correct batches?

Checked are each batch's header, that offsets rise and fit the segment, and the CRC over all the
rest. The segment is good up to the first batch that fails. What is good goes into an index on the
way.
Above: recovery.py, disk.py (after a failed flush). Below: index.py, files.py.
"""

from kafkaesque.errors import KafkaError
from kafkaesque.log.files import File, fetch
from kafkaesque.log.index import MAX_RELATIVE_OFFSET, SegmentIndex
from kafkaesque.records.batch import HEADER_SIZE, crc_matches, read_header

_WINDOW_BYTES = 1 << 20


class Scan:
    """After `run`: good up to byte `position`, where `next_offset` or the `fault` follows."""

    def __init__(
        self,
        file: File,
        position: int,
        size: int,
        index: SegmentIndex,
        limit: int | None = None,
        next_offset: int | None = None,
    ) -> None:
        self.position = position
        self.next_offset = index.base_offset if next_offset is None else next_offset
        self.fault: str | None = None
        self._file = file
        self._size = size
        self._index = index
        self._last_offset = (
            (index.base_offset + MAX_RELATIVE_OFFSET) if limit is None else limit - 1
        )
        self._window_bytes = _WINDOW_BYTES

    def run(self) -> None:
        while self.position < self._size and self.fault is None:
            self._check_window()

    def _check_window(self) -> None:
        start = self.position
        rest = self._size - start
        size = min(self._window_bytes, rest)
        window = memoryview(fetch(self._file, size, start, True))
        self._window_bytes = _WINDOW_BYTES
        while self.position < start + size:
            if not self._check_batch(window, self.position - start, is_end=size == rest):
                break

    def _check_batch(self, window: memoryview, at: int, is_end: bool) -> bool:
        """Whether to go on. A batch that only the window cuts short is for the next window."""
        if len(window) - at < HEADER_SIZE:
            return self._fail("half a batch header") if is_end else False
        try:
            header = read_header(window, at)
        except KafkaError:
            return self._fail("no batch header")
        if header.base_offset < self.next_offset or header.last_offset_delta < 0:
            return self._fail(f"offset {header.base_offset} where {self.next_offset} should follow")
        if header.last_offset > self._last_offset:
            return self._fail(f"offset {header.last_offset}, beyond the segment's end,")
        if at + header.size > len(window):
            self._window_bytes = max(header.size, _WINDOW_BYTES)
            return self._fail("half a batch") if is_end else False
        if not crc_matches(window, at, header):
            return self._fail("a batch with a wrong CRC")
        self._index.add(header.last_offset, header.max_timestamp, self.position, header.size)
        self.position += header.size
        self.next_offset = header.next_offset
        return True

    def _fail(self, what: str) -> bool:
        self.fault = f"{what} at byte {self.position}"
        return False
