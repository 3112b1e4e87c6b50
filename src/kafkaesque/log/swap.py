"""Putting cleaned segments in the place of those they were made of, safe at every step.

    1  X.index.cleaned, X.timeindex.cleaned -> .swap      then sync the directory
    2  X.log.cleaned -> X.log.swap                        then sync: from here on it is decided
    3  remove the other old segments; X.index.swap -> X.index, X.timeindex.swap -> X.timeindex
                                                          then sync
    4  X.log.swap -> X.log                                which need not be durable at once

X is the base offset of the first old segment, and of the new one. The bytes were synced before. So
whatever survives of a step, a start finds out where it was: a `.log.swap` has all that it replaces
to go by, and is completed; any other `.swap` and every `.cleaned` was not decided, and goes. Where
a segment ends is read from its last batch, which compaction always keeps.
Above: disk.py. Below: segment_files.py, files.py.
"""

from collections.abc import Iterable, Sequence

from kafkaesque.errors import KafkaError
from kafkaesque.log.files import File, Files
from kafkaesque.log.index import OffsetIndexFile
from kafkaesque.log.names import CLEANED_SUFFIXES, SWAP_SUFFIXES, stem
from kafkaesque.log.segment import SealedSegment, walk
from kafkaesque.log.segment_files import CLEANED, INDEX, LOG, SUFFIXES, SWAP, TIME_INDEX

_INDEXES = (INDEX, TIME_INDEX)


class Swap:
    """A job: made on the event loop, run in a thread; then the loop replaces the old segments.

    Nobody else may remove segments of this log while it runs. If `run` raises, the log goes on with
    the old ones, whose files it holds: whichever the disk has then, a start finds the same records.
    Unless it `is_undone` then, for sure, it is unfinished: until `finish` has returned, no other is
    begun, and no old segment counts as removed.
    """

    def __init__(
        self, files: Files, directory: str, old: Sequence[SealedSegment], new: SealedSegment
    ) -> None:
        self.old = list(old)
        self.new = new
        self.is_undone = False
        self._is_decided = False
        self._files = files
        self._directory = directory
        self._bases = [segment.base_offset for segment in old]
        self._stem = f"{directory}/{new.base_offset:020d}"

    def run(self) -> None:
        """For a thread. Raises OSError."""
        try:
            for segment in self.old:
                segment.files.hold()
            self._decide()
        except OSError:
            self._undo()
            raise
        self._is_decided = True
        self.finish()

    def finish(self) -> None:
        """Complete it if it is decided, else undo it. For a thread. Raises OSError: try again."""
        if self._is_decided:
            complete(self._files, self._directory, self.new.base_offset, self._bases)
        else:
            self._undo()

    def _decide(self) -> None:
        for suffixes in (_INDEXES, (LOG,)):
            for suffix in suffixes:
                path = self._stem + suffix
                self._files.rename(path + CLEANED, path + SWAP)
            self._files.sync_directory(self._directory)

    def _undo(self) -> None:
        # The log's name goes first, for sure: without it, nothing is decided. Where that cannot be
        # told, it may come back, and its indexes must be there then.
        remove(self._files, [self._stem + LOG + SWAP])
        self._files.sync_directory(self._directory)
        remove(self._files, (self._stem + suffix for suffix in (*SWAP_SUFFIXES, *CLEANED_SUFFIXES)))
        for segment in self.old:
            segment.files.let_go()
        self.is_undone = True

    def forget_old(self) -> None:
        """Let go of the old segments. For a thread: the last to hold a file waits for its end."""
        while self.old:
            self.old.pop().files.forget()


def complete(files: Files, directory: str, base_offset: int, replaced: Iterable[int]) -> None:
    """Steps 3 and 4. They may be done again, from wherever they were broken off."""
    stem = f"{directory}/{base_offset:020d}"
    others = [base for base in replaced if base != base_offset]
    remove(files, (f"{directory}/{base:020d}{suffix}" for base in others for suffix in SUFFIXES))
    for suffix in _INDEXES:
        _rename_if_there(files, stem + suffix + SWAP, stem + suffix)
    files.sync_directory(directory)
    _rename_if_there(files, stem + LOG + SWAP, stem + LOG)


def _rename_if_there(files: Files, path: str, renamed: str) -> None:
    if files.exists(path):
        files.rename(path, renamed)


def finish_swaps(files: Files, directory: str, names: Iterable[str]) -> bool:
    """At start: complete what was decided, remove what was not. Whether there was any."""
    suffixes = (*CLEANED_SUFFIXES, *SWAP_SUFFIXES)
    marked = {name: at for name in names if (at := stem(name, *suffixes))}
    if not marked:
        return False
    decided = {at for name, at in marked.items() if name.endswith(LOG + SWAP)}
    # A kill may have come before the sync that decides: only the page cache knows the name then.
    files.sync_directory(directory)
    for at in sorted(decided):
        _finish_swap(files, directory, int(at))
    undecided = (name for name, at in marked.items() if at not in decided)
    remove(files, (f"{directory}/{name}" for name in undecided))
    remove_cleaned(files, directory, marked)
    files.sync_directory(directory)
    return True


def remove_cleaned(files: Files, directory: str, names: Iterable[str]) -> None:
    """Remove what compaction has written, of these names."""
    remove(files, (f"{directory}/{name}" for name in names if stem(name, *CLEANED_SUFFIXES)))


def _finish_swap(files: Files, directory: str, base_offset: int) -> None:
    next_offset = _next_offset(files, directory, base_offset)
    bases = [int(at) for name in files.names(directory) if (at := stem(name, LOG))]
    replaced = [base for base in bases if base_offset < base < next_offset]
    complete(files, directory, base_offset, replaced)


def _next_offset(files: Files, directory: str, base_offset: int) -> int:
    """Where the segment in a .log.swap ends. Its index says where to look for the last batch."""
    stem = f"{directory}/{base_offset:020d}"
    paths = [path for path in (stem + INDEX + SWAP, stem + INDEX) if files.exists(path)]
    log = files.open(stem + LOG + SWAP)
    try:
        index = OffsetIndexFile(files.open(paths[0]), base_offset, True) if paths else None
        last = index.last() if index is not None else None
        return _end(log, last[1] if last else 0, base_offset)
    except (KafkaError, OSError):
        return _end(log, 0, base_offset)


def _end(log: File, position: int, base_offset: int) -> int:
    next_offset = base_offset
    for _, header in walk(log, position, log.size()):
        next_offset = header.next_offset
    return next_offset


def remove(files: Files, paths: Iterable[str]) -> None:
    for path in paths:
        try:
            files.remove(path)
        except FileNotFoundError:
            pass
