"""Opening the segments of a log after a stop that was not clean.

Below the recovery point everything is on disk, for a checkpoint saw to it: only the indexes of
whole segments are looked at. From there on nothing is believed: every batch is scanned, and the
log ends before the first that fails. A later segment that does not begin where the one before it
ends goes as well: it reached the disk, and the bytes between did not. What remains is synced
before it counts as flushed, for it may so far be in the page cache only.
Above: disk.py. Below: scan.py, repair.py, segment.py.
"""

from collections.abc import Sequence

from kafkaesque.errors import KafkaError
from kafkaesque.log.config import LogConfig
from kafkaesque.log.files import File, fetch
from kafkaesque.log.index import OFFSET_ENTRY_SIZE, TIME_ENTRY_SIZE, SegmentIndex
from kafkaesque.log.repair import index_is_sane, rebuild_index
from kafkaesque.log.scan import Scan
from kafkaesque.log.segment import ActiveSegment, SealedSegment
from kafkaesque.log.segment_files import INDEX, LOG, TIME_INDEX, SegmentFiles
from kafkaesque.log.store import Recovery
from kafkaesque.records.batch import HEADER_SIZE, read_header


class SegmentRecovery:
    """One run over the segments of one log, oldest first."""

    def __init__(self, config: LogConfig, recovery_point: int, recovery: Recovery) -> None:
        self.sealed: list[SealedSegment] = []
        self.active: ActiveSegment | None = None
        self.dropped: list[SegmentFiles] = []
        self._config = config
        self._recovery_point = recovery_point
        self._recovery = recovery

    def run(self, found: Sequence[SegmentFiles]) -> None:
        for number, files in enumerate(found):
            following = found[number + 1].base_offset if number + 1 < len(found) else None
            if following is not None and following <= self._recovery_point:
                self._trust(files, following)
            elif not self._continues(files):
                self._drop(found[number:])
                break
            elif self._scan(files, is_last=following is None):
                self._drop(found[number + 1 :])
                break
        if self.active is None and self.sealed:
            self._scan(self.sealed.pop().files, is_last=True)

    def _trust(self, files: SegmentFiles, next_offset: int) -> None:
        size, interval = files.log_size(), self._config.index_interval_bytes
        try:
            sane = index_is_sane(files, next_offset, size, interval)
        except (KafkaError, OSError):
            sane = False
        if not sane:
            rebuild_index(files, size, interval, self._recovery)
        self.sealed.append(SealedSegment(files, next_offset, size))

    def _continues(self, files: SegmentFiles) -> bool:
        if not self.sealed:
            return True
        end = self.sealed[-1].next_offset
        if files.base_offset == end or (self._config.compacted and files.base_offset > end):
            return True
        self._say(files, f"begins at {files.base_offset}, but the log before it ends at {end}")
        return False

    def _scan(self, files: SegmentFiles, is_last: bool) -> bool:
        """Whether the log ends in this segment."""
        file, size = files.open(LOG), files.log_size()
        index, position = self._trusted_part(files, file, size)
        kept = len(index.offsets), len(index.timestamps)
        scan = Scan(file, position, size, files.base_offset, index)
        scan.run()
        self._recovery.scanned_bytes += size - position
        is_last = is_last or scan.fault is not None
        self._settle(files, file, size, scan)
        if not is_last:
            index.note_max_timestamp()
        files.write_index(INDEX, index.offset_bytes(kept[0]), kept[0] * OFFSET_ENTRY_SIZE)
        files.write_index(TIME_INDEX, index.time_bytes(kept[1]), kept[1] * TIME_ENTRY_SIZE)
        if is_last:
            interval = self._config.index_interval_bytes
            self.active = ActiveSegment(
                files, scan.next_offset, scan.position, interval, self._recovery.sentences
            )
            self.active.adopt(index, scan.position)
        else:
            self.sealed.append(SealedSegment(files, scan.next_offset, scan.position))
        return is_last

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
        if scan.fault is not None or scan.next_offset > self._recovery_point:
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

    def _drop(self, found: Sequence[SegmentFiles]) -> None:
        for files in found:
            self._recovery.cut_bytes += files.log_size()
            self._say(files, "dropped, for it lies behind the end of the log")
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
