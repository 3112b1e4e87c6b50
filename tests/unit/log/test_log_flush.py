"""What a flush promises, and what happens when the disk breaks its word."""

import contextlib
import errno
import os
from random import Random
from uuid import UUID

import pytest
from tests.crash.forgetting import ForgettingFiles, PowerCut
from tests.unit.log.logs import (
    DIRECTORY,
    append,
    append_many,
    flush,
    new_disk,
    open_log,
    path_of,
    read,
    read_all,
)

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.directory import DataDirectory
from kafkaesque.log.files import File
from kafkaesque.log.log import Log, LogConfig
from kafkaesque.log.memory import MemorySegments
from kafkaesque.types import TopicPartition

ORDERS = TopicPartition("orders", 0)
TOPIC_ID = UUID(int=5)
SMALL = LogConfig(segment_bytes=1000, index_interval_bytes=100)


def after_power_cuts(files: ForgettingFiles, count: int = 20) -> list[ForgettingFiles]:
    return [files.cut(Random(seed)) for seed in range(count)]


def test_nothing_dirty_nothing_to_flush() -> None:
    log = open_log(new_disk())
    assert log.begin_flush() is None
    append(log)
    flush(log)
    assert log.begin_flush() is None


def test_memory_is_flushed_at_once() -> None:
    log = Log.open(MemorySegments(), LogConfig())
    append(log)
    assert log.flushed_offset == 1
    assert log.begin_flush() is None
    assert log.checkpoint() is None


def test_a_flush_covers_what_was_appended_before_it_began() -> None:
    log = open_log(new_disk())
    append(log)
    job = log.begin_flush()
    assert job is not None
    append(log)
    assert log.flushing
    assert log.begin_flush() is None, "one at a time"
    job.run()
    assert log.flushed_offset == 0
    log.end_flush(job)
    assert log.flushed_offset == 1
    flush(log)
    assert log.flushed_offset == 2


def test_a_flush_ends_once() -> None:
    log = open_log(new_disk())
    append(log)
    job = log.begin_flush()
    assert job is not None
    job.run()
    log.end_flush(job)
    with pytest.raises(ValueError, match="not under way"):
        log.end_flush(job)


def test_flushed_records_survive_a_power_cut_across_segments_in_a_new_directory() -> None:
    files = ForgettingFiles()
    directory = DataDirectory.open(files, "/data")
    log = Log.open(directory.create_partition(ORDERS, TOPIC_ID), SMALL)
    batches = append_many(log, 35)
    flush(log)
    append_many(log, 10)
    for survivor in after_power_cuts(files):
        again = DataDirectory.open(survivor, "/data")
        assert again.partitions() == {ORDERS: TOPIC_ID}
        log = Log.open(again.segments(ORDERS), SMALL)
        assert read_all(log).startswith(b"".join(batches))


def test_a_segment_sealed_during_a_flush_is_synced_by_the_next_one() -> None:
    files = new_disk()
    log = open_log(files, SMALL)
    batches = append_many(log, 5)
    job = log.begin_flush()
    assert job is not None
    batches += append_many(log, 2)
    log.roll()
    batches += append_many(log, 2)
    job.run()
    log.end_flush(job)
    flush(log)
    assert log.flushed_offset == 9
    for survivor in after_power_cuts(files):
        assert read_all(open_log(survivor, SMALL)) == b"".join(batches)


def test_a_truncation_during_a_flush_lowers_what_it_covers() -> None:
    log = open_log(new_disk())
    append_many(log, 5)
    job = log.begin_flush()
    assert job is not None
    log.truncate(2)
    batch = append(log, fill=9, size=900)
    job.run()
    log.end_flush(job)
    assert log.flushed_offset == 2
    assert read(log, 2) == batch


def test_a_truncation_is_durable_when_it_returns() -> None:
    files = new_disk()
    log = open_log(files, SMALL)
    batches = append_many(log, 30)
    flush(log)
    append_many(log, 10)
    log.write_snapshot(25, b"of records that go")
    log.truncate(22)
    for survivor in after_power_cuts(files):
        again = open_log(survivor, SMALL)
        assert read_all(again) == b"".join(batches[:22])
        append_many(again, 10)
        assert again.latest_snapshot() is None


def test_after_a_failed_flush_only_what_was_durable_before_is_left() -> None:
    files = new_disk()
    log = open_log(files, SMALL)
    kept = append_many(log, 5)
    flush(log)
    append_many(log, 20)
    files.failing_syncs = 1
    job = log.begin_flush()
    assert job is not None
    with pytest.raises(OSError, match="Input/output error"):
        job.run()
    assert log.begin_flush() is None, "nothing can be acknowledged until it has recovered"
    log.recover_from_failed_flush()
    assert (log.end_offset, log.flushed_offset) == (5, 5)
    assert read_all(log) == b"".join(kept)
    kept.append(append(log, fill=8))
    flush(log)
    for survivor in after_power_cuts(files):
        assert read_all(open_log(survivor, SMALL)) == b"".join(kept)


def test_recovery_from_a_failed_flush_can_fail_and_be_tried_again() -> None:
    files = new_disk()
    log = open_log(files, SMALL)
    kept = append_many(log, 5)
    flush(log)
    append_many(log, 20)
    files.failing_syncs = 3
    job = log.begin_flush()
    assert job is not None
    with pytest.raises(OSError, match="Input/output error"):
        job.run()
    for _ in range(2):
        with pytest.raises(KafkaError, match="Input/output error") as failed:
            log.recover_from_failed_flush()
        assert failed.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    log.recover_from_failed_flush()
    kept.append(append(log))
    flush(log)
    for survivor in after_power_cuts(files):
        assert read_all(open_log(survivor, SMALL)) == b"".join(kept)


@pytest.mark.parametrize("failures", [1, 2, 3])
def test_a_first_flush_that_fails_still_makes_the_directory_durable_later(failures: int) -> None:
    files = ForgettingFiles()
    directory = DataDirectory.open(files, "/data")
    log = Log.open(directory.create_partition(ORDERS, TOPIC_ID), SMALL)
    append(log)
    files.failing_syncs = failures
    job = log.begin_flush()
    assert job is not None
    with pytest.raises(OSError, match="Input/output error"):
        job.run()
    while files.failing_syncs:
        with pytest.raises(KafkaError, match="Input/output error"):
            log.recover_from_failed_flush()
    log.recover_from_failed_flush()
    batch = append(log, fill=4)
    flush(log)
    for survivor in after_power_cuts(files):
        again = DataDirectory.open(survivor, "/data")
        assert read_all(Log.open(again.segments(ORDERS), SMALL)) == batch


def test_what_recovery_has_shown_is_on_disk_even_after_a_failed_fsync_and_a_kill() -> None:
    for seed in range(20):
        files = new_disk()
        log = open_log(files)
        append_many(log, 30)
        files.failing_syncs = 1
        job = log.begin_flush()
        assert job is not None
        with pytest.raises(OSError, match="Input/output error"):
            job.run()
        machine = files.kill()
        shown = read_all(open_log(machine))
        assert read_all(open_log(machine.cut(Random(seed)))) == shown


def test_a_disk_that_lost_durable_bytes_keeps_the_partition_offline() -> None:
    files = new_disk()
    log = open_log(files)
    append_many(log, 100)
    flush(log)
    append(log)
    files.failing_syncs = 1
    job = log.begin_flush()
    assert job is not None
    with pytest.raises(OSError, match="Input/output error"):
        job.run()
    files.rot(path_of(0, ".log"), b"rot", 200)
    with pytest.raises(KafkaError, match="among records that were durable"):
        log.recover_from_failed_flush()


def deleted_past_the_flushed(files: ForgettingFiles) -> Log:
    """As with write.caching: five records are flushed, 25 are not, and the log starts at 17."""
    log = open_log(files, SMALL)
    append_many(log, 5)
    flush(log)
    log.write_snapshot(5, b"producers")
    append_many(log, 25)
    log.delete_before(17)
    return log


def fail_to_flush(log: Log, files: ForgettingFiles) -> None:
    files.failing_syncs = 1
    job = log.begin_flush()
    assert job is not None
    with pytest.raises(OSError, match="Input/output error"):
        job.run()


@pytest.mark.parametrize("durable_start", [None, 17])
def test_a_log_that_starts_above_what_was_flushed_begins_anew_there(
    durable_start: int | None,
) -> None:
    """Whether or not that start, and the removal of what lies before it, had come to the disk."""
    files = new_disk()
    log = deleted_past_the_flushed(files)
    fail_to_flush(log, files)
    log.recover_from_failed_flush()
    assert (log.log_start_offset, log.flushed_offset, log.end_offset) == (17, 17, 17)
    assert log.latest_snapshot() == (5, b"producers")
    assert log.begin_flush() is None
    kept = append_many(log, 12)
    assert read_all(log) == b"".join(kept)
    flush(log)
    for survivor in after_power_cuts(files):
        again = open_log(survivor, SMALL, log_start_offset=durable_start)
        assert (again.log_start_offset, again.end_offset) == (17, 29)
        assert read_all(again) == b"".join(kept)


def test_beginning_anew_can_fail_and_be_tried_again() -> None:
    for seed in range(20):
        files = new_disk(seed)
        log = deleted_past_the_flushed(files)
        removable = log.sealed[:1]
        fail_to_flush(log, files)
        files.failing_syncs = 2
        for _ in range(2):
            with pytest.raises(KafkaError, match="Input/output error"):
                log.recover_from_failed_flush()
        log.recover_from_failed_flush()
        log.remove_segments(removable)
        kept = append(log)
        flush(log)
        assert read_all(open_log(files.cut(Random(seed)), SMALL)) == kept


class StumblingFiles(ForgettingFiles):
    """The nth change of this kind fails, and those after it do not."""

    fails_in: tuple[str, int] | None = None

    def _count(self, operation: str) -> None:
        if self.fails_in is not None and self.fails_in[0] == operation:
            number = self.fails_in[1] - 1
            self.fails_in = (operation, number) if number else None
            if not number:
                raise OSError(errno.EIO, os.strerror(errno.EIO))

    def open(self, path: str, *, create: bool = False) -> File:
        if create:
            self._count("create")
        return super().open(path, create=create)

    def remove(self, path: str) -> None:
        self._count("remove")
        super().remove(path)

    def sync_directory(self, path: str) -> None:
        self._count("sync_directory")
        super().sync_directory(path)


@pytest.mark.parametrize("sync", [2, 3])
def test_a_repair_that_fails_leaves_what_it_was_to_make_durable_to_the_next(sync: int) -> None:
    """As where a start could open a log, and not read it: no flush has failed before."""
    files = StumblingFiles()
    directory = DataDirectory.open(files, "/data")
    log = Log.open(directory.create_partition(ORDERS, TOPIC_ID), SMALL)
    files.fails_in = ("sync_directory", sync)
    with pytest.raises(KafkaError, match="Input/output error"):
        log.recover_from_failed_flush()
    log.recover_from_failed_flush()
    batch = append(log)
    flush(log)
    for survivor in after_power_cuts(files):
        again = DataDirectory.open(survivor, "/data")
        assert again.partitions() == {ORDERS: TOPIC_ID}
        assert read_all(Log.open(again.segments(ORDERS), SMALL)) == batch


STUMBLES = [("create", n) for n in (1, 2)] + [("remove", n) for n in range(1, 9)]


@pytest.mark.parametrize("stumble", [*STUMBLES, ("sync_directory", 1)])
def test_what_a_failed_flush_may_have_lost_goes_even_where_dropping_it_stumbles(
    stumble: tuple[str, int],
) -> None:
    files = StumblingFiles()
    for path in ("/data", DIRECTORY):
        files.make_directory(path)
    files.sync_directory("/")
    files.sync_directory("/data")
    log = open_log(files, SMALL)
    kept = append_many(log, 13)
    flush(log)
    append_many(log, 30)
    log.write_snapshot(20, b"of records that go")
    log.write_snapshot(30, b"of records that go")
    fail_to_flush(log, files)
    files.fails_in = stumble
    with pytest.raises((KafkaError, OSError)):
        log.recover_from_failed_flush()
    assert files.fails_in is None
    log.recover_from_failed_flush()
    assert log.latest_snapshot(100) is None
    bases = [int(name[:20]) for name in files.names(DIRECTORY) if name[:20].isdecimal()]
    assert max(bases) <= 13, "nothing of what was dropped may come to lie behind what is appended"
    while log.end_offset < 43:
        kept.append(append(log, size=50))
    flush(log)
    for survivor in after_power_cuts(files, 5):
        again = open_log(survivor, SMALL)
        assert read_all(again) == b"".join(kept)
        assert again.latest_snapshot() is None


def test_a_snapshot_that_could_not_be_removed_is_not_forgotten() -> None:
    files = StumblingFiles()
    for path in ("/data", DIRECTORY):
        files.make_directory(path)
    log = open_log(files, SMALL)
    append_many(log, 30)
    flush(log)
    log.write_snapshot(10, b"10")
    log.write_snapshot(20, b"20")
    files.fails_in = ("remove", 1)
    with pytest.raises(OSError, match="Input/output error"):
        log.write_snapshot(30, b"30")
    log.truncate(5)
    assert not [name for name in files.names(DIRECTORY) if name.endswith(".producers")]


def test_a_snapshot_whose_write_failed_late_goes_with_the_records_it_speaks_of() -> None:
    files = StumblingFiles()
    for path in ("/data", DIRECTORY):
        files.make_directory(path)
    log = open_log(files, SMALL)
    append_many(log, 30)
    flush(log)
    files.fails_in = ("sync_directory", 1)
    with pytest.raises(OSError, match="Input/output error"):
        log.write_snapshot(30, b"30")
    log.truncate(5)
    append_many(log, 40)
    assert open_log(files.kill(), SMALL).latest_snapshot() is None


def test_a_power_cut_while_a_log_begins_anew_does_not_move_its_start() -> None:
    for change in range(1, 40):
        for seed in range(10):
            files = new_disk(seed)
            log = deleted_past_the_flushed(files)
            fail_to_flush(log, files)
            files.cut_at = files.operations + change
            with contextlib.suppress(PowerCut):
                log.recover_from_failed_flush()
            again = open_log(files.cut(Random(seed)), SMALL)
            assert again.log_start_offset <= 17
