"""The two indexes of a segment, in Kafka's files and by Kafka's rules.

    .index      8 bytes an entry: relative offset i32 | position i32
                the last offset of a batch, and the byte of the .log where that batch starts
    .timeindex  12 bytes an entry: timestamp i64 | relative offset i32
                the largest timestamp so far, and the last offset of the batch that has it

A batch gets an offset entry when more than `interval_bytes` were appended since the last one; the
time index gets one at the same moments and when a segment is sealed or closed, if the timestamp
grew. `SegmentIndex` is both indexes of the active segment, in memory. Sealed ones are searched in
their files: `OffsetIndexFile`, `TimeIndexFile`. Relative offsets count from the segment's base
offset.
Above: segment.py, recovery.py. Below: files.py.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import le, lt
from struct import Struct

from kafkaesque.log.files import File, fetch
from kafkaesque.records.batch import NO_TIMESTAMP

OFFSET_ENTRY_SIZE = 8
TIME_ENTRY_SIZE = 12
MAX_RELATIVE_OFFSET = 2**31 - 1

_INT = Struct(">i")
_OFFSET_ENTRY = Struct(">ii")
_TIME_ENTRY = Struct(">qi")


class SegmentIndex:
    __slots__ = (
        "_bytes_since_entry",
        "_interval_bytes",
        "base_offset",
        "max_timestamp",
        "offset_of_max_timestamp",
        "offsets",
        "positions",
        "timestamp_offsets",
        "timestamps",
    )

    def __init__(self, base_offset: int, interval_bytes: int) -> None:
        self.base_offset = base_offset
        self.offsets = array("i")
        self.positions = array("i")
        self.timestamps = array("q")
        self.timestamp_offsets = array("i")
        self.max_timestamp = NO_TIMESTAMP
        self.offset_of_max_timestamp = base_offset
        self._interval_bytes = interval_bytes
        self._bytes_since_entry = 0

    def add(self, last_offset: int, max_timestamp: int, position: int, size: int) -> None:
        """Take note of a batch that was appended at `position`."""
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.offset_of_max_timestamp = last_offset
        if self._bytes_since_entry > self._interval_bytes:
            self.offsets.append(last_offset - self.base_offset)
            self.positions.append(position)
            self.note_max_timestamp()
            self._bytes_since_entry = 0
        self._bytes_since_entry += size

    def note_max_timestamp(self) -> None:
        if self.max_timestamp > (self.timestamps[-1] if self.timestamps else NO_TIMESTAMP):
            self.timestamps.append(self.max_timestamp)
            self.timestamp_offsets.append(self.offset_of_max_timestamp - self.base_offset)

    def is_full(self, max_bytes: int) -> bool:
        """The time index keeps one place free for the entry that sealing adds."""
        return (
            len(self.offsets) >= max_bytes // OFFSET_ENTRY_SIZE
            or len(self.timestamps) >= max_bytes // TIME_ENTRY_SIZE - 1
        )

    @property
    def last_position(self) -> int:
        return self.positions[-1] if self.positions else 0

    def floor(self, offset: int) -> int:
        """Where the last indexed batch starts that ends at or before `offset`."""
        entry = bisect_right(self.offsets, offset - self.base_offset) - 1
        return self.positions[entry] if entry >= 0 else 0

    def last_before(self, position: int, limit: int) -> int:
        """The last indexed place at or before `position` with a batch below offset `limit`."""
        by_position = bisect_right(self.positions, position)
        entry = min(by_position, bisect_left(self.offsets, limit - self.base_offset)) - 1
        return self.positions[entry] if entry >= 0 else 0

    def older_than(self, timestamp: int) -> int:
        """An offset before which every record is older than `timestamp`."""
        entry = bisect_left(self.timestamps, timestamp) - 1
        relative = self.timestamp_offsets[entry] + 1 if entry >= 0 else 0
        return self.base_offset + relative

    def latest_before(self, offset: int) -> tuple[int, int]:
        """The largest timestamp noted below `offset`, and the offset behind that note."""
        entry = bisect_left(self.timestamp_offsets, offset - self.base_offset) - 1
        if entry < 0:
            return NO_TIMESTAMP, self.base_offset
        return self.timestamps[entry], self.base_offset + self.timestamp_offsets[entry] + 1

    def last(self) -> tuple[int, int]:
        """The largest timestamp and its offset; NO_TIMESTAMP where no record has one."""
        return self.max_timestamp, self.offset_of_max_timestamp

    def cut(self, offset: int) -> int:
        """Forget batches from `offset` on. Those from the position returned must be added again."""
        entries = bisect_left(self.offsets, offset - self.base_offset)
        # New arrays: a reader in another thread may be searching the old ones.
        self.offsets = self.offsets[:entries]
        self.positions = self.positions[:entries]
        kept = bisect_right(self.timestamp_offsets, self.offsets[-1]) if entries else 0
        self.timestamps = self.timestamps[:kept]
        self.timestamp_offsets = self.timestamp_offsets[:kept]
        self._resume()
        return self.last_position

    def _resume(self) -> None:
        self._bytes_since_entry = 0
        self.max_timestamp = self.timestamps[-1] if self.timestamps else NO_TIMESTAMP
        relative = self.timestamp_offsets[-1] if self.timestamps else 0
        self.offset_of_max_timestamp = self.base_offset + relative

    def offset_bytes(self, first_entry: int = 0) -> bytes:
        offsets, positions = self.offsets[first_entry:], self.positions[first_entry:]
        entries = array("i", bytes(len(offsets) * OFFSET_ENTRY_SIZE))
        entries[0::2] = offsets
        entries[1::2] = positions
        return _big_endian(entries).tobytes()

    def time_bytes(self, first_entry: int = 0) -> bytes:
        timestamps = array("i", _big_endian(self.timestamps[first_entry:]).tobytes())
        offsets = _big_endian(self.timestamp_offsets[first_entry:])
        entries = array("i", bytes(len(offsets) * TIME_ENTRY_SIZE))
        entries[0::3] = timestamps[0::2]
        entries[1::3] = timestamps[1::2]
        entries[2::3] = offsets
        return entries.tobytes()

    @classmethod
    def load(
        cls,
        base_offset: int,
        interval_bytes: int,
        offset_data: bytes,
        time_data: bytes,
        log_size: int,
    ) -> "SegmentIndex | None":
        """The indexes of a segment that is appended to again, or None where they make no sense.

        The batches from `last_position` on must be added again: they say how far the next entry is.
        """
        if len(offset_data) % OFFSET_ENTRY_SIZE or len(time_data) % TIME_ENTRY_SIZE:
            return None
        index = cls(base_offset, interval_bytes)
        entries = _big_endian(array("i", offset_data))
        index.offsets, index.positions = entries[0::2], entries[1::2]
        raw = array("i", time_data)
        timestamps = array("i", bytes(len(raw) // 3 * 8))
        timestamps[0::2] = raw[0::3]
        timestamps[1::2] = raw[1::3]
        index.timestamps = _big_endian(array("q", timestamps.tobytes()))
        index.timestamp_offsets = _big_endian(raw[2::3])
        index._resume()
        return index if index._makes_sense(log_size) else None

    def _makes_sense(self, log_size: int) -> bool:
        if self.positions and not (self.positions[0] > 0 and self.positions[-1] < log_size):
            return False
        if self.offsets and self.offsets[0] < 0:
            return False
        if self.timestamps and (self.timestamps[0] < 0 or self.timestamp_offsets[0] < 0):
            return False
        return (
            all(map(lt, self.offsets, self.offsets[1:]))
            and all(map(lt, self.positions, self.positions[1:]))
            and all(map(lt, self.timestamps, self.timestamps[1:]))
            and all(map(le, self.timestamp_offsets, self.timestamp_offsets[1:]))
        )


def _big_endian(numbers: "array[int]") -> "array[int]":
    """The same numbers in the file's byte order, or back; the array itself is changed."""
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers


class OffsetIndexFile:
    """The .index of a sealed segment. Searches read an entry at a time, and load nothing."""

    __slots__ = ("_base_offset", "_entries", "_file", "_wait")

    def __init__(self, file: File, base_offset: int, wait: bool) -> None:
        self._file = file
        self._base_offset = base_offset
        self._entries = file.size() // OFFSET_ENTRY_SIZE
        self._wait = wait

    def floor(self, offset: int) -> int:
        entry = bisect_right(self._all(), offset - self._base_offset, key=self._offset)
        return self._position(entry - 1) if entry else 0

    def last_before(self, position: int, limit: int) -> int:
        entry = bisect_right(self._all(), position, key=self._position)
        # Mostly the whole segment lies below the limit: one look settles it.
        relative_limit = limit - self._base_offset
        if entry and self._offset(entry - 1) >= relative_limit:
            entry = bisect_left(range(entry), relative_limit, key=self._offset)
        return self._position(entry - 1) if entry else 0

    def last(self) -> tuple[int, int] | None:
        """Offset and position of the last entry."""
        if not self._entries:
            return None
        relative, position = _OFFSET_ENTRY.unpack(self._read(self._entries - 1))
        return self._base_offset + relative, position

    def _all(self) -> Sequence[int]:
        return range(self._entries)

    def _offset(self, entry: int) -> int:
        offset: int = _INT.unpack_from(self._read(entry))[0]
        return offset

    def _position(self, entry: int) -> int:
        position: int = _INT.unpack_from(self._read(entry), 4)[0]
        return position

    def _read(self, entry: int) -> bytes | bytearray | memoryview:
        return fetch(self._file, OFFSET_ENTRY_SIZE, entry * OFFSET_ENTRY_SIZE, self._wait)


class TimeIndexFile:
    """The .timeindex of a sealed segment. May wait for the disk."""

    __slots__ = ("_base_offset", "_entries", "_file")

    def __init__(self, file: File, base_offset: int) -> None:
        self._file = file
        self._base_offset = base_offset
        self._entries = file.size() // TIME_ENTRY_SIZE

    def older_than(self, timestamp: int) -> int:
        entry = bisect_left(range(self._entries), timestamp, key=lambda n: self._read(n)[0])
        return self._base_offset + (self._read(entry - 1)[1] + 1 if entry else 0)

    def latest_before(self, offset: int) -> tuple[int, int]:
        relative = offset - self._base_offset
        entry = bisect_left(range(self._entries), relative, key=lambda n: self._read(n)[1])
        if entry == 0:
            return NO_TIMESTAMP, self._base_offset
        timestamp, known = self._read(entry - 1)
        return timestamp, self._base_offset + known + 1

    def last(self) -> tuple[int, int]:
        """The largest timestamp and its offset; NO_TIMESTAMP where no record has one."""
        if not self._entries:
            return NO_TIMESTAMP, self._base_offset
        timestamp, relative = self._read(self._entries - 1)
        return timestamp, self._base_offset + relative

    def _read(self, entry: int) -> tuple[int, int]:
        data = fetch(self._file, TIME_ENTRY_SIZE, entry * TIME_ENTRY_SIZE, True)
        timestamp, relative = _TIME_ENTRY.unpack(data)
        return timestamp, relative
