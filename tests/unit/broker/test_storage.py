"""Housekeeping: what fails for one partition stops no other, and is done when the disk allows."""

import asyncio
import errno
import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
from tests.held_disk import settled
from tests.unit.broker.broker_rig import BrokerRig, run
from tests.unit.broker.brokers import PathFiles, new_topic, until, with_broker
from tests.unit.broker.state_logs import Now
from tests.unit.log.logs import NOW

from kafkaesque.broker import storage as storage_module
from kafkaesque.broker import upkeep
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.storage import DiskStorage
from kafkaesque.broker.topics import Topic
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.log import Segment
from kafkaesque.log.store import Cleaned
from kafkaesque.records.batch import Record, new_batch
from kafkaesque.types import TopicPartition

SMALL = {"segment_bytes": "1024"}


async def _filled(rig: BrokerRig, name: str) -> Partition:
    partition = (await rig.topic(name, 1, **SMALL)).partition(0)
    await rig.fill(partition)
    return partition


def _segments(rig: BrokerRig, name: str) -> int:
    return len(list((rig.data_dir / f"{name}-0").glob("*.log")))


def test_a_partition_that_cannot_be_checkpointed_does_not_hold_up_the_log_starts_of_others(
    tmp_path: Path,
) -> None:
    async def work(rig: BrokerRig) -> None:
        bad, good = await _filled(rig, "bad"), await _filled(rig, "good")
        rig.files.broken["pwrite"] = "bad-0/"
        bad.delete_records(-1)
        good.delete_records(-1)
        storage = rig.broker.storage
        await storage.checkpoint_log_starts()
        assert storage.durable_log_start(bad) == 0
        assert storage.durable_log_start(good) == good.log.log_start_offset
        assert _segments(rig, "good") == 1
        rig.files.broken.clear()
        await storage.checkpoint_log_starts()
        assert storage.durable_log_start(bad) == bad.log.log_start_offset
        assert _segments(rig, "bad") == 1

    run(tmp_path, work)


def test_segments_that_could_not_be_removed_are_removed_later(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        bad, good = await _filled(rig, "bad"), await _filled(rig, "good")
        before = _segments(rig, "bad")
        rig.files.broken["remove"] = "bad-0/"
        bad.delete_records(-1)
        good.delete_records(-1)
        await rig.broker.storage.checkpoint_log_starts()
        assert (_segments(rig, "bad"), _segments(rig, "good")) == (before, 1)
        rig.files.broken.clear()
        await rig.broker.storage.checkpoint_log_starts()
        assert _segments(rig, "bad") == 1

    run(tmp_path, work)


def test_a_full_disk_is_given_room_though_nothing_can_be_written(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        partition = await _filled(rig, "orders")
        await rig.broker.storage.checkpoint()
        rig.files.is_full = True
        partition.delete_records(-1)
        await rig.broker.storage.checkpoint_log_starts()
        assert _segments(rig, "orders") == 1
        assert rig.broker.storage.durable_log_start(partition) == 0
        rig.files.is_full = False
        await rig.broker.storage.checkpoint_log_starts()
        start = partition.log.log_start_offset
        assert rig.broker.storage.durable_log_start(partition) == start

    run(tmp_path, work)


def test_retention_on_a_full_disk_removes_what_is_sealed(tmp_path: Path) -> None:
    """It has no room for the new segment that would let it remove all."""

    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("orders", 1, **SMALL, retention_ms="0")
        partition = topic.partition(0)
        await rig.fill(partition)
        await rig.broker.storage.checkpoint()
        before = _segments(rig, "orders")
        rig.files.is_full = True
        partition.enforce_retention(1 << 62)
        await rig.broker.storage.checkpoint_log_starts()
        assert _segments(rig, "orders") == 1 < before
        rig.files.is_full = False

    run(tmp_path, work)


def test_a_deleted_directory_that_could_not_be_removed_is_removed_later(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("orders", 3)
        rig.files.broken["remove_tree"] = "orders-1"
        await rig.broker.delete_topic(topic)
        assert [path.name[:8] for path in rig.data_dir.glob("orders-*")] == ["orders-1"]
        rig.files.broken.clear()
        await rig.broker.storage.remove_deleted()
        assert not list(rig.data_dir.glob("orders-*"))

    run(tmp_path, work)


def test_a_creation_that_failed_and_could_not_be_undone_can_be_tried_again(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        rig.files.broken = {"pwrite": "orders-1/", "rename": "orders-"}
        with pytest.raises(KafkaError) as refused:
            await rig.topic("orders", 2)
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        assert list(rig.data_dir.glob("orders-*"))
        rig.files.broken.clear()
        topic = await rig.topic("orders", 2)
        assert len(topic.partitions) == 2
        await rig.fill(topic.partition(1), batches=1)

    run(tmp_path, work)


def test_a_creation_that_the_open_files_do_not_suffice_for_is_refused_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_module, "descriptors_left", lambda: 200)

    async def work(rig: BrokerRig) -> None:
        with pytest.raises(KafkaError) as refused:
            await rig.topic("many", 150)
        assert refused.value.code is ErrorCode.INVALID_PARTITIONS
        assert "ulimit -n" in refused.value.message
        assert not list(rig.data_dir.glob("many-*"))
        await rig.topic("many", 120)

    run(tmp_path, work)


def test_what_a_kill_has_left_of_a_topic_that_was_being_made_goes_at_the_next_start(
    tmp_path: Path,
) -> None:
    async def work(rig: BrokerRig) -> None:
        await rig.broker.close()
        for name in ("never-0", "kept-0"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "00000000000000000000.log").touch()
        (tmp_path / "kept-0" / "00000000000000000000.log").write_bytes(b"a record")
        broker = await rig.open()
        assert broker.storage.strays() == [TopicPartition("kept", 0)]
        assert not (tmp_path / "never-0").exists()

    run(tmp_path, work)


def test_a_directory_that_nobody_claims_and_nobody_can_read_keeps_no_broker_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(rig: BrokerRig) -> None:
        await rig.broker.close()
        (tmp_path / "strange-0").mkdir()
        names = rig.files.names

        def unreadable(directory: str) -> list[str]:
            if directory.endswith("strange-0"):
                raise OSError(errno.EIO, os.strerror(errno.EIO), directory)
            return names(directory)

        monkeypatch.setattr(rig.files, "names", unreadable)
        broker = await rig.open()
        assert broker.storage.strays() == [TopicPartition("strange", 0)]

    run(tmp_path, work)


@pytest.mark.parametrize(
    ("operation", "path"), [("open", "orders-0/partition.metadata"), ("rename", "orders-0.")]
)
def test_what_a_kill_has_left_of_a_deleted_topic_goes_when_the_disk_allows(
    operation: str, path: str, tmp_path: Path
) -> None:
    """Whose it is cannot be read at the start, or it cannot be put aside."""

    async def work(rig: BrokerRig) -> None:
        topic = await _killed_while_deleting(rig)
        rig.files.broken = {operation: path}
        broker = await rig.open()
        await remove_strays(broker)
        assert (tmp_path / "orders-0").exists()
        assert [*broker.metadata.removed_topics] == [topic.id]
        rig.files.broken.clear()
        await remove_strays(broker)
        assert not (tmp_path / "orders-0").exists()
        assert not broker.metadata.removed_topics

    run(tmp_path, work)


def test_a_deleted_topic_is_known_by_name_also_in_a_metadata_log_that_was_shortened(
    tmp_path: Path,
) -> None:
    """A power cut has left its records, and not the file that says whose they are."""

    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("orders")
        await rig.fill(topic.partition(0), batches=3)
        rig.files.broken = {"rename": "orders-0."}
        with pytest.raises(KafkaError):
            await rig.broker.delete_topic(topic)
        metadata = rig.broker.metadata
        await metadata._log.compact(metadata._live_state())
        await rig.broker.close()
        rig.files.broken.clear()
        for name in (".kafka_cleanshutdown", "recovery-point-offset-checkpoint"):
            (tmp_path / name).unlink(missing_ok=True)
        (tmp_path / "orders-0" / "partition.metadata").unlink()
        await rig.open()
        assert "orders" not in rig.broker.topics
        assert not (tmp_path / "orders-0").exists()

    run(tmp_path, work)


async def _killed_while_deleting(rig: BrokerRig) -> Topic:
    topic = await rig.topic("orders")
    await rig.fill(topic.partition(0), batches=3)
    await rig.broker.metadata.topic_deleted(topic, lambda: None)
    await rig.broker.close()
    (rig.data_dir / ".kafka_cleanshutdown").unlink()
    return topic


async def remove_strays(broker: Broker) -> None:
    """As the broker's regular work does."""
    removed = broker.metadata.removed_topics
    broker.metadata.removed_topics = await broker.storage.remove_strays(removed)


def test_a_name_is_refused_while_what_an_older_topic_has_left_there_is_being_removed(
    tmp_path: Path,
) -> None:
    async def work(rig: BrokerRig) -> None:
        await _killed_while_deleting(rig)
        rig.files.broken["rename"] = "orders-0."
        broker = await rig.open()
        rig.files.broken.clear()
        rig.disk.is_held = True
        removing = asyncio.ensure_future(remove_strays(broker))
        await settled()
        rig.disk.let_go()
        await settled()
        put_aside = rig.disk.hold_back()
        rig.disk.is_held = False
        with pytest.raises(KafkaError) as refused:
            await rig.topic("orders")
        put_aside()
        await removing
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        await rig.fill((await rig.topic("orders")).partition(0), batches=1)

    run(tmp_path, work)


def test_a_log_is_not_repaired_while_compacted_segments_change_places_in_it(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("table", 1, **SMALL, cleanup_policy="compact")
        partition = topic.partition(0)
        await rig.fill(partition)
        await rig.broker.storage.checkpoint()
        rig.disk.is_held = True
        cleaning = asyncio.ensure_future(rig.broker.cleaner.clean())
        async with asyncio.timeout(60):
            while not rig.disk.waits:
                await asyncio.sleep(0)
        swap = rig.disk.hold_back()
        rig.append(partition)
        rig.disk.let_go(OSError(errno.EIO, os.strerror(errno.EIO)))
        rig.disk.is_held = False
        await settled()
        reviving = asyncio.ensure_future(rig.broker.storage.revive())
        await settled()
        assert partition.offline is not None
        swap()
        await asyncio.gather(cleaning, reviving)
        assert partition.offline is None
        state = rig.broker.cleaner.state(partition)
        assert (state.runs, state.failures) == (1, 0)
        assert partition.log.sealed[0].next_offset == state.cleaned_to
        assert partition.high_watermark == 10

    run(tmp_path, work)


async def _with_unfinished_swap(rig: BrokerRig, first_key: bytes = b"key") -> Partition:
    topic = await rig.topic("table", 1, **SMALL, cleanup_policy="compact,delete")
    partition = topic.partition(0)
    partition.append(memoryview(new_batch([Record(0, NOW, first_key, b"v" * 1000)])))
    await rig.fill(partition)
    await rig.broker.storage.checkpoint()
    rig.files.broken["remove"] = f"table-0/{2:020d}.log"
    await rig.broker.cleaner.clean()
    assert partition.log.unfinished_swap is not None
    return partition


def _swapped_files(rig: BrokerRig) -> list[str]:
    return [path.name for path in rig.data_dir.glob("table-0/*.swap")]


def test_segments_of_an_unfinished_swap_are_removed_when_it_is_finished(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        partition = await _with_unfinished_swap(rig)
        await rig.fill(partition, batches=3)
        before = _segments(rig, "table")
        partition.delete_records(-1)
        await rig.broker.storage.checkpoint_log_starts()
        assert _segments(rig, "table") == before
        rig.files.broken.clear()
        await rig.broker.storage.checkpoint_log_starts()
        assert _segments(rig, "table") == 1
        assert _swapped_files(rig) == []
        assert partition.removable(partition.high_watermark) == []

    run(tmp_path, work)


def test_segments_go_oldest_first_also_after_an_unfinished_swap(tmp_path: Path) -> None:
    """Else a power cut could leave a hole."""

    async def work(rig: BrokerRig) -> None:
        partition = await _with_unfinished_swap(rig)
        await rig.fill(partition, batches=3)
        partition.delete_records(-1)
        rig.files.broken.clear()
        await partition.finish_swap()
        bases = [segment.base_offset for segment in partition.removable(partition.high_watermark)]
        assert bases == sorted(bases)
        assert bases.count(0) == 2

    run(tmp_path, work)


def test_what_is_older_than_an_unfinished_swap_is_removed(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        partition = await _with_unfinished_swap(rig, b"last of its key")
        before = _segments(rig, "table")
        partition.delete_records(-1)
        await rig.broker.storage.checkpoint_log_starts()
        assert partition.log.unfinished_swap is not None
        assert _segments(rig, "table") == before - 1
        assert not (rig.data_dir / "table-0" / f"{0:020d}.log").exists()

    run(tmp_path, work)


def test_an_unfinished_swap_is_finished_though_nothing_is_removed(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        partition = await _with_unfinished_swap(rig)
        before = len(partition.log.sealed)
        rig.files.broken.clear()
        await rig.broker.storage.checkpoint_log_starts()
        assert len(partition.log.sealed) < before
        assert _segments(rig, "table") == len(partition.log.sealed) + 1
        assert _swapped_files(rig) == []
        await rig.reopen()
        again = rig.broker.topics.named("table").partition(0)
        assert again.high_watermark == partition.high_watermark

    run(tmp_path, work)


def test_an_unfinished_swap_does_not_touch_a_topic_of_the_same_name(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        partition = await _with_unfinished_swap(rig)
        rig.files.broken.clear()
        await rig.broker.delete_topic(rig.broker.topics.named("table"))
        await _filled(rig, "table")
        before = _segments(rig, "table")
        await partition.finish_swap()
        await rig.broker.storage.checkpoint_log_starts()
        assert _segments(rig, "table") == before

    run(tmp_path, work)


def _hang(rig: BrokerRig, partition: Partition) -> Callable[[], None]:
    """A record is appended, and its flush does not come back. What lets it."""
    rig.disk.is_held = True
    rig.append(partition)
    go_on = rig.disk.hold_back()
    rig.disk.is_held = False
    return go_on


def test_a_flush_that_hangs_holds_up_no_creation_and_no_deletion(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        hung, other = await _filled(rig, "hung"), await rig.topic("other")
        go_on = _hang(rig, hung)
        hung.delete_records(-1)
        storage = rig.broker.storage
        housekeeping = asyncio.gather(storage.checkpoint(), storage.checkpoint_log_starts())
        await settled()
        async with asyncio.timeout(60):
            await rig.broker.delete_topic(other)
            await rig.topic("third")
        assert not housekeeping.done()
        go_on()
        await housekeeping

    run(tmp_path, work)


def test_a_partition_whose_flush_hangs_is_left_out_of_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "PATIENCE_SECONDS", 0.0)

    async def work(rig: BrokerRig) -> None:
        hung, other = await _filled(rig, "hung"), await _filled(rig, "other")
        points = partial(_recovery_points, rig, hung, other)
        await _all_ended(rig.broker.storage.checkpoint)
        go_on = _hang(rig, hung)
        hung.delete_records(-1)
        await rig.fill(other, batches=5)
        other.delete_records(-1)
        await _all_ended(rig.broker.storage.checkpoint)
        await _all_ended(rig.broker.storage.checkpoint_log_starts)
        assert points() == [10, 15]
        assert rig.broker.storage.durable_log_start(other) == 15
        go_on()
        await _all_ended(rig.broker.storage.checkpoint)
        assert points() == [11, 15]

    run(tmp_path, work)


async def _all_ended(housekeeping: Callable[[], Awaitable[None]]) -> None:
    """Twice: nobody is waited for, and what was begun is written by the second call."""
    for _ in range(2):
        await housekeeping()
        await settled()


def _recovery_points(rig: BrokerRig, *partitions: Partition) -> list[int]:
    storage = rig.broker.storage
    assert isinstance(storage, DiskStorage)
    return [storage._directory.recovery_points[partition.name] for partition in partitions]


def test_a_stop_waits_for_a_flush_that_a_checkpoint_has_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "PATIENCE_SECONDS", 0.0)

    async def work(rig: BrokerRig) -> None:
        hung = await _filled(rig, "hung")
        go_on = _hang(rig, hung)
        await rig.broker.storage.checkpoint()
        stopping = asyncio.ensure_future(rig.broker.close())
        await settled()
        assert not stopping.done()
        go_on()
        await stopping
        again = await rig.open()
        assert again.storage.scanned_bytes == 0
        assert again.topics.named("hung").partition(0).log.end_offset == 11

    run(tmp_path, work)


def test_a_stop_is_not_clean_where_a_recovery_point_was_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(rig: BrokerRig) -> None:
        partition = await _filled(rig, "orders")
        partition.delete_records(-1)
        checkpoint = partition.checkpoint

        async def fail_once() -> None:
            monkeypatch.setattr(partition, "checkpoint", checkpoint)
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        monkeypatch.setattr(partition, "checkpoint", fail_once)
        await rig.broker.close()
        assert partition.log.recovery_point == 10
        assert not (rig.data_dir / ".kafka_cleanshutdown").exists()
        again = await rig.open()
        assert again.topics.named("orders").partition(0).log.end_offset == 10

    run(tmp_path, work)


def test_a_namesake_inherits_nothing_from_a_checkpoint_that_began_before_it(
    tmp_path: Path,
) -> None:
    async def work(rig: BrokerRig) -> None:
        old = await _filled(rig, "orders")
        storage = rig.broker.storage
        await storage.checkpoint()
        hung = await _filled(rig, "hung")
        go_on = _hang(rig, hung)
        hung.delete_records(-1)
        old.delete_records(-1)
        housekeeping = asyncio.gather(storage.checkpoint(), storage.checkpoint_log_starts())
        await settled()
        await rig.broker.delete_topic(rig.broker.topics.named("orders"))
        new = (await rig.topic("orders")).partition(0)
        go_on()
        await housekeeping
        assert _recovery_points(rig, hung, new) == [11, 0]
        assert storage.durable_log_start(new) == 0
        await rig.fill(new, batches=1)

    run(tmp_path, work)


def test_a_log_start_is_not_lowered_by_a_checkpoint_that_began_earlier(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(rig: BrokerRig) -> None:
        other = await _filled(rig, "other")
        storage = rig.broker.storage
        await storage.checkpoint()
        hung = await _filled(rig, "hung")
        go_on = _hang(rig, hung)
        hung.delete_records(-1)
        other.delete_records(3)
        earlier = asyncio.ensure_future(storage.checkpoint_log_starts())
        await settled()
        other.delete_records(7)
        monkeypatch.setattr(upkeep, "PATIENCE_SECONDS", 0.0)
        await storage.checkpoint_log_starts()
        assert storage.durable_log_start(other) == 7
        assert not earlier.done()
        go_on()
        await earlier
        assert storage.durable_log_start(other) == 7

    run(tmp_path, work)


def test_compacted_segments_are_put_in_place_after_a_checkpoint_that_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swap, is_swapping = Partition.swap, asyncio.Event()

    async def swap_in(self: Partition, old: list[Segment], cleaned: Cleaned) -> bool:
        is_swapping.set()
        return await swap(self, old, cleaned)

    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("table", 1, **SMALL, cleanup_policy="compact")
        partition = topic.partition(0)
        await rig.fill(partition)
        await rig.broker.storage.checkpoint()
        go_on = _hang(rig, partition)
        checkpoint = asyncio.ensure_future(rig.broker.storage.checkpoint())
        cleaning = asyncio.ensure_future(rig.broker.cleaner.clean())
        async with asyncio.timeout(60):
            await is_swapping.wait()
        await settled()
        go_on()
        await asyncio.gather(checkpoint, cleaning)
        state = rig.broker.cleaner.state(partition)
        assert (state.runs, state.failures) == (1, 0)

    monkeypatch.setattr(Partition, "swap", swap_in)
    run(tmp_path, work)


def test_log_starts_that_cannot_be_written_hold_up_no_checkpoint(tmp_path: Path) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        partition = await new_topic(broker, "orders")
        partition.append(memoryview(new_batch([Record(0, now(), b"key", b"value")])))
        if waiting := partition.flushed(partition.log.end_offset):
            await waiting
        partition.delete_records(-1)
        files.broken["open"] = "log-start-offset-checkpoint"
        broker.start()
        points = tmp_path / "recovery-point-offset-checkpoint"
        await until(lambda: points.exists() and "orders 0 1" in points.read_text())
        assert broker.storage.durable_log_start(partition) == 0

    with_broker(tmp_path, work, settings={"log.flush.offset.checkpoint.interval.ms": "1"})
