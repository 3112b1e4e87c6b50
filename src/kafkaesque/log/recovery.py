"""Opening the segments of a log after a stop that was not clean.

Below the recovery point everything is on disk, for a checkpoint saw to it: only the indexes of
whole segments are looked at. From there on nothing is believed: every batch is scanned, and the
log ends before the first that fails. A later segment that does not begin where the one before it
ends goes as well: it reached the disk, and the bytes between did not. What remains is synced
before it counts as flushed, for it may so far be in the page cache only. An index that the disk has
no room for stays in memory, until a checkpoint finds room.
Above: disk.py. Below: scan.py, repair.py, segment.py.
"""

from collections.abc import Sequence

from kafkaesque.errors import KafkaError
from kafkaesque.log.config import LogConfig
from kafkaesque.log.files import File, fetch
from kafkaesque.log.index import SegmentIndex
from kafkaesque.log.repair import ends_at, index_is_sane, write_index
from kafkaesque.log.scan import Scan
from kafkaesque.log.segment import ActiveSegment, SealedSegment, walk
from kafkaesque.log.segment_files import LOG, SegmentFiles
from kafkaesque.log.store import Recovery
from kafkaesque.records.batch import HEADER_SIZE, read_header


class SegmentRecovery:
    """One run over the segments of one log, oldest first."""

    def __init__(self, config: LogConfig, recovery_point: int, recovery: Recovery) -> None:
        self.sealed: list[SealedSegment] = []
        self.active: ActiveSegment | None = None
        self.dropped: list[SegmentFiles] = []
        self.reindexed: list[SegmentFiles] = []
        self._config = config
        self._recovery_point = recovery_point
        self._recovery = recovery

    def run(self, found: Sequence[SegmentFiles]) -> None:
        for number, files in enumerate(found):
            following = found[number + 1].base_offset if number + 1 < len(found) else None
            if following is not None and following <= self._recovery_point:
                self._trust(files, following)
                continue
            self.active = self._scan(files, following)
            if self.active is not None:
                self._drop(found[number + 1 :], self.active.next_offset)
                break

    def _trust(self, files: SegmentFiles, next_offset: int) -> None:
        size, interval = files.log_size(), self._config.index_interval_bytes
        try:
            is_sane = index_is_sane(files, next_offset, size, interval)
            is_sane = is_sane and ends_at(files, next_offset, size)
        except (KafkaError, OSError):
            is_sane = False
        index = None
        if not is_sane:
            size, index = self._inspect(files, next_offset, size)
        self.sealed.append(SealedSegment(files, next_offset, size, index=index))

    def _inspect(
        self, files: SegmentFiles, next_offset: int, size: int
    ) -> tuple[int, SegmentIndex | None]:
        """Build a trusted segment's index anew, and cut what an unsynced truncation left behind it.

        Damage within it is told, and left alone: what follows it was durable as well.
        """
        file = files.open(LOG)
        index = SegmentIndex(files.base_offset, self._config.index_interval_bytes)
        scan = Scan(file, 0, size, index, limit=next_offset)
        scan.run()
        self._recovery.scanned_bytes += size
        if scan.fault is None:
            self._say(files, "its index is missing or damaged, and is built anew")
        elif scan.next_offset == next_offset:
            self._settle(files, file, size, scan)
            size = scan.position
        else:
            self._say(files, f"{scan.fault}, among records that were durable")
        index.note_max_timestamp()
        self._recovery.rebuilt_indexes += 1
        return size, self._write_index(files, index, 0, 0)

    def _write_index(
        self, files: SegmentFiles, index: SegmentIndex, offsets: int, times: int
    ) -> SegmentIndex | None:
        """Complete index files that have so many good entries. The index, where that fails."""
        if not write_index(files, index, offsets, times, self._recovery):
            return index
        self.reindexed.append(files)
        return None

    def _scan(self, files: SegmentFiles, following: int | None) -> ActiveSegment | None:
        """None: the log goes on in the following segment."""
        file = files.open(LOG)
        file.sync()
        index, position = self._trusted_part(files, file, file.size())
        kept = len(index.offsets), len(index.timestamps)
        position, next_offset = self._skip(file, position, index)
        # What is scanned is what the disk has: after an fsync that failed, and a kill, the page
        # cache may hold more, and call it clean.
        file.drop_cache(position)
        size = file.size()
        scan = Scan(file, position, size, index, limit=following, next_offset=next_offset)
        scan.run()
        self._recovery.scanned_bytes += size - position
        self._settle(files, file, size, scan)
        index.note_max_timestamp()
        unwritten = self._write_index(files, index, *kept)
        if scan.next_offset == following:
            next_offset, position = scan.next_offset, scan.position
            self.sealed.append(SealedSegment(files, next_offset, position, index=unwritten))
            return None
        interval, repairs = self._config.index_interval_bytes, self._recovery.sentences
        active = ActiveSegment(files, scan.next_offset, scan.position, interval, repairs)
        active.adopt(index, scan.position)
        if unwritten is not None:
            active.forget_written_index()
        return active

    def _settle(self, files: SegmentFiles, file: File, size: int, scan: Scan) -> None:
        """Make the end that was found the end on disk."""
        if scan.fault is not None:
            self._recovery.cut_bytes += size - scan.position
            self._say(files, f"{scan.fault}: cut by {size - scan.position} bytes")
            if scan.next_offset < self._recovery_point:
                self._say(
                    files, f"records below the recovery point {self._recovery_point} are lost"
                )
            file.truncate(scan.position)
            file.sync()

    def _trusted_part(self, files: SegmentFiles, file: File, size: int) -> tuple[SegmentIndex, int]:
        """The index up to the recovery point, and the byte to scan from."""
        interval = self._config.index_interval_bytes
        if self._recovery_point > files.base_offset:
            index = files.load_index(interval, size)
            if index is not None:
                position = index.cut(self._recovery_point)
                if position == 0 or _is_batch(file, position, size, index):
                    return index, position
            self._recovery.rebuilt_indexes += 1
            self._say(files, "its index is missing or damaged, and is built anew")
        return SegmentIndex(files.base_offset, interval), 0

    def _skip(self, file: File, position: int, index: SegmentIndex) -> tuple[int, int]:
        """Step over what lies below the recovery point by headers alone: it is vouched for.

        A header that makes no sense is left to the scan.
        """
        next_offset, size = index.base_offset, file.size()
        try:
            for at, header in walk(file, position, size):
                if not next_offset < header.next_offset <= self._recovery_point:
                    break
                if at + header.size > size:
                    break
                index.add(header.last_offset, header.max_timestamp, at, header.size)
                position, next_offset = at + header.size, header.next_offset
        except KafkaError:
            pass
        return position, next_offset

    def _drop(self, found: Sequence[SegmentFiles], end: int) -> None:
        for files in found:
            self._recovery.cut_bytes += files.log_size()
            self._say(files, f"begins at {files.base_offset}, but the log ends at {end}: dropped")
        self.dropped.extend(found)

    def _say(self, files: SegmentFiles, what: str) -> None:
        self._recovery.sentences.append(f"{files.path(LOG)}: {what}")


def _is_batch(file: File, position: int, size: int, index: SegmentIndex) -> bool:
    """Whether the last index entry points at the batch that it names."""
    if size - position < HEADER_SIZE:
        return False
    try:
        header = read_header(fetch(file, HEADER_SIZE, position, True))
    except KafkaError:
        return False
    return header.last_offset == index.base_offset + index.offsets[-1]
