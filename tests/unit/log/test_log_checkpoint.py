"""What a checkpoint, a snapshot and a clean stop spare the next start."""

from random import Random
from uuid import UUID

import pytest
from tests.crash.forgetting import ForgettingFiles
from tests.unit.log.logs import (
    NOW,
    append,
    append_many,
    checkpoint,
    content,
    flush,
    new_disk,
    open_log,
    path_of,
    read,
    read_all,
)

from kafkaesque.errors import KafkaError
from kafkaesque.log.log import LogConfig
from kafkaesque.types import TopicPartition

ORDERS = TopicPartition("orders", 0)
TOPIC_ID = UUID(int=5)
SMALL = LogConfig(segment_bytes=1000, index_interval_bytes=100)


def after_power_cuts(files: ForgettingFiles, count: int = 20) -> list[ForgettingFiles]:
    return [files.cut(Random(seed)) for seed in range(count)]


@pytest.mark.parametrize("failures", [0, 1, 2, 3, 4, 5])
def test_a_checkpoint_spares_recovery_what_lies_below_it(failures: int) -> None:
    files = new_disk()
    log = open_log(files, SMALL)
    batches = append_many(log, 105)
    flush(log)
    for number in range(failures):
        files.failing_syncs = 1
        files.pass_syncs = number
        job = log.checkpoint()
        assert job is not None
        with pytest.raises(OSError, match="Input/output error"):
            job.run()
    point = checkpoint(log)
    assert point == 105
    assert log.checkpoint() is None, "nothing has changed"
    batches += append_many(log, 2)
    flush(log)
    for survivor in after_power_cuts(files):
        log = open_log(survivor, SMALL, recovery_point=point)
        assert read_all(log) == b"".join(batches)
        assert log.recovery.scanned_bytes < 10 * len(batches[0])
        assert log.recovery.sentences == []
        assert log.recovery.rebuilt_indexes == 0
        assert log.offset_of_max_timestamp(105) == (104, NOW + 104)


@pytest.mark.parametrize("seed", range(5))
def test_index_entries_that_a_failed_checkpoint_only_synced_are_written_again(seed: int) -> None:
    files = new_disk(seed)
    config = LogConfig(index_interval_bytes=100)
    log = open_log(files, config)
    append_many(log, 30)
    flush(log)
    log.truncate(20)
    log.truncate(16)
    files.failing_syncs = 1
    job = log.checkpoint((16, b""))
    assert job is not None
    with pytest.raises(OSError, match="Input/output error"):
        job.run()
    job = log.checkpoint((16, b""))
    assert job is not None
    job.run()
    log.end_checkpoint(job)
    for survivor in after_power_cuts(files):
        again = open_log(survivor, config, recovery_point=16)
        assert again.recovery.rebuilt_indexes == 0
        assert again.recovery.scanned_bytes < again.size / 4


def test_a_checkpoint_never_passes_the_flushed_offset() -> None:
    log = open_log(new_disk(), SMALL)
    append_many(log, 3)
    flush(log)
    append_many(log, 3)
    job = log.checkpoint()
    assert job is not None
    assert job.offset == 3


def test_a_checkpoint_that_a_roll_overtakes_leaves_the_index_whole() -> None:
    files = new_disk()
    log = open_log(files, SMALL)
    append_many(log, 6)
    flush(log)
    job = log.checkpoint()
    assert job is not None
    append_many(log, 2)
    log.roll()
    index = content(files, path_of(0, ".index"))
    job.run()
    log.end_checkpoint(job)
    assert content(files, path_of(0, ".index")) == index


@pytest.mark.parametrize("appends", [2, 3], ids=["same segment", "next segment"])
def test_a_checkpoint_that_a_truncation_overtakes_leaves_no_trace(appends: int) -> None:
    files, twin = new_disk(), new_disk()
    log, straight = open_log(files, SMALL), open_log(twin, SMALL)
    append_many(log, 10)
    flush(log)
    job = log.checkpoint()
    assert job is not None
    log.truncate(4)
    append_many(straight, 4)
    for _ in range(appends):
        append(log, size=150)
        append(straight, size=150)
    job.run()
    log.end_checkpoint(job)
    assert log.recovery_point <= 4
    log.roll()
    straight.roll()
    assert content(files, path_of(0, ".index")) == content(twin, path_of(0, ".index"))


def test_torn_bytes_do_not_outlive_a_clean_stop() -> None:
    files = new_disk()
    log = open_log(files)
    batches = append_many(log, 3)
    flush(log)
    files.free_bytes = 500
    with pytest.raises(KafkaError):
        append(log, size=1000)
    files.open(path_of(0, ".log")).sync()
    files.free_bytes = None
    log.close(clean=True)
    for survivor in after_power_cuts(files):
        again = open_log(survivor, recovery_point=3, clean=True)
        assert read_all(again) == b"".join(batches)
        append(again)


def test_a_clean_stop_leaves_nothing_to_scan_and_the_index_goes_on() -> None:
    files, twin = new_disk(), new_disk()
    config = LogConfig(index_interval_bytes=100)
    log, whole = open_log(files, config), open_log(twin, config)
    for _ in range(4):
        append_many(log, 7)
        log.close(clean=True)
        log = open_log(files, config, recovery_point=log.end_offset, clean=True)
        assert log.recovery.scanned_bytes == 0
        append_many(whole, 7)
    assert read_all(log) == read_all(whole)
    log.roll()
    whole.roll()
    assert content(files, path_of(0, ".index")) == content(twin, path_of(0, ".index"))
    assert log.offset_of_max_timestamp(28) == whole.offset_of_max_timestamp(28)
    assert log.recovery.sentences == []


def test_a_clean_stop_survives_a_power_cut() -> None:
    files = new_disk()
    log = open_log(files, SMALL)
    batches = append_many(log, 33)
    log.close(clean=True)
    assert log.flushed_offset == 33
    for survivor in after_power_cuts(files):
        again = open_log(survivor, SMALL, recovery_point=33, clean=True)
        assert read_all(again) == b"".join(batches)
        assert again.recovery.sentences == []


def test_a_clean_open_reads_no_file_until_it_is_used() -> None:
    files = new_disk()
    log = open_log(files, SMALL)
    batches = append_many(log, 33)
    log.close(clean=True)
    opened: list[str] = []
    real = files.open

    def count(path: str, *, create: bool = False) -> object:
        opened.append(path)
        return real(path, create=create)

    files.open = count  # type: ignore[method-assign, assignment]
    files.size = lambda path: real(path).size()  # type: ignore[method-assign]
    log = open_log(files, SMALL, recovery_point=33, clean=True)
    assert (log.end_offset, log.size) == (33, sum(map(len, batches)))
    assert opened == []
    assert read(log, 32) == batches[32]


def test_snapshots_come_back_newest_first_and_never_from_beyond_the_log() -> None:
    files = new_disk()
    log = open_log(files)
    append_many(log, 10)
    flush(log)
    for offset in (3, 5, 10):
        log.write_snapshot(offset, b"state at %d" % offset)
    assert log.latest_snapshot() == (10, b"state at 10")
    assert log.latest_snapshot(9) == (5, b"state at 5")
    assert log.latest_snapshot(4) is None, "the last two are kept"
    log.truncate(7)
    append_many(log, 10)
    assert log.latest_snapshot() == (5, b"state at 5")


def test_a_checkpoint_writes_a_snapshot_that_survives() -> None:
    files = new_disk()
    log = open_log(files)
    append_many(log, 10)
    flush(log)
    job = log.checkpoint(snapshot=(10, b"state"))
    assert job is not None
    job.run()
    log.end_checkpoint(job)
    for survivor in after_power_cuts(files):
        assert open_log(survivor, recovery_point=10).latest_snapshot() == (10, b"state")


def test_a_damaged_snapshot_is_passed_over() -> None:
    files = new_disk()
    log = open_log(files)
    append_many(log, 10)
    log.write_snapshot(4, b"older")
    log.write_snapshot(8, b"newer")
    files.open(path_of(8, ".producers")).pwrite(b"?", 5)
    assert log.latest_snapshot() == (4, b"older")
    files.open(path_of(4, ".producers")).truncate(2)
    assert log.latest_snapshot() is None
