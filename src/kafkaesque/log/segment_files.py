"""A segment's files, `<base offset, 20 digits>.log|.index|.timeindex`, and who holds them open.

An active segment holds its .log for as long as it is active. Sealed segments share `OpenFiles`:
files opened on demand, the least recently used dropped first. Dropped, not closed: see files.py.
Above: segment.py. Below: files.py, index.py.
"""

from kafkaesque.log.files import File, Files, read_whole
from kafkaesque.log.index import SegmentIndex

LOG, INDEX, TIME_INDEX = ".log", ".index", ".timeindex"
SUFFIXES = (LOG, INDEX, TIME_INDEX)


class OpenFiles:
    """Open files of sealed segments. One for all logs of a broker; reads in threads share it."""

    def __init__(self, files: Files, capacity: int = 512) -> None:
        self._files = files
        self._capacity = capacity
        self._open: dict[str, File] = {}

    def file(self, path: str) -> File:
        file = self._open.pop(path, None) or self._files.open(path)
        self._open[path] = file
        if len(self._open) > self._capacity:
            self._drop_oldest()
        return file

    def forget(self, path: str) -> None:
        self._open.pop(path, None)

    def __len__(self) -> int:
        return len(self._open)

    def _drop_oldest(self) -> None:
        # Another thread may be opening a file at this moment: a pool one too large does no harm.
        try:
            self._open.pop(next(iter(self._open)), None)
        except RuntimeError:
            pass


class SegmentFiles:
    __slots__ = ("_files", "_open_files", "_stem", "base_offset")

    def __init__(
        self, files: Files, open_files: OpenFiles, directory: str, base_offset: int
    ) -> None:
        self._files = files
        self._open_files = open_files
        self._stem = f"{directory}/{base_offset:020d}"
        self.base_offset = base_offset

    def path(self, suffix: str) -> str:
        return self._stem + suffix

    def open(self, suffix: str, *, create: bool = False) -> File:
        return self._files.open(self._stem + suffix, create=create)

    def pooled(self, suffix: str) -> File:
        return self._open_files.file(self._stem + suffix)

    def log_size(self) -> int:
        return self._files.size(self._stem + LOG)

    def create_log(self) -> File:
        """A new, empty .log. What an earlier attempt left under these names goes."""
        self.remove()
        return self.open(LOG, create=True)

    def load_index(self, interval_bytes: int, log_size: int) -> SegmentIndex | None:
        """None: a file is missing, or what it says makes no sense."""
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
        for suffix in SUFFIXES:
            self._open_files.forget(self.path(suffix))
            try:
                self._files.remove(self.path(suffix))
            except FileNotFoundError:
                pass
