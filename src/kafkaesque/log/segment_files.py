"""A segment's files, `<base offset, 20 digits>.log|.index|.timeindex`, and who holds them open.

An active segment holds its .log for as long as it is active. Sealed segments share `OpenFiles`:
files opened on demand, the least recently used dropped first. Dropped, not closed: see files.py.
A segment that another takes the place of, by the same name, first `hold`s its files: its readers
go on with them until the last has gone. One that is removed, or whose log is closed, is forgotten
first: from then on nothing is opened for it. Its name may be another's, even another topic's, while
a read in a thread is on its way; so whoever opens a file by its name looks once more afterwards.
Above: segment.py. Below: files.py, index.py.
"""

import errno
from collections.abc import Iterable

from kafkaesque.log.files import File, Files, read_whole
from kafkaesque.log.index import SegmentIndex

LOG, INDEX, TIME_INDEX = ".log", ".index", ".timeindex"
SUFFIXES = (LOG, INDEX, TIME_INDEX)
CLEANED, SWAP = ".cleaned", ".swap"
"""What follows these while compaction writes a segment, and while it takes its place: swap.py."""


class OpenFiles:
    """Open files of sealed segments. One for all logs of a broker; reads in threads share it."""

    def __init__(self, capacity: int = 512) -> None:
        self._capacity = capacity
        # By segment, not by path alone: after a swap the same path is another segment's.
        self._open: dict[tuple[SegmentFiles, str], File] = {}

    def file(self, segment: "SegmentFiles", suffix: str) -> File:
        key = segment, suffix
        file = self._open.pop(key, None) or segment.open(suffix)
        self._open[key] = file
        if segment.is_forgotten:
            # Since it was opened: whoever forgot it may not have found it here.
            self._open.pop(key, None)
        elif len(self._open) > self._capacity:
            self._drop_oldest()
        return file

    def forget(self, segment: "SegmentFiles") -> None:
        for suffix in SUFFIXES:
            self._open.pop((segment, suffix), None)

    def __len__(self) -> int:
        return len(self._open)

    def _drop_oldest(self) -> None:
        # Another thread may be opening a file at this moment: a pool one too large does no harm.
        try:
            self._open.pop(next(iter(self._open)), None)
        except RuntimeError:
            pass


class SegmentFiles:
    __slots__ = ("_files", "_held", "_open_files", "_stem", "base_offset", "is_forgotten")

    def __init__(
        self, files: Files, open_files: OpenFiles, directory: str, base_offset: int
    ) -> None:
        self._files = files
        self._open_files = open_files
        self._stem = f"{directory}/{base_offset:020d}"
        self._held: dict[str, File] | None = None
        self.base_offset = base_offset
        self.is_forgotten = False

    def path(self, suffix: str) -> str:
        return self._stem + suffix

    def open(self, suffix: str, *, create: bool = False) -> File:
        self._check()
        file = self._files.open(self._stem + suffix, create=create)
        self._check()
        return file

    def _check(self) -> None:
        if self.is_forgotten:
            message = "its segment was removed, or its log closed"
            raise FileNotFoundError(errno.ENOENT, message, self._stem)

    def pooled(self, suffix: str) -> File:
        if self._held is None:
            file = self._open_files.file(self, suffix)
            # Else what was opened may be the segment that has taken this one's place.
            if self._held is None:
                return file
        return self._held[suffix]

    def hold(self) -> None:
        """Open all files and keep them, whatever becomes of their names. For a thread."""
        self._held = {suffix: self.open(suffix) for suffix in SUFFIXES}

    def let_go(self) -> None:
        """The files are found by their names again."""
        self._held = None

    def forget(self) -> None:
        """Take the files out of the pool, for good."""
        self.is_forgotten = True
        self._open_files.forget(self)

    def log_size(self) -> int:
        return self._files.size(self._stem + LOG)

    def create_log(self) -> File:
        """A new, empty .log. What an earlier attempt left under these names goes."""
        self._remove_names()
        return self.open(LOG, create=True)

    def load_index(self, interval_bytes: int, log_size: int) -> SegmentIndex | None:
        """None: a file is missing, or what it says makes no sense."""
        self._check()
        offsets = read_whole(self._files, self.path(INDEX))
        times = read_whole(self._files, self.path(TIME_INDEX))
        if offsets is None or times is None:
            return None
        return SegmentIndex.load(self.base_offset, interval_bytes, offsets, times, log_size)

    def write_index(self, suffix: str, data: bytes, position: int) -> None:
        """Write the last entries of an index file; nothing follows them."""
        file = self.open(suffix, create=True)
        try:
            file.pwrite(data, position)
            file.truncate(position + len(data))
        finally:
            file.close()

    def remove(self) -> None:
        self.forget()
        if self._held is None:
            self._remove_names()
        # Else the names are another segment's now.

    def remove_index(self) -> None:
        self._open_files.forget(self)
        self._remove_names((INDEX, TIME_INDEX))

    def _remove_names(self, suffixes: Iterable[str] = SUFFIXES) -> None:
        for suffix in suffixes:
            try:
                self._files.remove(self.path(suffix))
            except FileNotFoundError:
                pass
