"""Starts on a disk without a byte left: what is there can be read, and what is wrong is said."""

from random import Random
from uuid import UUID

import pytest
from tests.crash.forgetting import ForgettingFiles
from tests.unit.log.logs import (
    DIRECTORY,
    NOW,
    append,
    append_many,
    checkpoint,
    flush,
    new_disk,
    open_log,
    path_of,
    read,
    read_all,
)

from kafkaesque.errors import KafkaError
from kafkaesque.log.directory import DataDirectory
from kafkaesque.log.log import Log, LogConfig
from kafkaesque.types import TopicPartition

SMALL = LogConfig(segment_bytes=1000, index_interval_bytes=100)


def killed(files: ForgettingFiles, count: int = 45) -> tuple[ForgettingFiles, bytes]:
    """A machine whose broker was killed, and what its log holds."""
    log = open_log(files, SMALL)
    batches = append_many(log, count)
    flush(log)
    return files.kill(), b"".join(batches)


def without_indexes(files: ForgettingFiles) -> None:
    for name in files.names(DIRECTORY):
        if name.endswith("index"):
            files.remove(f"{DIRECTORY}/{name}")


def check_reads(log: Log, whole: bytes) -> None:
    """From wherever somebody reads, and by timestamp."""
    assert read_all(log) == whole
    for offset in range(45):
        assert read(log, offset).startswith(read(log, offset, 1))
        assert log.offset_for_timestamp(NOW + offset, 45) == (offset, NOW + offset)
    assert log.offset_of_max_timestamp(45) == (44, NOW + 44)


@pytest.mark.parametrize("free_bytes", [0, 9, 20, 100])
@pytest.mark.parametrize("has_indexes", [True, False])
def test_a_log_is_read_by_its_index_in_memory_where_there_is_no_room_for_one(
    free_bytes: int, has_indexes: bool
) -> None:
    files, whole = killed(new_disk())
    if not has_indexes:
        without_indexes(files)
    files.free_bytes = free_bytes
    log = open_log(files, SMALL, recovery_point=20)
    check_reads(log, whole)
    if not has_indexes:
        assert any("No space left on device" in said for said in log.recovery.sentences)
    with pytest.raises(KafkaError, match="No space left"):
        append_many(log, 1, size=200)


@pytest.mark.parametrize("clean", [True, False])
def test_the_indexes_are_written_with_the_first_checkpoint_that_finds_room(clean: bool) -> None:
    files, whole = killed(new_disk())
    without_indexes(files)
    files.free_bytes = 0
    log = open_log(files, SMALL, recovery_point=20)
    job = log.checkpoint()
    assert job is not None
    with pytest.raises(OSError, match="No space left"):
        job.run()
    assert not files.exists(path_of(0, ".index")), "one that is cut short would be believed"
    files.free_bytes = None
    whole += append(log, (NOW + 45,))
    if clean:
        log.close(clean=True)
    else:
        checkpoint(log)
        check_reads(log, read_all(log)[: len(whole)])
    survivor = files.cut(Random(1))
    again = open_log(survivor, SMALL, recovery_point=46, clean=clean)
    assert again.recovery.sentences == []
    assert read_all(again) == whole


def test_a_log_whose_indexes_could_not_be_written_is_not_closed_cleanly() -> None:
    files, _ = killed(new_disk())
    without_indexes(files)
    files.free_bytes = 0
    log = open_log(files, SMALL, recovery_point=20)
    with pytest.raises(KafkaError, match="No space left"):
        log.close(clean=True)


def test_a_lost_index_does_not_keep_a_log_from_being_read_after_a_clean_stop() -> None:
    files = new_disk()
    log = open_log(files, SMALL)
    whole = b"".join(append_many(log, 45))
    log.close(clean=True)
    files.remove(path_of(0, ".index"))
    files.free_bytes = 0
    check_reads(open_log(files, SMALL, recovery_point=45, clean=True), whole)


def test_a_data_directory_is_opened_on_a_full_disk() -> None:
    files = ForgettingFiles()
    directory = DataDirectory.open(files, "/data")
    name = TopicPartition("orders", 0)
    log = Log.open(directory.create_partition(name, UUID(int=1)), SMALL)
    batches = append_many(log, 45)
    flush(log)
    files = files.kill()
    files.free_bytes = 0
    again = DataDirectory.open(files, "/data")
    assert again.partitions() == {name: UUID(int=1)}
    assert read_all(Log.open(again.segments(name), SMALL)) == b"".join(batches)
