"""What a log hands to a thread: a flush, a checkpoint. They hold files, not the log.

Both are made on the event loop and see the log as it was then; appends go on meanwhile. A file that
the log has dropped since is still open here.
Above: disk.py makes them, log.py and the broker pass them on. Below: files.py, snapshots.py.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkaesque.log.files import File, Files, write_synced
from kafkaesque.log.segment_files import INDEX, TIME_INDEX, SegmentFiles
from kafkaesque.log.snapshots import Snapshots

if TYPE_CHECKING:
    from kafkaesque.log.index import SegmentIndex
    from kafkaesque.log.segment import ActiveSegment, SealedSegment


@dataclass(slots=True)
class DiskFlush:
    """Bytes first, oldest segment first, then the names of the files that hold them.

    `contents` are small files that are written here: after a sync that fails, what a file holds is
    not known, and another sync of it would prove nothing.
    """

    end_offset: int
    position: int | None
    sealed: dict[int, File]
    others: list[File]
    contents: dict[str, bytes]
    directories: list[str]
    files: Files

    def run(self) -> None:
        for file in (*self.sealed.values(), *self.others):
            file.sync()
        for path, data in self.contents.items():
            write_synced(self.files, path, data, 0)
        for directory in self.directories:
            self.files.sync_directory(directory)

    def lower(self, end_offset: int) -> None:
        """The log was truncated meanwhile."""
        if end_offset < self.end_offset:
            self.end_offset = end_offset
            self.position = None


@dataclass(slots=True)
class DiskCheckpoint:
    """Index entries that only memory has, on disk: so recovery need not look below `offset`.

    `rewrite` after one that failed: a sync that fails once leaves nothing for the next to write.
    """

    offset: int
    segment: "ActiveSegment"
    index_generation: int
    entries: list[tuple[str, bytes, int]]
    sealed: list[str]
    rewrite: bool
    directory: str
    unwritten: "list[tuple[SealedSegment, SegmentIndex]]"
    snapshot: tuple[int, bytes] | None
    snapshots: Snapshots
    files: Files

    def run(self) -> None:
        for path, data, position in self.entries:
            # Entries of before a truncation must not come to lie over those of after it.
            if self.segment.index_generation == self.index_generation:
                # Not truncated: the loop may have sealed the segment meanwhile and written further.
                write_synced(self.files, path, data, position)
        for path in self.sealed:
            self._sync(path)
        for segment, index in self.unwritten:
            self._write_index(segment.files, index)
        self.files.sync_directory(self.directory)
        if self.snapshot is not None:
            self.snapshots.write(*self.snapshot)

    def _write_index(self, place: SegmentFiles, index: "SegmentIndex") -> None:
        try:
            write_synced(self.files, place.path(INDEX), index.offset_bytes(), 0)
            write_synced(self.files, place.path(TIME_INDEX), index.time_bytes(), 0)
        except OSError:
            # One that is cut short would be believed.
            place.remove_index()
            raise

    def _sync(self, path: str) -> None:
        try:
            file = self.files.open(path)
        except FileNotFoundError:
            return  # its segment was removed meanwhile
        try:
            if self.rewrite:
                file.pwrite(file.pread(file.size(), 0), 0)
            file.sync()
        finally:
            file.close()
