"""What happens to those who wait for a partition while something else comes in between."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.held_disk import settled
from tests.unit.broker.broker_rig import NOW, BrokerRig, run

from kafkaesque.broker.partition import Partition
from kafkaesque.broker.producers import Producers
from kafkaesque.errors import KafkaError
from kafkaesque.records.batch import Record, new_batch
from kafkaesque.records.control import Marker


class Waiter:
    """A watcher that notes what it is told."""

    def __init__(self) -> None:
        self.more_bytes: list[int] = []
        self.woken = 0

    def more(self, partition: Partition, size: int) -> None:
        self.more_bytes.append(size)

    def wake(self) -> None:
        self.woken += 1


def test_write_caching_that_is_switched_on_during_a_flush_leaves_nobody_waiting(
    tmp_path: Path,
) -> None:
    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("orders")
        partition = topic.partition(0)
        rig.disk.is_held = True
        rig.append(partition)
        await settled()
        flush = rig.disk.hold_back()
        waiting = partition.flushed(rig.append(partition))
        assert waiting is not None
        configured = asyncio.ensure_future(
            rig.broker.topics.configure(topic, lambda: {"write.caching": "true"})
        )
        await rig.disk.let_all_go()
        await asyncio.wait_for(configured, 30)
        flush()
        await settled()
        await rig.disk.let_all_go()
        await asyncio.wait_for(waiting, 30)

    run(tmp_path, work)


def test_what_was_cached_is_flushed_when_write_caching_is_switched_off(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("orders", write_caching="true")
        partition = topic.partition(0)
        end = rig.append(partition)
        assert partition.log.flushed_offset < end
        await rig.broker.topics.configure(topic, lambda: {"write.caching": None})
        await settled()
        assert partition.log.flushed_offset == end

    run(tmp_path, work)


def test_a_reader_at_the_head_hears_of_more_after_the_log_has_become_shorter(
    tmp_path: Path,
) -> None:
    async def work(rig: BrokerRig) -> None:
        partition = (await rig.topic("orders", segment_bytes="1024")).partition(0)
        await rig.fill(partition)
        partition.delete_records(-1)
        waiter = Waiter()
        partition.watch(waiter)
        size = partition.log.appended_size
        await rig.fill(partition, batches=1, size=20)
        assert waiter.more_bytes == [partition.log.appended_size - size]

    run(tmp_path, work)


def test_a_reader_below_a_new_log_start_is_woken(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        partition = (await rig.topic("orders")).partition(0)
        await rig.fill(partition)
        waiter = Waiter()
        partition.watch(waiter)
        partition.delete_records(5)
        assert waiter.woken == 1
        partition.delete_records(5)
        assert waiter.woken == 1

    run(tmp_path, work)


def test_the_last_stable_offset_is_never_below_the_log_start(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        partition = (await rig.topic("orders")).partition(0)
        batch = new_batch(
            [Record(i, 0, None, b"v") for i in range(3)],
            producer_id=7,
            producer_epoch=0,
            base_sequence=0,
            transactional=True,
        )
        partition.append(memoryview(batch))
        await rig.fill(partition)
        assert partition.last_stable_offset == 0
        partition.delete_records(2)
        assert partition.last_stable_offset == 2

    run(tmp_path, work)


def test_a_partition_that_was_closed_while_its_disk_failed_does_not_come_back(
    tmp_path: Path,
) -> None:
    async def work(rig: BrokerRig) -> None:
        partition = (await rig.topic("orders")).partition(0)
        rig.disk.is_held = True
        rig.append(partition)
        rig.disk.let_go(OSError(5, "no"))
        await settled()
        assert partition.offline is not None
        reviving = asyncio.ensure_future(rig.broker.storage.revive())
        await settled()
        partition.close()
        await rig.disk.let_all_go()
        await reviving
        await rig.broker.storage.revive()
        with pytest.raises(KafkaError):
            partition.check_online()

    run(tmp_path, work)


def test_ends_of_transactions_do_not_add_up_where_nobody_reads(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        partition = (await rig.topic("orders")).partition(0)
        for sequence in range(20):
            batch = new_batch(
                [Record(0, 0, None, b"v")],
                producer_id=7,
                producer_epoch=0,
                base_sequence=sequence,
                transactional=True,
            )
            partition.append(memoryview(batch))
            if waiting := partition.flushed(partition.append_marker(7, 0, Marker.COMMIT)):
                await waiting
        assert len(partition._transactions._ending) <= 1

    run(tmp_path, work)


@pytest.mark.parametrize(
    "change",
    [
        lambda rig, partition: rig.append(partition),
        lambda rig, partition: partition.append_marker(7, 0, Marker.ABORT),
        lambda rig, partition: partition.roll(),
        lambda rig, partition: partition.roll_if_older(NOW + 1),
        lambda rig, partition: partition.delete_records(5),
        lambda rig, partition: partition.enforce_retention(NOW + 1_000_000),
    ],
)
def test_nobody_changes_a_log_that_a_thread_repairs(
    tmp_path: Path, change: Callable[[BrokerRig, Partition], object]
) -> None:
    async def work(rig: BrokerRig) -> None:
        partition = (await rig.topic("orders", retention_ms="1")).partition(0)
        await rig.fill(partition)
        rig.disk.is_held = True
        rig.append(partition)
        rig.disk.let_go(OSError(5, "no"))
        await settled()
        reviving = asyncio.ensure_future(rig.broker.storage.revive())
        await settled()
        log = partition.log
        before = log.log_start_offset, log.end_offset, len(log.sealed)
        with suppress(KafkaError):
            change(rig, partition)
        assert (log.log_start_offset, log.end_offset, len(log.sealed)) == before
        await rig.disk.let_all_go()
        await reviving
        with suppress(KafkaError):
            change(rig, partition)
        assert (log.log_start_offset, log.end_offset, len(log.sealed)) != (0, 10, 0)

    run(tmp_path, work)


def _batch_of(producer_id: int, sequence: int) -> memoryview:
    record = Record(0, 0, None, b"v")
    return memoryview(
        new_batch([record], producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
    )


def test_a_snapshot_of_many_producers_is_of_the_moment_in_which_it_was_asked_for(
    tmp_path: Path,
) -> None:
    """It is put together beside the loop, while they go on."""

    async def work(rig: BrokerRig) -> None:
        partition = (await rig.topic("orders")).partition(0)
        for producer_id in range(1_000):
            partition.append(_batch_of(producer_id, 0))
        await rig.fill(partition, batches=1)
        producers = list(partition.producers.describe())
        rig.disk.is_held = True
        checkpoint = asyncio.ensure_future(partition.checkpoint())
        await settled()
        for producer_id in range(500, 1_500):
            partition.append(_batch_of(producer_id, int(producer_id < 1_000)))
        rig.disk.let_go()
        await settled()
        assert not checkpoint.done()
        await rig.disk.let_all_go()
        await checkpoint
        found = partition.log.latest_snapshot(1_001)
        assert found is not None
        assert found[0] == 1_001
        assert list(Producers.restore(found[1])[0].describe()) == producers

    run(tmp_path, work)


def test_made_up_producer_ids_are_bounded_and_who_is_forgotten_may_go_on(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("orders", 2)
        for producer_id in range(100):
            topic.partition(producer_id % 2).append(_batch_of(producer_id, 0))
        assert [p.producers.ids() for p in topic.partitions] == [{96, 98}, {97, 99}]
        end = topic.partition(0).log.end_offset
        assert topic.partition(0).append(_batch_of(0, 1)).base_offset == end

    run(tmp_path, work, max_producer_ids="4")


def test_a_crowd_of_made_up_ids_in_one_partition_makes_no_retry_in_another_a_double(
    tmp_path: Path,
) -> None:
    async def work(rig: BrokerRig) -> None:
        crowded = (await rig.topic("crowded")).partition(0)
        orders = (await rig.topic("orders")).partition(0)
        assert orders.append(_batch_of(5, 0)).base_offset == 0
        for producer_id in range(100, 200):
            crowded.append(_batch_of(producer_id, 0))
        assert orders.append(_batch_of(5, 0)).base_offset == 0
        assert orders.log.end_offset == 1
        assert len(rig.broker.producer_ids) == 4

    run(tmp_path, work, max_producer_ids="4")


def test_producers_are_saved_up_to_the_recovery_point(tmp_path: Path) -> None:
    """What is appended while a checkpoint waits is flushed with the rest, and not in its snapshot:
    its headers are needed, until the next one.
    """

    async def work(rig: BrokerRig) -> None:
        partition = (await rig.topic("orders")).partition(0)
        rig.disk.is_held = True
        partition.append(_batch_of(7, 0))
        await settled()
        partition.append(_batch_of(7, 1))
        checkpoint = asyncio.ensure_future(rig.broker.storage.checkpoint())
        await settled()
        partition.append(_batch_of(7, 2))
        await rig.disk.let_all_go()
        await checkpoint
        partition.delete_records(-1)
        await rig.broker.storage.checkpoint_log_starts()
        await rig.reopen()
        partition = rig.broker.topics.named("orders").partition(0)
        assert partition.append(_batch_of(7, 2)).base_offset == 2
        assert partition.append(_batch_of(7, 3)).base_offset == 3

    run(tmp_path, work)
