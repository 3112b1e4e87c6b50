"""Power cuts under load: what a flush has promised is there afterwards, byte for byte.

A world is a data directory with two partitions under random appends, flushes, rolls, checkpoints,
deletions, failed fsyncs and clean stops. The power goes at any file operation of any of them, also
while the log recovers from the cut before. Then the disk forgets what it may forget, and the world
must be found again: see `_check`. A failure names its seed: `World(seed).run()` repeats it.
"""

from random import Random
from uuid import UUID

import pytest
from tests.crash.forgetting import ForgettingFiles, PowerCut
from tests.tiers import few

from kafkaesque.errors import KafkaError
from kafkaesque.log.directory import DataDirectory
from kafkaesque.log.log import Checkpoint, Flush, Log, LogConfig, Segment
from kafkaesque.records.batch import Record, batches, new_batch, read_header
from kafkaesque.types import TopicPartition

CONFIG = LogConfig(segment_bytes=4000, index_interval_bytes=300)
TOPIC_ID = UUID(int=42)
WORLDS = 400
CUTS_PER_WORLD = 4


class Partition:
    """A log, and what it has promised."""

    def __init__(self, name: TopicPartition) -> None:
        self.name = name
        self.log: Log
        self.exists = False
        self.content: list[bytes] = []
        self.ever_appended: dict[int, set[bytes]] = {}
        self.flushed_offset = 0
        self.durable_start = 0
        self.asked_start = 0
        self.flush: Flush | None = None
        self.flush_has_run = False
        self.removable: list[Segment] = []

    def base_of(self, batch: bytes) -> int:
        return read_header(batch).base_offset


class World:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.files = ForgettingFiles(seed=seed)
        self.partitions = [Partition(TopicPartition("orders", n)) for n in range(2)]
        self.directory: DataDirectory
        self.clock = 1_000_000

    def run(self, cuts: int = CUTS_PER_WORLD) -> None:
        self._start()
        for _ in range(cuts):
            self.files.cut_at = self.files.operations + self.random.randint(1, 120)
            try:
                while True:
                    self._step(self.random.choice(self.partitions))
            except PowerCut:
                self._restart()

    def _restart(self) -> None:
        while True:
            kill = self.random.random() < 0.2
            self.files = self.files.kill() if kill else self.files.cut(self.random)
            if self.random.random() < 0.4:
                self.files.cut_at = self.random.randint(1, 30)
            try:
                self._start()
            except PowerCut:
                continue
            self.files.cut_at = None
            for partition in self.partitions:
                self._check(partition)
            return

    def _start(self) -> None:
        self.directory = DataDirectory.open(self.files, "/data")
        found = self.directory.partitions()
        for partition in self.partitions:
            self._open(partition, partition.name in found)

    def _open(self, partition: Partition, is_there: bool) -> None:
        name, directory = partition.name, self.directory
        assert is_there or not partition.flushed_offset, "a partition with flushed records is gone"
        segments = directory.segments(name) if is_there else None
        partition.log = Log.open(
            segments or directory.create_partition(name, TOPIC_ID),
            CONFIG,
            log_start_offset=directory.log_start_offsets.get(name),
            recovery_point=directory.recovery_points.get(name),
            clean=directory.was_clean,
        )
        partition.flush = None
        partition.removable = []

    def _step(self, partition: Partition) -> None:
        steps = [self._append] * 12 + [self._begin_flush, self._run_flush, self._end_flush] * 4
        steps += [self._roll, self._checkpoint, self._delete, self._remove, self._read]
        if self.random.random() < 0.05:
            steps = [self._stop_clean, self._truncate, self._fill_disk, self._kill]
        self.random.choice(steps)(partition)

    def _append(self, partition: Partition) -> None:
        log = partition.log
        self.clock += self.random.randint(0, 50)
        count, size = self.random.randint(1, 3), self.random.choice([0, 10, 100, 600, 1500])
        records = [
            Record(log.end_offset + i, self.clock + i, None, self.random.randbytes(size))
            for i in range(count)
        ]
        batch = bytes(new_batch(records, base_offset=log.end_offset))
        partition.ever_appended.setdefault(log.end_offset, set()).add(batch)
        log.append(batch, read_header(batch), self.clock)
        partition.content.append(batch)

    def _begin_flush(self, partition: Partition) -> None:
        if partition.flush is None:
            partition.flush = partition.log.begin_flush()
            partition.flush_has_run = False

    def _run_flush(self, partition: Partition) -> None:
        if partition.flush is None or partition.flush_has_run:
            return
        if self.random.random() < 0.05:
            self.files.failing_syncs = 1
        try:
            partition.flush.run()
            partition.flush_has_run = True
        except OSError:
            partition.flush = None
            log = partition.log
            log.recover_from_failed_flush()
            kept_to = max(partition.flushed_offset, log.log_start_offset)
            self._forget_from(partition, partition.flushed_offset)
            assert log.end_offset == log.flushed_offset == kept_to
            partition.flushed_offset = kept_to
        self.files.failing_syncs = 0

    def _end_flush(self, partition: Partition) -> None:
        if partition.flush is not None and partition.flush_has_run:
            partition.log.end_flush(partition.flush)
            partition.flush = None
            partition.flushed_offset = partition.log.flushed_offset

    def _forget_from(self, partition: Partition, offset: int) -> None:
        partition.content = [b for b in partition.content if read_header(b).next_offset <= offset]

    def _roll(self, partition: Partition) -> None:
        partition.log.roll()

    def _checkpoint(self, partition: Partition) -> None:
        log, snapshot = partition.log, None
        if self.random.random() < 0.5:
            # A snapshot speaks of the log before it: its last batch stands for that.
            state = partition.content[-1] if partition.content else b""
            snapshot = (log.end_offset, state)
        job: Checkpoint | None = log.checkpoint(snapshot)
        if job is None:
            return
        if self.random.random() < 0.3:
            self._append(partition)
        if self.random.random() < 0.1:
            self.files.failing_syncs = 1
        try:
            job.run()
        except OSError:
            return
        finally:
            self.files.failing_syncs = 0
        log.end_checkpoint(job)
        points = {p.name: p.log.recovery_point for p in self.partitions}
        self.directory.write_recovery_points(points)

    def _delete(self, partition: Partition) -> None:
        log = partition.log
        # With write.caching, records may be deleted before they are flushed.
        last = log.end_offset if self.random.random() < 0.3 else log.flushed_offset
        offset = self.random.randint(log.log_start_offset, max(log.log_start_offset, last))
        partition.asked_start = max(partition.asked_start, offset)
        partition.removable += log.delete_before(offset)
        if self.random.random() < 0.8:
            self._write_starts()

    def _write_starts(self) -> None:
        starts = {p.name: p.log.log_start_offset for p in self.partitions}
        self.directory.write_log_start_offsets(starts)
        for partition in self.partitions:
            partition.durable_start = starts[partition.name]

    def _remove(self, partition: Partition) -> None:
        removable, partition.removable = partition.removable, []
        if removable:
            self._write_starts()
        partition.log.remove_segments(removable)

    def _read(self, partition: Partition) -> None:
        log = partition.log
        if log.end_offset > log.log_start_offset:
            offset = self.random.randrange(log.log_start_offset, log.end_offset)
            _check_read(partition, offset)

    def _stop_clean(self, partition: Partition) -> None:
        for partition in self.partitions:
            if partition.flush is not None and not partition.flush_has_run:
                partition.flush.run()
            partition.log.close(clean=True)
            partition.flushed_offset = partition.log.end_offset
        self._write_starts()
        ends = {p.name: p.log.end_offset for p in self.partitions}
        self.directory.write_recovery_points(ends)
        self.directory.close(clean=True)
        self._start()
        assert self.directory.was_clean
        for partition in self.partitions:
            assert partition.log.end_offset == ends[partition.name]
            assert partition.log.recovery.sentences == []

    def _kill(self, partition: Partition) -> None:
        self.files.cut_at = self.files.operations

    def _truncate(self, partition: Partition) -> None:
        log = partition.log
        first = max(log.flushed_offset, log.log_start_offset)
        log.truncate(self.random.randint(first, log.end_offset))
        self._forget_from(partition, log.end_offset)

    def _fill_disk(self, partition: Partition) -> None:
        self.files.free_bytes = self.random.randint(0, 500)
        try:
            self._append(partition)
        except KafkaError:
            pass
        self.files.free_bytes = None

    def _check(self, partition: Partition) -> None:
        """After a restart: the promises, and a log that is whole in itself."""
        log = partition.log
        assert log.end_offset >= partition.flushed_offset, "flushed records are lost"
        assert log.flushed_offset == log.end_offset
        assert partition.durable_start <= log.log_start_offset <= partition.asked_start
        found = _read_all(log)
        promised = [
            batch
            for batch in partition.content
            if read_header(batch).next_offset > log.log_start_offset
            and partition.base_of(batch) < partition.flushed_offset
        ]
        assert found[: len(promised)] == promised, "flushed records have changed"
        for batch in found:
            assert batch in partition.ever_appended[partition.base_of(batch)]
        snapshot = log.latest_snapshot()
        if snapshot is not None and log.log_start_offset < snapshot[0]:
            [last] = [b for b in found if read_header(b).next_offset == snapshot[0]]
            assert snapshot[1] == last, "a snapshot of records that are no longer there"
        self._adopt(partition, found)
        for _ in range(3):
            self._read(partition)

    def _adopt(self, partition: Partition, found: list[bytes]) -> None:
        """What was recovered is readable from now on, so it is promised too."""
        partition.content = found
        partition.flushed_offset = partition.log.end_offset
        partition.asked_start = partition.log.log_start_offset


def _read_all(log: Log) -> list[bytes]:
    """All batches, which must follow each other without a gap."""
    found: list[bytes] = []
    offset = log.log_start_offset
    while offset < log.end_offset:
        data = log.read(offset, 2000, log.end_offset).read()
        assert len(data), f"nothing at {offset}"
        for position, header in batches(data):
            assert header.base_offset == offset or (not found and header.base_offset < offset)
            found.append(bytes(data[position : position + header.size]))
            offset = header.next_offset
    return found


def _check_read(partition: Partition, offset: int) -> None:
    data = partition.log.read(offset, 1, partition.log.end_offset).read()
    header = read_header(data)
    assert header.base_offset <= offset <= header.last_offset
    assert bytes(data) in partition.content
    found = partition.log.offset_for_timestamp(header.max_timestamp, partition.log.end_offset)
    assert found is not None
    assert found[0] <= header.last_offset


@pytest.mark.parametrize("block", few(range(10), 3))
def test_what_was_flushed_survives_a_thousand_power_cuts(block: int) -> None:
    for seed in range(block, WORLDS, 10):
        try:
            World(seed).run()
        except BaseException as error:
            error.add_note(f"repeat with World({seed}).run()")
            raise
