"""Bounded topics: what falls off is on the shelf, and no partition waits for another's disk."""

import asyncio
from collections.abc import Sequence
from inspect import isawaitable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.held_disk import settled
from tests.unit.broker.broker_rig import BrokerRig, run
from tests.unit.broker.brokers import PathFiles, with_broker
from tests.unit.broker.state_logs import Now
from tests.unit.embedded.shelves import ShelfInMemory

from kafkaesque.broker.apis import APIS, Context
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.config import Listener
from kafkaesque.broker.partition import Partition
from kafkaesque.embedded.bounds import Bounds
from kafkaesque.embedded.node import NewEvent, Node
from kafkaesque.embedded.stale import open_shelf
from kafkaesque.event import Event
from kafkaesque.protocol.header import RequestHeader
from kafkaesque.protocol.messages import PRODUCE
from kafkaesque.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkaesque.records.batch import Record, new_batch

EVENT = NewEvent(b"k", b"v")
VALUES = [b"old", b"new", b"new"]


@pytest.mark.parametrize("name", ["x.csv", "x.sqlite"])
@pytest.mark.parametrize("starts", [[VALUES], [[value] for value in VALUES]])
def test_what_falls_off_a_topic_made_anew_is_kept_though_the_clock_stood(
    tmp_path: Path, name: str, starts: list[list[bytes]]
) -> None:
    """Its events have the offsets and timestamps of the old topic's, the third one's all."""
    for values in starts:
        fallen = _live(tmp_path, name, values)
    assert fallen == [(offset, value.decode()) for value in VALUES for offset in (0, 1)]


def _live(path: Path, name: str, values: list[bytes]) -> list[tuple[int, str]]:
    """A start, and a topic for each of the values; what lies on the shelf in the end."""
    fallen: list[tuple[int, str]] = []

    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        shelf = open_shelf(path / name, is_durable=True)
        node = Node(broker, 1, Bounds(2, 2, shelf))
        for value in values:
            if "t" in broker.topics:
                await node.delete("t")
            await node.append("t", [NewEvent(b"k", value)] * 3)
        fallen.extend((row.offset, row.value) for row in shelf.rows("t"))

    with_broker(path / "data", work)
    return fallen


async def _is_done(work: "asyncio.Future[Any]") -> bool:
    """When all that the disk lets go on has had its turns."""
    for _ in range(50):
        await settled()
    return work.done()


@pytest.mark.parametrize("count", [1, 6])
def test_a_put_waits_for_no_other_topics_disk(tmp_path: Path, count: int) -> None:
    """Whether or not events fall off."""

    async def work(rig: BrokerRig) -> None:
        await rig.topic("hangs", write_caching="true")
        other = (await rig.topic("other")).partition(0)
        node = Node(rig.broker, 1, Bounds(4, 2, ShelfInMemory()))
        rig.disk.is_held = True
        hanging = asyncio.ensure_future(node.append("hangs", [EVENT] * 6))
        await settled()
        end_flush = rig.disk.hold_back()
        rig.disk.is_held = False
        put = asyncio.ensure_future(node.append("other", [EVENT] * count))
        is_done = await _is_done(put)
        assert not hanging.done()
        end_flush()
        await asyncio.gather(hanging, put)
        assert is_done
        assert other.log.log_start_offset == (0 if count == 1 else 2)

    run(tmp_path, work)


def test_what_fails_for_one_partition_keeps_no_other_from_being_trimmed(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("t", 3)
        for partition in topic.partitions:
            await rig.fill(partition, 3)
        bounds = Bounds(2, 1, ShelfInMemory(refused={1}))
        await bounds.enforce(rig.broker, topic.partitions)
        assert [p.log.log_start_offset for p in topic.partitions] == [1, 0, 1]
        assert [_durable_start(rig, p) for p in topic.partitions] == [1, 0, 1]

    run(tmp_path, work)


def test_a_damaged_shelf_takes_no_answer_from_what_was_put(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Damaged(ShelfInMemory):
        def add(self, topic_id: UUID, events: Sequence[Event]) -> None:
            raise ValueError("not the JSON that it was")

    async def work(rig: BrokerRig) -> None:
        partition = (await rig.topic("t")).partition(0)
        node = Node(rig.broker, 1, Bounds(2, 1, Damaged()))
        await node.append("t", [EVENT] * 3)
        assert (partition.log.log_start_offset, partition.log.end_offset) == (0, 3)
        assert "stale events stay in the log of t-0" in caplog.text
        assert "not the JSON that it was" in caplog.text

    run(tmp_path, work)


def _durable_start(rig: BrokerRig, partition: Partition) -> int:
    return rig.broker.storage.durable_log_start(partition)


def test_two_puts_to_one_partition_put_each_event_away_once(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        partition = (await rig.topic("t")).partition(0)
        shelf = ShelfInMemory()
        node = Node(rig.broker, 1, Bounds(2, 1, shelf))
        await asyncio.gather(*(node.append("t", [EVENT] * 3) for _ in range(2)))
        assert [event.offset for event in shelf.events] == [0, 1, 2, 3]
        assert partition.log.log_start_offset == 4

    run(tmp_path, work)


async def _produce(rig: BrokerRig, bounds: Bounds, indexes: list[int], count: int) -> Any:
    """With acks=1: answered by the broker when they are appended."""
    records = [Record(n, 0, b"k", b"v") for n in range(count)]
    data = [
        PartitionProduceData(index=index, records=memoryview(new_batch(records)))
        for index in indexes
    ]
    request = ProduceRequest(acks=1, topic_data=[TopicProduceData(name="t", partition_data=data)])
    header = RequestHeader(PRODUCE, 9, 1, "client")
    context = Context(rig.broker, Listener("127.0.0.1", 9092), header, "127.0.0.1")
    answer = bounds.wrap(APIS[PRODUCE]).handle(context, request)
    return await answer if isawaitable(answer) else answer


def test_a_produce_that_names_a_partition_too_many_is_bounded_in_the_others(
    tmp_path: Path,
) -> None:
    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("t", 2)
        await _produce(rig, Bounds(2, 1, ShelfInMemory()), [0, 7, 1], 3)
        assert [p.log.log_start_offset for p in topic.partitions] == [1, 1]

    run(tmp_path, work)


def test_a_produce_is_bounded_in_one_partition_while_anothers_disk_hangs(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("t", 2)
        rig.disk.is_held = True
        bounds = Bounds(2, 1, ShelfInMemory())
        produced = asyncio.ensure_future(_produce(rig, bounds, [1, 0], 3))
        await settled()
        rig.disk.let_go()
        end_flush = rig.disk.hold_back()
        rig.disk.is_held = False
        assert not await _is_done(produced)
        starts = [p.log.log_start_offset for p in topic.partitions]
        end_flush()
        await produced
        assert starts == [0, 1]

    run(tmp_path, work)


def test_a_deleted_topics_events_are_not_put_away_after_a_namesake_is_there(
    tmp_path: Path,
) -> None:
    """They had waited for the shelf, which was writing another's."""

    async def work(rig: BrokerRig) -> None:
        other, deleted = await rig.topic("other"), await rig.topic("deleted")
        for topic in (other, deleted):
            await rig.fill(topic.partition(0), 3)
        shelf = ShelfInMemory()
        bounds = Bounds(2, 1, shelf)
        rig.disk.is_held = True
        writing = asyncio.ensure_future(bounds.enforce(rig.broker, other.partitions))
        await settled()
        end_writing = rig.disk.hold_back()
        rig.disk.is_held = False
        waiting = asyncio.ensure_future(bounds.enforce(rig.broker, deleted.partitions))
        await settled()
        await rig.broker.delete_topic(deleted)
        end_writing()
        await asyncio.gather(writing, waiting)
        assert [event.topic for event in shelf.events] == ["other"]

    run(tmp_path, work)


def test_a_shelf_whose_writer_was_cancelled_is_written_when_its_thread_is_done(
    tmp_path: Path,
) -> None:
    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("t", 2)
        for partition in topic.partitions:
            await rig.fill(partition, 3)
        shelf = ShelfInMemory()
        bounds = Bounds(2, 1, shelf)
        rig.disk.is_held = True
        cancelled = asyncio.ensure_future(bounds.enforce(rig.broker, [topic.partition(0)]))
        await settled()
        end_writing = rig.disk.hold_back()
        rig.disk.is_held = False
        cancelled.cancel()
        following = asyncio.ensure_future(bounds.enforce(rig.broker, [topic.partition(1)]))
        is_done = await _is_done(following)
        end_writing()
        await asyncio.gather(cancelled, following, return_exceptions=True)
        assert not is_done
        assert [event.partition for event in shelf.events] == [0, 1]

    run(tmp_path, work)


def test_many_events_are_put_away_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(rig: BrokerRig) -> None:
        partition = (await rig.topic("t")).partition(0)
        await rig.fill(partition, 400)
        shelf = ShelfInMemory()
        await Bounds(10, 10, shelf).enforce(rig.broker, [partition])
        assert [event.offset for event in shelf.events] == list(range(390))
        assert max(map(len, shelf.added)) < 200

    monkeypatch.setattr("kafkaesque.embedded.bounds._SHELVED_AT_ONCE", 100)
    run(tmp_path, work)
