"""Sealed segments at a glance: do their indexes make sense, do they end where they should?

An index only says where to look, so the worst that a wrong one does is to be slow or to hide
records; the log itself is never changed here.
Above: recovery.py, disk.py. Below: segment.py, index.py.
"""

from kafkaesque.errors import KafkaError
from kafkaesque.log.index import (
    OFFSET_ENTRY_SIZE,
    TIME_ENTRY_SIZE,
    OffsetIndexFile,
    SegmentIndex,
    TimeIndexFile,
)
from kafkaesque.log.segment import walk
from kafkaesque.log.segment_files import INDEX, LOG, TIME_INDEX, SegmentFiles
from kafkaesque.log.store import Recovery
from kafkaesque.records.batch import NO_TIMESTAMP


def ends_at(files: SegmentFiles, next_offset: int, size: int) -> bool:
    """Whether headers lead from the last index entry to the end of the file, and to that offset."""
    last = OffsetIndexFile(files.pooled(INDEX), files.base_offset, True).last()
    latest, _ = TimeIndexFile(files.pooled(TIME_INDEX), files.base_offset).last()
    end = files.base_offset
    for _, header in walk(files.pooled(LOG), last[1] if last else 0, size):
        end = header.next_offset
        if header.max_timestamp > latest:
            return False
    return end == next_offset


def index_is_sane(files: SegmentFiles, next_offset: int, size: int, interval_bytes: int) -> bool:
    """A look at the ends of both files: a missing, short or zeroed one shows."""
    try:
        offsets, times = files.pooled(INDEX), files.pooled(TIME_INDEX)
    except FileNotFoundError:
        return False
    if offsets.size() % OFFSET_ENTRY_SIZE or times.size() % TIME_ENTRY_SIZE:
        return False
    first_timestamp, needs_entry = _beginning(files, size, interval_bytes)
    latest, latest_offset = TimeIndexFile(times, files.base_offset).last()
    if latest < first_timestamp or latest_offset >= next_offset:
        return False
    last = OffsetIndexFile(offsets, files.base_offset, True).last()
    if last is None:
        return not needs_entry
    return files.base_offset <= last[0] < next_offset and 0 < last[1] < size


def _beginning(files: SegmentFiles, size: int, interval_bytes: int) -> tuple[int, bool]:
    """The first batch's timestamp, and whether a batch follows that must have an index entry."""
    first_timestamp = NO_TIMESTAMP
    for position, header in walk(files.pooled(LOG), 0, size):
        if position == 0:
            first_timestamp = header.max_timestamp
        if position > interval_bytes:
            return first_timestamp, True
    return first_timestamp, False


def rebuild_index(
    files: SegmentFiles, size: int, interval_bytes: int, recovery: Recovery
) -> SegmentIndex | None:
    """Write both index files anew, durably. The index, where the disk has no room for it."""
    index = SegmentIndex(files.base_offset, interval_bytes)
    sentence = f"{files.path(INDEX)}: missing or damaged, built anew"
    try:
        for position, header in walk(files.pooled(LOG), 0, size):
            index.add(header.last_offset, header.max_timestamp, position, header.size)
    except KafkaError as error:
        sentence += f", as far as the log can be read: {error.message}"
    index.note_max_timestamp()
    recovery.rebuilt_indexes += 1
    recovery.sentences.append(sentence)
    if not write_index(files, index, 0, 0, recovery):
        return index
    for suffix in (INDEX, TIME_INDEX):
        files.pooled(suffix).sync()
    return None


def write_index(
    files: SegmentFiles, index: SegmentIndex, offsets: int, times: int, recovery: Recovery
) -> bool:
    """Complete index files that have so many good entries.

    Where they cannot be written, none is left: one that is cut short would be believed. The log is
    read by its index in memory then, for a full disk must not keep it from being read.
    """
    try:
        files.write_index(INDEX, index.offset_bytes(offsets), offsets * OFFSET_ENTRY_SIZE)
        files.write_index(TIME_INDEX, index.time_bytes(times), times * TIME_ENTRY_SIZE)
    except OSError as error:
        files.remove_index()
        sentence = f"{files.path(INDEX)} cannot be written now: {error.strerror}"
        recovery.sentences.append(sentence)
        return False
    return True
