"""What a broker finds when it starts after a kill, a power cut, or both, or on a full disk."""

import asyncio
import errno
import os
import zlib
from pathlib import Path
from random import Random
from uuid import UUID

import pytest
from tests.crash.forgetting import ForgettingFiles
from tests.held_disk import HeldDisk, settled
from tests.unit.broker.broker_rig import BrokerRig, run
from tests.unit.broker.brokers import write

from kafkaesque.broker import partition as partition_module
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.config import BrokerConfig
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.topics import NewTopic
from kafkaesque.errors import ErrorCode, KafkaError, StartError
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.log.directory import DataDirectory
from kafkaesque.log.log import Log
from kafkaesque.records.batch import NO_TIMESTAMP, Record, new_batch
from kafkaesque.records.control import Marker
from kafkaesque.types import AbortedTransaction, TopicPartition

NOW = 1_700_000_000_000
DAY_MS = 86_400_000


async def _opened(files: ForgettingFiles) -> Broker:
    config = BrokerConfig((), Path("/data"), {})
    return await Broker.open(config, lambda: NOW, files, HeldDisk)


def _io_error(path: str) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO), path)


async def _acknowledged(partition: Partition) -> None:
    batch = new_batch([Record(0, NOW, b"key", b"value")])
    offset = partition.append(memoryview(batch)).next_offset
    if waiting := partition.durable(offset):
        await waiting


def test_records_of_a_topic_that_a_kill_found_unflushed_survive_a_power_cut() -> None:
    """The topic's own files were in the page cache only, and the start had read them there."""

    async def story(seed: int) -> int:
        files = ForgettingFiles()
        broker = await _opened(files)
        await broker.topics.create(NewTopic("orders", 1))
        files = files.kill()
        broker = await _opened(files)
        await _acknowledged(broker.topics.named("orders").partition(0))
        broker = await _opened(files.cut(Random(seed)))
        return broker.topics.named("orders").partition(0).log.end_offset

    assert {asyncio.run(story(seed)) for seed in range(40)} == {1}


def test_what_a_power_cut_has_left_of_a_deleted_topic_goes_though_it_was_never_flushed() -> None:
    """Some of its records may have reached the disk, and whose they are may not."""

    async def story(seed: int) -> list[TopicPartition]:
        files = ForgettingFiles()
        broker = await _opened(files)
        topic = await broker.topics.create(NewTopic("orders", 1))
        await _acknowledged((await broker.topics.create(NewTopic("other", 1))).partition(0))
        assert isinstance(broker.disk, HeldDisk)
        batch = new_batch([Record(0, NOW, b"key", b"value")])
        topic.partition(0).append(memoryview(batch))
        broker.disk.hold_back()
        deleting = asyncio.ensure_future(broker.delete_topic(topic))
        await settled()
        assert "orders" not in broker.topics
        deleting.cancel()
        return (await _opened(files.cut(Random(seed)))).storage.strays()

    assert [asyncio.run(story(seed)) for seed in range(40)] == [[]] * 40


def test_what_was_aborted_is_known_while_a_kill_can_bring_it_back() -> None:
    async def story() -> None:
        files = ForgettingFiles()
        broker = await _opened(files)
        partition = (await broker.topics.create(NewTopic("orders", 1))).partition(0)
        await write(partition, 7, 0)
        partition.append_marker(7, 0, Marker.ABORT)
        if waiting := partition.flushed(2):
            await waiting
        partition.delete_records(2)
        await partition.checkpoint()
        broker = await _opened(files.kill())
        partition = broker.topics.named("orders").partition(0)
        assert partition.log.log_start_offset == 0
        assert partition.aborted(0, 2) == [AbortedTransaction(7, 0, 1)]
        partition.delete_records(2)
        await broker.storage.checkpoint_log_starts()
        assert partition.aborted(0, 2) == []

    asyncio.run(story())


def _idempotent(timestamp: int) -> memoryview:
    record = Record(0, timestamp, b"key", b"value")
    return memoryview(new_batch([record], producer_id=7, producer_epoch=0, base_sequence=0))


async def _sent_again(broker: Broker, timestamp: int) -> tuple[int, int]:
    """Where a retried batch lies, and where the log ends, after a look for silent producers."""
    partition = broker.topics.named("orders").partition(0)
    await broker._expire_producers()
    offset = partition.append(_idempotent(timestamp)).base_offset
    return offset, partition.log.end_offset


@pytest.mark.parametrize("timestamp", [NOW - 2 * DAY_MS, NO_TIMESTAMP])
def test_a_retry_after_a_kill_is_not_appended_twice_however_old_its_records_are(
    timestamp: int,
) -> None:
    async def story() -> None:
        files = ForgettingFiles()
        broker = await _opened(files)
        partition = (await broker.topics.create(NewTopic("orders", 1))).partition(0)
        partition.append(_idempotent(timestamp))
        broker = await _opened(files.kill())
        assert await _sent_again(broker, timestamp) == (0, 1)

    asyncio.run(story())


def test_a_retry_after_a_failed_flush_is_not_appended_twice_however_old_its_records_are(
    tmp_path: Path,
) -> None:
    async def work(rig: BrokerRig) -> None:
        partition = (await rig.topic("orders")).partition(0)
        partition.append(_idempotent(NOW - 2 * DAY_MS))
        if waiting := partition.flushed(1):
            await waiting
        rig.disk.is_held = True
        rig.append(partition)
        rig.disk.let_go(OSError(errno.EIO, "no"))
        await settled()
        assert partition.offline is not None
        await rig.disk.let_all_go()
        await rig.broker.storage.revive()
        assert await _sent_again(rig.broker, NOW - 2 * DAY_MS) == (0, 1)

    run(tmp_path, work)


@pytest.mark.parametrize("operation", ["names", "is_directory"])
def test_a_start_that_cannot_look_at_its_partitions_says_so_and_lets_go_of_the_directory(
    operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ForgettingFiles()

    def failing(self: DataDirectory) -> dict[TopicPartition, UUID | None]:
        """As DataDirectory.partitions is, on a disk that fails in its midst."""
        with monkeypatch.context() as patch:
            patch.setattr(files, operation, _io_error)
            return partitions(self)

    async def story() -> int:
        broker = await _opened(files)
        await broker.topics.create(NewTopic("orders", 1))
        await _acknowledged(broker.topics.named("orders").partition(0))
        await broker.close()
        with monkeypatch.context() as patch:
            patch.setattr(DataDirectory, "partitions", failing)
            with pytest.raises(StartError, match=r"/data.*Input/output error"):
                await _opened(files)
        return (await _opened(files)).topics.named("orders").partition(0).log.end_offset

    partitions = DataDirectory.partitions
    assert asyncio.run(story()) == 1


@pytest.mark.parametrize(
    ("operation", "file"), [("sync", "0.log"), ("open", "0.log"), ("open", "3.producers")]
)
def test_a_partition_that_cannot_be_opened_is_offline_and_the_others_are_served(
    operation: str, file: str, tmp_path: Path
) -> None:
    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("orders", 2)
        for partition in topic.partitions:
            await rig.fill(partition, batches=3)
        await rig.broker.close()
        (tmp_path / ".kafka_cleanshutdown").unlink()
        before = _contents(tmp_path / "orders-0")
        rig.files.broken = {operation: f"orders-0/0000000000000000000{file}"}
        broker = await rig.open()
        bad, good = broker.topics.named("orders").partitions
        await rig.fill(good, batches=1)
        with pytest.raises(KafkaError) as refused:
            bad.read(0, 1000, 3)
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        await broker.storage.revive()
        await broker.storage.checkpoint()
        assert broker.storage.offline() == [bad]
        assert _contents(tmp_path / "orders-0") == before
        rig.files.broken = {}
        await broker.storage.revive()
        assert broker.storage.offline() == []
        assert (bad.high_watermark, good.high_watermark) == (3, 4)

    run(tmp_path, work)


def test_a_partition_whose_files_make_no_sense_is_offline_and_the_others_are_served(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody has foreseen how: the log says where it came from, once."""

    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("orders", 2)
        for partition in topic.partitions:
            await rig.fill(partition, batches=3)
        await rig.broker.close()
        snapshot = tmp_path / "orders-0" / f"{3:020d}.producers"
        whole = snapshot.read_bytes()
        cut = whole[4:-1]
        snapshot.write_bytes(zlib.crc32(cut).to_bytes(4, "big") + cut)
        broker = await rig.open()
        bad, good = broker.topics.named("orders").partitions
        await rig.fill(good, batches=1)
        for _ in range(3):
            await broker.storage.revive()
        assert broker.storage.offline() == [bad]
        assert len([record for record in caplog.records if record.exc_info]) == 1
        snapshot.write_bytes(whole)
        await broker.storage.revive()
        assert broker.storage.offline() == []
        assert (bad.high_watermark, good.high_watermark) == (3, 4)

    run(tmp_path, work)


def _contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_a_partition_that_a_full_disk_has_no_room_for_comes_when_there_is_some(
    tmp_path: Path,
) -> None:
    async def work(rig: BrokerRig) -> None:
        await rig.topic("full", 2)
        other = await rig.topic("other")
        await rig.fill(other.partition(0), batches=1)
        await rig.broker.close()
        for path in (tmp_path / "full-1").iterdir():
            path.unlink()
        (tmp_path / "full-1").rmdir()
        rig.files.is_full_for_new_files = True
        broker = await rig.open()
        partition = broker.topics.named("full").partition(1)
        assert partition.offline is not None
        assert broker.topics.named("other").partition(0).log.end_offset == 1
        await broker.storage.revive()
        assert partition.offline is not None
        rig.files.is_full_for_new_files = False
        await broker.storage.revive()
        assert partition.offline is None
        await rig.fill(partition, batches=1)
        await rig.reopen()
        assert rig.broker.topics.named("full").partition(1).log.end_offset == 1

    run(tmp_path, work)


def test_a_partition_whose_metadata_cannot_be_read_is_offline_and_comes_back_whole(
    tmp_path: Path,
) -> None:
    async def work(rig: BrokerRig) -> None:
        await rig.fill((await rig.topic("orders")).partition(0), batches=3)
        await rig.broker.close()
        rig.files.broken["open"] = "orders-0/partition.metadata"
        broker = await rig.open()
        partition = broker.topics.named("orders").partition(0)
        assert partition.offline is not None
        await broker.storage.revive()
        assert partition.offline is not None
        rig.files.broken.clear()
        await broker.storage.revive()
        assert partition.offline is None
        assert partition.log.end_offset == partition.high_watermark == 3

    run(tmp_path, work)


def test_an_empty_partition_that_a_full_disk_cannot_open_keeps_its_offsets(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        partition = (await rig.topic("orders", segment_bytes="1024", retention_ms="0")).partition(0)
        await rig.fill(partition)
        partition.enforce_retention(1 << 62)
        await rig.broker.storage.checkpoint_log_starts()
        end = partition.log.end_offset
        await rig.broker.close()
        (log,) = (tmp_path / "orders-0").glob("*.log")
        log.unlink()
        rig.files.is_full_for_new_files = True
        broker = await rig.open()
        assert broker.storage.strays() == []
        rig.files.is_full_for_new_files = False
        await broker.storage.revive()
        assert broker.topics.named("orders").partition(0).log.end_offset == end

    run(tmp_path, work)


def test_a_partition_that_comes_back_in_more_than_one_attempt_is_whole(tmp_path: Path) -> None:
    """Its metadata can be read again before its log can."""

    async def work(rig: BrokerRig) -> None:
        await rig.fill((await rig.topic("orders")).partition(0), batches=3)
        await rig.broker.close()
        (tmp_path / ".kafka_cleanshutdown").unlink()
        rig.files.broken["open"] = "orders-0/partition.metadata"
        broker = await rig.open()
        partition = broker.topics.named("orders").partition(0)
        rig.files.broken["open"] = "orders-0/00000000000000000000.log"
        await broker.storage.revive()
        assert partition.offline is not None
        rig.files.broken.clear()
        await broker.storage.revive()
        assert partition.log.end_offset == partition.high_watermark == 3

    run(tmp_path, work)


def test_a_partition_that_was_never_opened_is_not_left_as_clean_nor_as_empty(
    tmp_path: Path,
) -> None:
    async def work(rig: BrokerRig) -> None:
        await rig.fill((await rig.topic("orders")).partition(0), batches=3)
        await rig.broker.close()
        marker = tmp_path / ".kafka_cleanshutdown"
        marker.unlink()
        rig.files.broken["open"] = "orders-0/partition.metadata"
        broker = await rig.open()
        await rig.fill((await rig.topic("others")).partition(0), batches=1)
        await broker.storage.checkpoint()
        await broker.close()
        assert not marker.exists()
        rig.files.broken.clear()
        # A check of the file system may take away what could not be read.
        (tmp_path / "orders-0" / "partition.metadata").unlink()
        broker = await rig.open()
        assert broker.topics.named("orders").partition(0).log.end_offset == 3

    run(tmp_path, work)


@pytest.mark.parametrize("file", ["partition.metadata", "00000000000000000000.log"])
def test_a_broker_whose_own_state_cannot_be_read_does_not_start(file: str, tmp_path: Path) -> None:
    """It would say that no offset was ever committed, and groups would begin anew."""

    async def work(rig: BrokerRig) -> None:
        await rig.topic("orders")
        place, offset = TopicPartition("orders", 0), CommittedOffset(5, -1, "", 0, None)
        await rig.broker.coordinator.commit("group", {place: offset})
        await rig.broker.close()
        (tmp_path / ".kafka_cleanshutdown").unlink()
        rig.files.broken["open"] = f"__consumer_offsets-0/{file}"
        with pytest.raises(StartError, match="__consumer_offsets-0"):
            await rig.open()
        rig.files.broken.clear()
        broker = await rig.open()
        assert broker.coordinator.table.offsets.fetch("group", place) == offset

    run(tmp_path, work)


def test_a_partition_whose_producers_cannot_be_read_at_a_start_is_not_taken_for_a_left_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its log is open by then."""

    def unreadable(log: Log, now_ms: int) -> None:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the log cannot be read")

    async def work(rig: BrokerRig) -> None:
        await rig.fill((await rig.topic("orders")).partition(0), batches=3)
        await rig.broker.close()
        with monkeypatch.context() as patch:
            patch.setattr(partition_module, "_restore", unreadable)
            with pytest.raises(StartError):
                await rig.open()
        broker = await rig.open()
        assert broker.topics.named("orders").partition(0).log.end_offset == 3

    run(tmp_path, work)
