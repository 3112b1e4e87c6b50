"""Power cuts while a log is compacted: whoever reads it afterwards ends with the same values.

A world is a partition with few keys and small segments. It is appended to, flushed, checkpointed,
and compacted again and again; the power goes at some file operation of a pass or of the swap after
it, or of the start after the cut before. What the child process would do is done here, over the
same forgetting disk. A failure names its seed: `World(seed).run(1)` repeats it.
"""

from random import Random
from uuid import UUID

import pytest
from tests.crash.forgetting import ForgettingFiles, PowerCut
from tests.tiers import few
from tests.unit.log.compacting import all_batches, request, rules, table
from tests.unit.log.logs import flush

from kafkaesque.log.cleanable import cleanable
from kafkaesque.log.compact import Request, compact, run
from kafkaesque.log.compaction import Rules
from kafkaesque.log.directory import DataDirectory
from kafkaesque.log.disk import DiskSegments
from kafkaesque.log.log import Log, LogConfig
from kafkaesque.records.batch import Codec, Record, new_batch, read_header, records
from kafkaesque.types import TopicPartition

NAME = TopicPartition("table", 0)
PATH = "/data/table-0"
CONFIG = LogConfig(segment_bytes=1200, index_interval_bytes=150, delete_retention_ms=300)
KEYS = [b"a", b"b", b"c", b"d", b"a key that is longer than a digest"]
CUTS = 1000
BLOCKS = 10


class World:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.files = ForgettingFiles(seed=seed)
        self.appended: dict[int, Record] = {}
        self.flushed_offset = 0
        self.start_offset = 0
        self.now_ms = 1_000_000
        self.cuts = 0
        self.directory: DataDirectory
        self.log: Log
        self._open()

    def run(self, cuts: int) -> None:
        """Until the power has gone so many times during a pass or its swap."""
        while self.cuts < cuts:
            self._fill()
            self.files.cut_at = self.files.operations + self.random.randint(1, 90)
            try:
                self._compact()
                self.files.cut_at = None
                self._maybe_stop()
            except PowerCut:
                self.cuts += 1
                self._restart()
            self._check()
            self.flushed_offset = self.log.flushed_offset

    def _open(self) -> None:
        self.directory = DataDirectory.open(self.files, "/data")
        is_there = NAME in self.directory.partitions()
        assert is_there or not self.flushed_offset, "the partition is gone"
        create, segments = self.directory.create_partition, self.directory.segments
        self.log = Log.open(
            segments(NAME) if is_there else create(NAME, UUID(int=1)),
            CONFIG,
            log_start_offset=self.directory.log_start_offsets.get(NAME),
            recovery_point=self.directory.recovery_points.get(NAME),
            clean=self.directory.was_clean,
        )

    def _restart(self) -> None:
        """Found again, with the power going once more while it is looked for, at times."""
        while True:
            is_kill = self.random.random() < 0.15
            self.files = self.files.kill() if is_kill else self.files.cut(self.random)
            if self.random.random() < 0.4:
                self.files.cut_at = self.random.randint(1, 20)
            try:
                self._open()
            except PowerCut:
                continue
            self.files.cut_at = None
            return

    def _fill(self) -> None:
        for _ in range(self.random.randint(1, 12)):
            self._append()
        if self.random.random() < 0.9:
            self._flush()
        if self.random.random() < 0.3:
            self.log.roll()
        if self.random.random() < 0.15:
            self._delete_before()
        self._checkpoint()

    def _append(self) -> None:
        log, base = self.log, self.log.end_offset
        self.now_ms += self.random.randint(0, 60)
        batch_records = [
            Record(
                base + i,
                self.now_ms,
                self.random.choice(KEYS),
                self.random.choice([None, b"", self.random.randbytes(90)]),
            )
            for i in range(self.random.randint(1, 5))
        ]
        codec = self.random.choice([Codec.NONE, Codec.NONE, Codec.LZ4])
        batch = new_batch(batch_records, base_offset=base, codec=codec)
        self.appended |= {record.offset: record for record in batch_records}
        log.append(batch, read_header(batch), self.now_ms)

    def _flush(self) -> None:
        if job := self.log.begin_flush():
            job.run()
            self.log.end_flush(job)
            self.flushed_offset = self.log.flushed_offset

    def _checkpoint(self) -> None:
        """What no checkpoint covers is not compacted; at times the last one is an older one."""
        if self.random.random() < 0.8 and (job := self.log.checkpoint()):
            job.run()
            self.log.end_checkpoint(job)
        if self.random.random() < 0.9:
            self.directory.write_recovery_points({NAME: self.log.recovery_point})

    def _delete_before(self) -> None:
        offset = self.random.randint(self.log.log_start_offset, self.log.flushed_offset)
        removed = self.log.delete_before(offset)
        self.start_offset = offset
        self.directory.write_log_start_offsets({NAME: offset})
        self.log.remove_segments(removed)

    def _compact(self) -> None:
        log = self.log
        self.now_ms += self.random.choice([0, 100, 400])
        cleaned_to = self.directory.cleaned_offsets.get(NAME, 0)
        found = cleanable(log, cleaned_to, log.recovery_point, self.now_ms)
        if not found.dirty_bytes:
            return
        request = Request(
            PATH,
            tuple((s.base_offset, s.next_offset, s.size) for s in found.segments),
            CONFIG.segment_bytes,
            CONFIG.segment_index_bytes,
            CONFIG.index_interval_bytes,
            Rules(
                found.first_dirty,
                self.now_ms,
                CONFIG.delete_retention_ms,
                self.random.choice([2, 1000]),
            ),
        )
        steps = compact(self.files, request)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                result = end.value
                break
            if self.random.random() < 0.05:
                self._append()
                self._flush()
        for cleaned in result.segments:
            old = [s for s in found.segments if cleaned.base_offset <= s.base_offset]
            old = [segment for segment in old if segment.base_offset < cleaned.next_offset]
            swap = log.swap(old, cleaned)
            assert swap is not None
            swap.run()
            log.end_swap(swap)
            swap.forget_old()
        self.directory.write_cleaned_offsets({NAME: result.cleaned_to})

    def _maybe_stop(self) -> None:
        if self.random.random() < 0.2:
            self.log.close(clean=True)
            self.flushed_offset = self.log.end_offset
            self.directory.write_recovery_points({NAME: self.log.end_offset})
            self.directory.close(clean=True)
            self._open()
            assert self.log.recovery.sentences == []

    def _check(self) -> None:
        """Every value that was promised, none that was not, and a log that is whole in itself."""
        log = self.log
        assert log.end_offset >= self.flushed_offset, "flushed records are lost"
        assert log.log_start_offset == self.start_offset
        found = [r for batch, _ in all_batches(log, piece=700) for r in records(batch)]
        offsets = [record.offset for record in found]
        assert offsets == sorted(set(offsets))
        for record in found:
            assert record == self.appended[record.offset]
        start = log.log_start_offset
        self.appended = {o: r for o, r in self.appended.items() if o < log.end_offset}
        promised = [record for offset, record in self.appended.items() if offset >= start]
        assert table([record for record in found if record.offset >= start]) == table(promised)
        for segment in log.sealed:
            *_, (_, last) = segment.headers(segment.base_offset)
            assert last.next_offset == segment.next_offset
        self._check_reads()
        names = self.files.names(PATH)
        assert not [name for name in names if name.endswith((".swap", ".cleaned"))]

    def _check_reads(self) -> None:
        """From wherever somebody reads or whenever: indexes must not lead astray."""
        log = self.log
        there = list(all_batches(log))
        for number, (batch, header) in enumerate(there):
            before = there[number - 1][1].next_offset if number else log.log_start_offset
            for offset in {before, header.last_offset}:
                assert bytes(log.read(offset, 1, log.end_offset).read()) == batch
            if header.count:
                assert log.offset_for_timestamp(header.max_timestamp, log.end_offset) is not None


def run_worlds(seeds: range, cuts: int) -> None:
    for seed in seeds:
        try:
            World(seed).run(cuts)
        except BaseException as error:
            error.add_note(f"repeat with World({seed}).run({cuts})")
            raise


@pytest.mark.parametrize("block", few(range(BLOCKS), 2))
def test_no_value_is_lost_in_a_thousand_power_cuts_during_compaction(block: int) -> None:
    worlds = CUTS // BLOCKS // 5
    run_worlds(range(block * worlds, (block + 1) * worlds), cuts=5)


def test_a_kill_at_any_step_of_a_swap_and_a_power_cut_at_any_step_of_the_start_after_it() -> None:
    """A kill leaves names that only the page cache knows: a start must not build on them."""
    operations = _swap(None).operations
    assert operations > 8
    for killed_at in range(1, operations + 1):
        for cut_at in range(1, 12):
            files = _swap(killed_at).kill()
            files.cut_at = cut_at
            random = Random(cut_at)
            try:
                _open(files)
            except PowerCut:
                files = files.cut(random)
            files.cut_at = None
            found = [r for batch, _ in all_batches(_open(files)) for r in records(batch)]
            assert table(found) == {b"%d" % key: b"%d" % (20 + key) for key in range(10)}


def _open(files: ForgettingFiles, recovery_point: int | None = 30) -> Log:
    return Log.open(DiskSegments(files, PATH), CONFIG, recovery_point=recovery_point)


def _swap(killed_at: int | None) -> ForgettingFiles:
    """A disk on which two segments were about to become one, up to that operation."""
    files = ForgettingFiles()
    for path, parent in (("/data", "/"), (PATH, "/data")):
        files.make_directory(path)
        files.sync_directory(parent)
    log = _open(files, None)
    for number in range(30):
        record = Record(number, 1000, b"%d" % (number % 10), b"%d" % number)
        batch = new_batch([record], base_offset=number)
        log.append(batch, read_header(batch), 1000)
        if number % 15 == 14:
            log.roll()
    flush(log)
    asked = request(log, rules(log), 30, PATH)
    assert asked is not None
    result = run(compact(files, asked), lambda: None)
    (cleaned,) = result.segments
    swap = log.swap(log.sealed, cleaned)
    assert swap is not None
    files.operations = 0
    files.cut_at = killed_at
    try:
        swap.run()
    except PowerCut:
        pass
    return files


@pytest.mark.crash
@pytest.mark.timeout(1800)
def test_no_value_is_lost_in_twenty_thousand_power_cuts_during_compaction() -> None:
    run_worlds(range(10_000, 12_000), cuts=10)
