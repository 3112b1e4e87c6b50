"""Partitions are deleted and made anew: what a failing disk, a kill and long names make of it."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from uuid import UUID

import pytest
from tests.crash.forgetting import ForgettingFiles
from tests.unit.log.logs import append, flush

from kafkaesque.log.directory import DataDirectory
from kafkaesque.log.files import File, OsFiles
from kafkaesque.log.log import Log, LogConfig
from kafkaesque.types import TopicPartition

OLD, NEW = UUID(int=1), UUID(int=2)
ORDERS = TopicPartition("orders", 0)
MANY = [TopicPartition("orders", number) for number in range(20)]


class FailingFiles(ForgettingFiles):
    """Fails where a test says so."""

    fails: Callable[[str, str], bool] = staticmethod(lambda operation, path: False)

    def _try(self, operation: str, path: str) -> None:
        if self.fails(operation, path):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    def open(self, path: str, *, create: bool = False) -> File:
        self._try("open", path)
        return super().open(path, create=create)

    def rename(self, old: str, new: str) -> None:
        self._try("rename", old)
        super().rename(old, new)

    def remove_tree(self, path: str) -> None:
        self._try("remove_tree", path)
        super().remove_tree(path)

    def sync_directory(self, path: str) -> None:
        self._try("sync_directory", path)
        super().sync_directory(path)


def directory_with(files: ForgettingFiles, partitions: list[TopicPartition]) -> DataDirectory:
    """A directory with partitions that have been flushed."""
    directory = DataDirectory.open(files, "/data")
    for partition in partitions:
        log = Log.open(directory.create_partition(partition, OLD), LogConfig())
        append(log)
        flush(log)
    return directory


def deleted_names(files: ForgettingFiles) -> list[str]:
    return [name for name in files.names("/data") if name.endswith("-delete")]


@pytest.mark.parametrize("length", [230, 249])
@pytest.mark.parametrize("number", [0, 9999])
def test_a_topic_of_the_longest_name_can_be_deleted(
    tmp_path: Path, length: int, number: int
) -> None:
    directory = DataDirectory.open(OsFiles(), str(tmp_path))
    partition = TopicPartition("t" * length, number)
    Log.open(directory.create_partition(partition, OLD), LogConfig())
    [aside] = directory.delete_partitions([partition])
    assert len(os.path.basename(aside)) <= 255
    assert directory.partitions() == {}
    directory.close(clean=False)
    DataDirectory.open(OsFiles(), str(tmp_path)).close(clean=False)
    assert not os.path.exists(aside)


def test_all_partitions_of_a_topic_are_gone_at_once() -> None:
    files = ForgettingFiles()
    directory = directory_with(files, MANY)
    before = files.operations
    directory.delete_partitions(MANY)
    assert files.operations == before + len(MANY) + 1
    for seed in range(10):
        survivor = files.cut(Random(seed))
        assert DataDirectory.open(survivor, "/data").partitions() == {}
        assert deleted_names(survivor) == []


def test_a_partition_that_cannot_be_put_aside_does_not_keep_the_others() -> None:
    files = FailingFiles()
    directory = directory_with(files, MANY)
    files.fails = lambda operation, path: operation == "rename" and path.endswith("-7")
    with pytest.raises(OSError, match="Input/output error"):
        directory.delete_partitions(MANY)
    assert directory.partitions() == {MANY[7]: OLD}
    files.fails = lambda operation, path: False
    directory.delete_partitions(MANY)
    directory.remove_deleted(directory.removable())
    assert directory.partitions() == {}
    assert deleted_names(files) == []


def test_a_partition_whose_new_name_is_not_durable_keeps_what_tells_whose_it_is() -> None:
    files = FailingFiles()
    directory = directory_with(files, [ORDERS])
    files.fails = lambda operation, path: operation == "sync_directory"
    with pytest.raises(OSError, match="Input/output error"):
        directory.delete_partitions([ORDERS])
    directory.remove_deleted(directory.removable())
    found = [
        DataDirectory.open(files.cut(Random(seed)), "/data").partitions() for seed in range(20)
    ]
    assert {ORDERS: OLD} in found
    assert all(each in ({ORDERS: OLD}, {}) for each in found)
    assert not directory.is_tidy
    files.fails = lambda operation, path: False
    # Whether or not anybody deletes it again: of a creation that failed nobody does.
    directory.remove_deleted(directory.removable())
    assert deleted_names(files) == []
    assert directory.is_tidy


def test_a_rename_that_another_sync_came_too_early_for_is_not_taken_for_durable() -> None:
    """Strays are removed in one thread while a topic is deleted in another."""
    files = FailingFiles()
    directory = directory_with(files, MANY[:2])
    first, second = MANY[:2]

    def sync_late(operation: str, path: str) -> bool:
        if operation == "sync_directory":
            # The disk has done the first one's by now; the second's fails.
            files.fails = lambda operation, path: operation == "sync_directory"
            with pytest.raises(OSError, match="Input/output error"):
                directory.delete_partitions([second])
            files.fails = lambda operation, path: False
        return False

    files.fails = sync_late
    [aside] = directory.delete_partitions([first])
    assert directory.deleted == {aside}
    directory.delete_partitions([second])
    assert len(directory.deleted) == 2


def test_a_directory_that_cannot_be_removed_does_not_keep_the_others_and_is_tried_again() -> None:
    files = FailingFiles()
    directory = directory_with(files, MANY)
    deleted = directory.delete_partitions(MANY)
    files.fails = lambda operation, path: path == deleted[3]
    with pytest.raises(OSError, match="Input/output error"):
        directory.remove_deleted(deleted)
    assert deleted_names(files) == [os.path.basename(deleted[3])]
    files.fails = lambda operation, path: False
    directory.remove_deleted(directory.removable())
    assert deleted_names(files) == []


def test_a_creation_that_fails_removes_nothing_of_other_partitions() -> None:
    """It does so on the event loop, and what others have left may be large."""
    files = FailingFiles()
    directory = directory_with(files, MANY)
    directory.delete_partitions(MANY)
    removed = []

    def note(operation: str, path: str) -> bool:
        if operation == "remove_tree":
            removed.append(path)
        return operation == "open" and path.endswith("/partition.metadata")

    files.fails = note
    with pytest.raises(OSError, match="Input/output error"):
        directory.create_partition(TopicPartition("new", 0), NEW)
    assert [path.startswith("/data/new-0.") for path in removed] == [True]
    assert len(deleted_names(files)) == len(MANY)


def test_a_start_goes_on_where_a_deleted_partition_cannot_be_removed() -> None:
    files = FailingFiles()
    directory = directory_with(files, MANY)
    directory.delete_partitions(MANY[:2])
    directory.close(clean=True)
    files.fails = lambda operation, path: operation == "remove_tree"
    again = DataDirectory.open(files, "/data")
    assert again.was_clean
    assert len(again.partitions()) == 18
    assert again.repairs == [
        "/data: 2 deleted partitions cannot be removed: Input/output error",
    ]
    files.fails = lambda operation, path: False
    again.remove_deleted(again.removable())
    assert deleted_names(files) == []


def test_a_directory_of_somebody_else_is_not_taken_for_a_deleted_partition() -> None:
    files = ForgettingFiles()
    DataDirectory.open(files, "/data").close(clean=True)
    files.make_directory("/data/do-not-delete")
    DataDirectory.open(files, "/data")
    assert files.exists("/data/do-not-delete")


def test_a_partition_whose_metadata_cannot_be_read_is_named_and_nobody_takes_its_place() -> None:
    files = FailingFiles()
    directory = directory_with(files, MANY[:2])
    directory.write_log_start_offsets({MANY[0]: 1})
    files.fails = lambda operation, path: path == "/data/orders-0/partition.metadata"
    assert directory.partitions() == {MANY[1]: OLD}
    assert directory.repairs == ["/data/orders-0/partition.metadata: Input/output error"]
    with pytest.raises(FileExistsError):
        directory.create_partition(MANY[0], NEW)
    files.fails = lambda operation, path: False
    assert directory.partitions() == {MANY[0]: OLD, MANY[1]: OLD}
    assert directory.log_start_offsets == {MANY[0]: 1}


def test_a_partition_that_cannot_be_created_leaves_nothing_behind() -> None:
    files = FailingFiles()
    directory = directory_with(files, [])
    before = set(files.names("/data"))
    files.fails = lambda operation, path: path.endswith("/partition.metadata")
    with pytest.raises(OSError, match="Input/output error"):
        directory.create_partition(ORDERS, OLD)
    assert set(files.names("/data")) == before
    files.fails = lambda operation, path: False
    directory.create_partition(ORDERS, OLD)


@pytest.mark.parametrize("operation", ["open", "rename", "sync_directory"])
def test_offsets_are_not_forgotten_in_memory_before_they_are_on_disk(operation: str) -> None:
    files = FailingFiles()
    directory = directory_with(files, [])
    directory.write_recovery_points({ORDERS: 50})
    directory.write_log_start_offsets({ORDERS: 40})
    directory.write_cleaned_offsets({ORDERS: 45})
    files.fails = lambda what, path: what == operation and ("checkpoint" in path or what[0] == "s")
    with pytest.raises(OSError, match="Input/output error"):
        directory.create_partition(ORDERS, NEW)
    files.fails = lambda what, path: False
    directory.create_partition(ORDERS, NEW)
    for seed in range(10):
        again = DataDirectory.open(files.cut(Random(seed)), "/data")
        assert again.recovery_points == again.log_start_offsets == again.cleaned_offsets == {}


def test_offsets_that_may_have_reached_the_disk_do_not_mislead_a_namesake() -> None:
    """Of a write that failed after its rename: memory never had them."""
    files = FailingFiles()
    directory = directory_with(files, [])
    files.fails = lambda operation, path: operation == "sync_directory"
    with pytest.raises(OSError, match="Input/output error"):
        directory.write_recovery_points({ORDERS: 50})
    files.fails = lambda operation, path: False
    assert directory.recovery_points == {}
    directory.create_partition(ORDERS, NEW)
    for seed in range(10):
        assert DataDirectory.open(files.cut(Random(seed)), "/data").recovery_points == {}


@pytest.mark.parametrize("failures", range(1, 6))
def test_a_first_flush_that_fails_does_not_cost_a_partition_its_id(failures: int) -> None:
    """Without it, the next start would take its records for a deleted topic's."""
    for seed in range(10):
        files = ForgettingFiles(seed=seed)
        directory = DataDirectory.open(files, "/data")
        log = Log.open(directory.create_partition(ORDERS, OLD), LogConfig())
        append(log)
        job = log.begin_flush()
        assert job is not None
        files.pass_syncs, files.failing_syncs = failures % 2, failures
        with pytest.raises(OSError, match="Input/output error"):
            job.run()
        files.failing_syncs = 0
        log.recover_from_failed_flush()
        append(log)
        flush(log)
        again = DataDirectory.open(files.cut(Random(seed)), "/data")
        assert again.partitions() == {ORDERS: OLD}


def test_a_partition_is_created_while_a_checkpoint_is_being_written() -> None:
    files = FailingFiles()
    directory = directory_with(files, [])

    def create(operation: str, path: str) -> bool:
        if operation == "rename":
            files.fails = lambda operation, path: False
            directory.create_partition(ORDERS, NEW)
        return False

    files.fails = create
    directory.write_recovery_points({MANY[1]: 5})
    assert directory.partitions() == {ORDERS: NEW}
    assert directory.recovery_points == {MANY[1]: 5}


def test_a_checkpoint_that_is_being_written_is_not_written_over() -> None:
    files = FailingFiles()
    directory = directory_with(files, [])
    directory.write_recovery_points({ORDERS: 5})

    def create(operation: str, path: str) -> bool:
        if operation == "rename":
            files.fails = lambda operation, path: False
            with pytest.raises(OSError, match="being written"):
                directory.create_partition(ORDERS, NEW)
        return False

    files.fails = create
    directory.write_recovery_points({ORDERS: 5, MANY[1]: 5})
    assert directory.partitions() == {}
    directory.create_partition(ORDERS, NEW)
    assert directory.recovery_points == {MANY[1]: 5}
