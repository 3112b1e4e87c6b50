"""The segments of one partition, in its directory, and what of them is not yet on disk.

New bytes wait for a flush; new names (segments, and the directory itself where it is new) for a
directory fsync, which the same flush does; index entries for a checkpoint.
Above: log.py. Below: segment.py, recovery.py, jobs.py, snapshots.py, swap.py.
"""

import os
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.config import LogConfig
from kafkaesque.log.files import File, Files
from kafkaesque.log.index import OFFSET_ENTRY_SIZE, TIME_ENTRY_SIZE, SegmentIndex
from kafkaesque.log.jobs import DiskCheckpoint, DiskFlush
from kafkaesque.log.names import SWAP_SUFFIXES, is_unfinished, stem
from kafkaesque.log.recovery import SegmentRecovery
from kafkaesque.log.repair import rebuild_index
from kafkaesque.log.scan import Scan
from kafkaesque.log.segment import ActiveSegment, DiskSegment, SealedSegment
from kafkaesque.log.segment_files import (
    INDEX,
    LOG,
    SUFFIXES,
    TIME_INDEX,
    OpenFiles,
    SegmentFiles,
)
from kafkaesque.log.snapshots import Snapshots
from kafkaesque.log.store import Checkpoint, Cleaned, Flush, Recovery, Segment
from kafkaesque.log.swap import Swap, finish_swaps, remove_cleaned


class DiskSegments:
    durable = True

    def __init__(self, files: Files, directory: str, open_files: OpenFiles | None = None) -> None:
        self.directory = directory
        self.segments: list[SealedSegment | ActiveSegment] = []
        self.active: ActiveSegment
        self._files = files
        self._open_files = open_files or OpenFiles()
        self._snapshots: Snapshots
        self._detached: list[Segment] = []
        self._dropped: list[SealedSegment | ActiveSegment] = []
        self._unsynced_contents: dict[str, bytes] = {}
        self._unsynced_sealed: dict[int, File] = {}
        self._unsynced_directories: list[str] = []
        self._unsynced_indexes: list[str] = []
        self._checkpoint: DiskCheckpoint | None = None
        self._swap: Swap | None = None
        self._is_founded = True

    def mark_new(self, metadata: str, content: bytes) -> None:
        """The directory itself is new: the first flush makes it, and the file in it, durable."""
        self._unsynced_contents = {metadata: content}
        self._unsynced_directories = [self.directory, os.path.dirname(self.directory)]

    def open(
        self, config: LogConfig, log_start_offset: int, recovery_point: int | None, clean: bool
    ) -> Recovery:
        recovery = Recovery()
        names = set(self._files.names(self.directory))
        if finish_swaps(self._files, self.directory, names):
            names = set(self._files.names(self.directory))
        self._snapshots = Snapshots(self._files, self.directory, names)
        found = self._find(names, log_start_offset)
        if not found:
            self._begin(max(log_start_offset, recovery_point or 0), config)
            self._snapshots.remove_after(self.active.base_offset)
        elif not (clean and self._reopen(found, names, config, recovery_point, recovery)):
            self._recover(found, config, recovery_point or 0, recovery)
        self._link()
        return recovery

    def _find(self, names: set[str], log_start_offset: int) -> list[SegmentFiles]:
        """The segments that belong to the log, without what an interrupted removal left."""
        bases = sorted(int(digits) for name in names if (digits := stem(name, LOG)))
        stale = [base for base, following in pairwise(bases) if following <= log_start_offset]
        if stale:
            # A kill may have left the names of those that follow in the page cache only.
            self._files.sync_directory(self.directory)
        for base in stale:
            self._place(base).remove()
        kept = bases[len(stale) :]
        expected = {f"{base:020d}" for base in kept}
        for name in names:
            digits = stem(name, INDEX, TIME_INDEX)
            if is_unfinished(name) or (digits is not None and digits not in expected):
                self._remove_if_there(name)
        return [self._place(base) for base in kept]

    def _remove_if_there(self, name: str) -> None:
        try:
            self._files.remove(f"{self.directory}/{name}")
        except FileNotFoundError:
            pass

    def _place(self, base_offset: int) -> SegmentFiles:
        return SegmentFiles(self._files, self._open_files, self.directory, base_offset)

    def _begin(self, base_offset: int, config: LogConfig) -> None:
        self.active = ActiveSegment.create(self._place(base_offset), config.index_interval_bytes)
        self.segments = [self.active]
        self._is_founded = False
        self._mark_directory()

    def _reopen(
        self,
        found: list[SegmentFiles],
        names: set[str],
        config: LogConfig,
        end_offset: int | None,
        recovery: Recovery,
    ) -> bool:
        """After a clean stop: sizes are looked up, nothing is read. False: it was not so clean."""
        interval = config.index_interval_bytes
        sealed = [
            SealedSegment(files, following.base_offset, files.log_size())
            for files, following in pairwise(found)
        ]
        for segment in sealed:
            if not _has_indexes(segment.base_offset, names):
                segment.index = rebuild_index(segment.files, segment.size, interval, recovery)
        last, size = found[-1], found[-1].log_size()
        is_known = end_offset is not None and end_offset >= last.base_offset + (size > 0)
        next_offset = end_offset if end_offset is not None and is_known else last.base_offset
        active = ActiveSegment(last, next_offset, size, interval, recovery.sentences)
        try:
            if not is_known or not _has_indexes(last.base_offset, names):
                active.measure()
        except (KafkaError, OSError) as error:
            recovery.sentences.append(f"{last.path(LOG)}: scanned after a clean stop, for {error}")
            return False
        self.active = active
        self.segments = [*sealed, active]
        return True

    def _recover(
        self,
        found: list[SegmentFiles],
        config: LogConfig,
        recovery_point: int,
        recovery: Recovery,
    ) -> None:
        run = SegmentRecovery(config, recovery_point, recovery)
        run.run(found)
        assert run.active is not None
        self.active = run.active
        self.segments = [*run.sealed, run.active]
        for files in run.reindexed:
            self._mark_indexes(files)
        for files in reversed(run.dropped):
            files.remove()
        self._snapshots.remove_after(run.active.next_offset)
        self._files.sync_directory(self.directory)

    def _link(self) -> None:
        for segment, following in pairwise(self.segments):
            segment.following = following

    def _mark_directory(self) -> None:
        if self.directory not in self._unsynced_directories:
            self._unsynced_directories.insert(0, self.directory)

    def _mark_indexes(self, files: SegmentFiles) -> None:
        self._unsynced_indexes += [files.path(INDEX), files.path(TIME_INDEX)]

    def roll(self, base_offset: int, config: LogConfig) -> None:
        sealed = self.active.seal()
        if not self._is_founded:
            # Else a power cut could leave the second segment without the first. Mostly a flush
            # has done it long before.
            self._files.sync_directory(self.directory)
            self._is_founded = True
        active = ActiveSegment.create(self._place(base_offset), config.index_interval_bytes)
        if self.active.dirty:
            self._unsynced_sealed[sealed.base_offset] = self.active.file()
        self._mark_indexes(sealed.files)
        self._mark_directory()
        self.active = active
        self.segments[-1:] = [sealed, active]
        sealed.following = active
        if len(self.segments) > 2:
            self.segments[-3].following = sealed

    def truncate(self, offset: int, config: LogConfig) -> None:
        bases = [segment.base_offset for segment in self.segments]
        keep = max(bisect_right(bases, offset), 1)
        last, dropped = self.segments[keep - 1], self.segments[keep:]
        if isinstance(last, SealedSegment):
            interval = config.index_interval_bytes
            last = ActiveSegment(last.files, last.next_offset, last.size, interval, [])
            last.measure()
            # From here on it must not be taken for whole: this may fail, and be called again.
            self.segments[keep - 1] = last
        last.truncate(offset)
        self.active = last
        self.segments[keep - 1 :] = [last]
        self._dropped += reversed(dropped)
        self._unsynced_sealed = {
            base: file for base, file in self._unsynced_sealed.items() if base < last.base_offset
        }
        self._link()
        last.following = None
        self._snapshots.remove_after(last.next_offset)
        while self._dropped:
            self._dropped[0].remove()
            del self._dropped[0]
        # Else what was dropped could come back, in place of or behind what is appended next.
        last.file().sync()
        self._files.sync_directory(self.directory)

    def restart_at(self, offset: int, config: LogConfig, known_to: int = -1) -> None:
        for segment in (*self.segments, *self._detached):
            if isinstance(segment, DiskSegment):
                segment.files.forget()
        self._begin(offset, config)
        self._swap = None
        self._detached = []
        self._unsynced_sealed = {}
        self._unsynced_indexes = []
        # Before the others go: the last of them alone would be taken for where the log starts.
        self._files.sync_directory(self.directory)
        self._snapshots.remove_after(known_to)
        # By their names: some may have been taken out of the log, and not be removed yet. Left
        # there, they would end before this one begins, and recovery would drop it for the gap.
        for name in self._files.names(self.directory):
            digits = stem(name, *SUFFIXES, *SWAP_SUFFIXES)
            if digits is not None and int(digits) != offset:
                self._remove_if_there(name)
        self._files.sync_directory(self.directory)

    def detach(self, count: int) -> list[Segment]:
        detached: list[Segment] = list(self.segments[:count])
        del self.segments[:count]
        self._detached += detached
        return detached

    def remove(self, segments: Sequence[Segment]) -> None:
        for segment in segments:
            segment.remove()
        self._files.sync_directory(self.directory)
        removed = set(map(id, segments))
        self._detached = [segment for segment in self._detached if id(segment) not in removed]

    @property
    def unfinished_swap(self) -> Swap | None:
        return None if self._swap is None or self._swap.is_undone else self._swap

    def swap(self, old: Sequence[Segment], cleaned: Cleaned) -> Swap:
        replaced = [segment for segment in old if isinstance(segment, SealedSegment)]
        latest = cleaned.max_timestamp, cleaned.offset_of_max_timestamp
        files = self._place(cleaned.base_offset)
        new = SealedSegment(files, cleaned.next_offset, cleaned.size, latest)
        self._swap = Swap(self._files, self.directory, replaced, new)
        return self._swap

    def replace(self, old: Sequence[Segment], new: Segment) -> None:
        assert isinstance(new, SealedSegment)
        gone = set(map(id, old))
        kept = [segment for segment in self.segments if id(segment) not in gone]
        kept.insert(bisect_right(kept, new.base_offset, key=lambda s: s.base_offset), new)
        self.segments = kept
        self._swap = None
        self._link()

    def remove_cleaned(self) -> None:
        remove_cleaned(self._files, self.directory, self._files.names(self.directory))

    def flush(self, end_offset: int) -> DiskFlush:
        others: list[File] = []
        contents, self._unsynced_contents = self._unsynced_contents, {}
        directories, self._unsynced_directories = self._unsynced_directories, []
        if self.active.dirty:
            others.append(self.active.file())
            self.active.dirty = False
        sealed = dict(self._unsynced_sealed)
        return DiskFlush(
            end_offset, self.active.size, sealed, others, contents, directories, self._files
        )

    def end_flush(self, flush: Flush) -> None:
        assert isinstance(flush, DiskFlush)
        for base_offset, file in flush.sealed.items():
            if self._unsynced_sealed.get(base_offset) is file:
                del self._unsynced_sealed[base_offset]
        if self.directory in flush.directories:
            self._is_founded = True

    def repair_tail(self, flush: Flush | None, recovery_point: int) -> None:
        if isinstance(flush, DiskFlush):
            self._take_back(flush)
        active = self.active
        active.finish()
        active.dirty = True
        again = self.flush(active.next_offset)
        try:
            again.run()
        except OSError:
            self._take_back(again)
            raise
        self.end_flush(again)
        self._verify(recovery_point)

    def _take_back(self, flush: DiskFlush) -> None:
        """It has failed: the next one has its small files and names to make durable, too."""
        self._unsynced_contents |= flush.contents
        directories = [*self._unsynced_directories, *flush.directories]
        self._unsynced_directories = list(dict.fromkeys(directories))

    def _verify(self, recovery_point: int) -> None:
        """The active segment as the disk has it, from the recovery point on."""
        active = self.active
        position = active.offset_index(True).floor(recovery_point)
        active.file().drop_cache(position)
        scratch = SegmentIndex(active.base_offset, 1 << 30)
        scan = Scan(active.file(), position, active.size, scratch)
        scan.run()
        if scan.fault is not None:
            raise KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR,
                f"{active.files.path(LOG)}: {scan.fault}, among records that were durable",
            )

    def checkpoint(self, offset: int, snapshot: tuple[int, bytes] | None) -> DiskCheckpoint:
        active, has_failed = self.active, self._checkpoint is not None
        if has_failed:
            active.forget_written_index()
        entries = [(active.files.path(s), data, at) for s, data, at in active.unwritten_index()]
        self._checkpoint = DiskCheckpoint(
            offset=offset,
            segment=active,
            index_generation=active.index_generation,
            entries=entries,
            sealed=list(self._unsynced_indexes),
            rewrite=has_failed,
            directory=self.directory,
            unwritten=self._unwritten(),
            snapshot=snapshot,
            snapshots=self._snapshots,
            files=self._files,
        )
        return self._checkpoint

    def _unwritten(self) -> list[tuple[SealedSegment, SegmentIndex]]:
        """Segments whose indexes the disk had no room for."""
        sealed = (segment for segment in self.segments if isinstance(segment, SealedSegment))
        return [(segment, segment.index) for segment in sealed if segment.index is not None]

    def end_checkpoint(self, checkpoint: Checkpoint) -> None:
        assert isinstance(checkpoint, DiskCheckpoint)
        self._checkpoint = None
        for written, _ in checkpoint.unwritten:
            written.index = None
        done = set(checkpoint.sealed)
        self._unsynced_indexes = [path for path in self._unsynced_indexes if path not in done]
        segment = checkpoint.segment
        if checkpoint.entries and segment.index_generation == checkpoint.index_generation:
            (_, offsets, at), (_, times, time_at) = checkpoint.entries
            segment.mark_written(
                (at + len(offsets)) // OFFSET_ENTRY_SIZE, (time_at + len(times)) // TIME_ENTRY_SIZE
            )

    def write_snapshot(self, offset: int, data: bytes) -> None:
        self._snapshots.write(offset, data)

    def latest_snapshot(self, max_offset: int) -> tuple[int, bytes] | None:
        return self._snapshots.latest(max_offset)

    def close(self, clean: bool) -> None:
        if clean and self.active.is_damaged:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.directory} must be scanned")
        is_changed = self.active.is_touched or self._unsynced_directories or self._unsynced_indexes
        if clean and (is_changed or self._unwritten()):
            self.active.finish()
            self.flush(self.active.next_offset).run()
            self.checkpoint(self.active.next_offset, None).run()
        self._let_go()

    def _let_go(self) -> None:
        """Nothing is read or written any more: the directory's name may become another's."""
        for segment in (*self.segments, *self._detached):
            if isinstance(segment, DiskSegment):
                segment.files.forget()
        self.active.release()
        self._unsynced_sealed = {}


def _has_indexes(base_offset: int, names: set[str]) -> bool:
    return f"{base_offset:020d}{INDEX}" in names and f"{base_offset:020d}{TIME_INDEX}" in names
