"""The data directory: its lock, its files, and how it is found again."""

import errno
import os
from pathlib import Path
from random import Random
from uuid import UUID

import pytest
from tests.crash.forgetting import ForgettingFiles
from tests.unit.log.logs import append_many, content, flush, read_all

from kafkaesque.errors import StartError
from kafkaesque.log.directory import DataDirectory
from kafkaesque.log.files import OsFiles
from kafkaesque.log.log import Log, LogConfig
from kafkaesque.types import TopicPartition

ORDERS = TopicPartition("my-orders", 3)
OTHER = TopicPartition("other", 0)
TOPIC_ID = UUID("12345678-1234-5678-1234-567812345678")


def reopened(files: ForgettingFiles) -> DataDirectory:
    return DataDirectory.open(files, "/data")


def test_a_new_directory_gets_kafkas_meta_properties() -> None:
    files = ForgettingFiles()
    directory = DataDirectory.open(files, "/deep/data")
    lines = content(files, "/deep/data/meta.properties").decode().splitlines()
    assert lines == [
        "version=1",
        f"cluster.id={directory.cluster_id}",
        "node.id=0",
        f"directory.id={directory.directory_id}",
        "kafkaesque.format=1",
    ]
    assert len(directory.cluster_id) == 22
    assert not directory.was_clean


def test_a_directory_keeps_its_identity_through_a_power_cut() -> None:
    files = ForgettingFiles()
    directory = DataDirectory.open(files, "/data")
    for seed in range(10):
        again = reopened(files.cut(Random(seed)))
        assert again.cluster_id == directory.cluster_id
        assert again.directory_id == directory.directory_id


@pytest.mark.parametrize("parent", ["/", "/deep"])
def test_a_directory_whose_name_could_not_be_synced_is_there_after_a_power_cut(
    parent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ForgettingFiles()
    sync = files.sync_directory

    def failing(path: str) -> None:
        if path == parent:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        sync(path)

    with monkeypatch.context() as patch:
        patch.setattr(files, "sync_directory", failing)
        with pytest.raises(StartError):
            DataDirectory.open(files, "/deep/data")
    _check_that_it_lasts(files)


def test_a_directory_that_a_kill_found_unsynced_is_there_after_a_power_cut() -> None:
    files = ForgettingFiles()
    files.make_directory("/deep")
    files.sync_directory("/")
    files.make_directory("/deep/data")
    _check_that_it_lasts(files)


def _check_that_it_lasts(files: ForgettingFiles) -> None:
    cluster_id = DataDirectory.open(files, "/deep/data").cluster_id
    for seed in range(20):
        again = DataDirectory.open(files.cut(Random(seed)), "/deep/data")
        assert again.cluster_id == cluster_id


def test_a_directory_in_use_names_its_holder_and_the_cure(tmp_path: Path) -> None:
    directory = DataDirectory.open(OsFiles(), str(tmp_path / "data"))
    with pytest.raises(StartError) as refused:
        DataDirectory.open(OsFiles(), str(tmp_path / "data"))
    message = str(refused.value)
    assert str(tmp_path / "data") in message
    assert f"process {os.getpid()}" in message
    assert "--data-dir" in message
    directory.close(clean=False)
    DataDirectory.open(OsFiles(), str(tmp_path / "data")).close(clean=True)


def test_a_directory_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    with pytest.raises(StartError, match="cannot be used"):
        DataDirectory.open(OsFiles(), str(tmp_path / "file" / "data"))


@pytest.mark.parametrize(
    ("meta", "why"),
    [
        ("version=1\ncluster.id=a\nnode.id=1\nkafkaesque.format=2\n", "newer Kafkaesque"),
        ("version=1\ncluster.id=a\nnode.id=1\ndirectory.id=b\n", "belongs to Apache Kafka"),
        ("version=0\ncluster.id=a\n", "cannot be read"),
        ("version=1\nkafkaesque.format=1\n", "cannot be read"),
        ("\x00\x00\x00", "cannot be read"),
    ],
)
def test_a_directory_that_is_not_ours_to_open_is_refused(meta: str, why: str) -> None:
    files = ForgettingFiles()
    files.make_directory("/data")
    files.open("/data/meta.properties", create=True).pwrite(meta.encode(), 0)
    for _ in range(2):
        with pytest.raises(StartError, match=why):
            DataDirectory.open(files, "/data")


def test_a_directory_full_of_other_things_is_refused() -> None:
    files = ForgettingFiles()
    files.make_directory("/data")
    files.open("/data/thesis.tex", create=True)
    with pytest.raises(StartError, match="not empty"):
        DataDirectory.open(files, "/data")


def test_a_clean_stop_is_seen_once() -> None:
    files = ForgettingFiles()
    DataDirectory.open(files, "/data").close(clean=True)
    assert reopened(files.cut(Random(1))).was_clean
    directory = reopened(files)
    assert directory.was_clean
    for seed in range(10):
        assert not reopened(files.cut(Random(seed))).was_clean, "it is gone before a record comes"
    directory.close(clean=False)
    assert not reopened(files).was_clean


def test_offsets_are_kept_in_kafkas_checkpoint_files() -> None:
    files = ForgettingFiles()
    directory = DataDirectory.open(files, "/data")
    directory.write_recovery_points({OTHER: 7, ORDERS: 42})
    directory.write_log_start_offsets({ORDERS: 5})
    text = content(files, "/data/recovery-point-offset-checkpoint")
    assert text == b"0\n2\nmy-orders 3 42\nother 0 7\n"
    for seed in range(10):
        again = reopened(files.cut(Random(seed)))
        assert again.recovery_points == {ORDERS: 42, OTHER: 7}
        assert again.log_start_offsets == {ORDERS: 5}
        assert again.repairs == []


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"1\n0\n",
        b"0\n2\nt 0 5\n",
        b"0\n1\nt 0\n",
        b"0\n1\nt x 5\n",
        b"0\n1\nt 0 -5\n",
        b"0\n1\nt 0 " + b"9" * 5000 + b"\n",
        b"\xff",
    ],
)
def test_a_checkpoint_file_that_cannot_be_read_counts_as_none(garbage: bytes) -> None:
    files = ForgettingFiles()
    DataDirectory.open(files, "/data").close(clean=False)
    for name in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint"):
        files.open(f"/data/{name}", create=True).pwrite(garbage, 0)
    directory = reopened(files)
    assert directory.recovery_points == {}
    assert directory.log_start_offsets == {}
    assert len(directory.repairs) == 2
    assert all("cannot be read" in sentence for sentence in directory.repairs)


def test_a_partition_is_found_again_with_its_topic_id() -> None:
    files = ForgettingFiles()
    directory = DataDirectory.open(files, "/data")
    log = Log.open(directory.create_partition(ORDERS, TOPIC_ID), LogConfig())
    batches = append_many(log, 5)
    flush(log)
    assert content(files, "/data/my-orders-3/partition.metadata") == (
        b"version: 0\ntopic_id: EjRWeBI0VngSNFZ4EjRWeA\n"
    )
    for seed in range(20):
        again = reopened(files.cut(Random(seed)))
        assert again.partitions() == {ORDERS: TOPIC_ID}
        assert read_all(Log.open(again.segments(ORDERS), LogConfig())) == b"".join(batches)


def test_a_partition_without_readable_metadata_has_no_topic_id_until_it_gets_one() -> None:
    files = ForgettingFiles()
    directory = DataDirectory.open(files, "/data")
    directory.create_partition(ORDERS, TOPIC_ID)
    files.open("/data/my-orders-3/partition.metadata").truncate(12)
    files.make_directory("/data/other-0")
    files.make_directory("/data/no partition")
    assert directory.partitions() == {ORDERS: None, OTHER: None}
    directory.write_topic_id(ORDERS, TOPIC_ID)
    assert directory.partitions()[ORDERS] == TOPIC_ID


def test_a_deleted_partition_is_gone_at_once_and_its_files_by_the_next_start() -> None:
    files = ForgettingFiles()
    directory = DataDirectory.open(files, "/data")
    for partition in (ORDERS, OTHER):
        Log.open(directory.create_partition(partition, TOPIC_ID), LogConfig())
    [aside] = directory.delete_partitions([ORDERS])
    assert aside.startswith("/data/my-orders-3.")
    assert aside.endswith("-delete")
    assert directory.partitions() == {OTHER: TOPIC_ID}
    directory.remove_deleted([aside])
    assert not files.exists(aside)
    [left] = directory.delete_partitions([OTHER])
    directory.close(clean=False)
    reopened(files)
    assert not files.exists(left)


def test_a_namesake_of_a_deleted_partition_inherits_none_of_its_offsets() -> None:
    files = ForgettingFiles()
    directory = DataDirectory.open(files, "/data")
    Log.open(directory.create_partition(ORDERS, TOPIC_ID), LogConfig())
    directory.write_recovery_points({ORDERS: 500, OTHER: 1})
    directory.write_log_start_offsets({ORDERS: 400, OTHER: 0})
    directory.delete_partitions([ORDERS])
    log = Log.open(directory.create_partition(ORDERS, UUID(int=7)), LogConfig())
    batches = append_many(log, 3)
    flush(log)
    for seed in range(20):
        again = reopened(files.cut(Random(seed)))
        assert again.partitions() == {ORDERS: UUID(int=7)}
        assert again.recovery_points == {OTHER: 1}
        assert again.log_start_offsets == {OTHER: 0}
        assert read_all(Log.open(again.segments(ORDERS), LogConfig())) == b"".join(batches)


def test_a_whole_life_on_the_real_file_system(tmp_path: Path) -> None:
    directory = DataDirectory.open(OsFiles(), str(tmp_path))
    config = LogConfig(segment_bytes=2000, index_interval_bytes=200)
    log = Log.open(directory.create_partition(ORDERS, TOPIC_ID), config)
    batches = append_many(log, 100)
    flush(log)
    log.close(clean=True)
    directory.write_recovery_points({ORDERS: log.end_offset})
    directory.close(clean=True)

    directory = DataDirectory.open(OsFiles(), str(tmp_path))
    assert directory.was_clean
    point = directory.recovery_points[ORDERS]
    log = Log.open(directory.segments(ORDERS), config, recovery_point=point, clean=True)
    batches += append_many(log, 50)
    assert read_all(log) == b"".join(batches)
    gone = log.delete_before(60)
    directory.write_log_start_offsets({ORDERS: 60})
    log.remove_segments(gone)
    job = log.checkpoint()
    assert job is None, "not flushed any further"
    flush(log)
    job = log.checkpoint(snapshot=(150, b"producers"))
    assert job is not None
    job.run()
    log.end_checkpoint(job)
    directory.write_recovery_points({ORDERS: job.offset})
    directory.close(clean=False)

    directory = DataDirectory.open(OsFiles(), str(tmp_path))
    log = Log.open(
        directory.segments(ORDERS),
        config,
        log_start_offset=directory.log_start_offsets[ORDERS],
        recovery_point=directory.recovery_points[ORDERS],
        clean=directory.was_clean,
    )
    assert read_all(log) == b"".join(batches[60:])
    assert log.latest_snapshot() == (150, b"producers")
    assert log.recovery.sentences == []
    directory.close(clean=False)


@pytest.mark.parametrize("path", ["file", "file/data"])
def test_a_file_where_the_directory_should_be_is_named_as_what_it_is(
    tmp_path: Path, path: str
) -> None:
    (tmp_path / "file").write_text("not a directory")
    with pytest.raises(StartError, match=r"is a file\. Choose another with --data-dir"):
        DataDirectory.open(OsFiles(), str(tmp_path / path))
