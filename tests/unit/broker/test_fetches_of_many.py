"""A fetch of more partitions than one slice: what others do between its slices."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.unit.broker.brokers import HeldSlices, call, new_topic, until, with_broker
from tests.unit.broker.connections import Client, EndlessTurn

from kafkaesque.broker.apis.fetch import _Attempt, _Found, _LongPoll
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.cold_reads import ColdReads
from kafkaesque.broker.partition import Partition
from kafkaesque.errors import ErrorCode
from kafkaesque.log.slices import FileSlice
from kafkaesque.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kafkaesque.records.batch import Record, new_batch

PARTITIONS = 280
"""More than are looked at in one go, in a frame that is decoded in one."""
VERSION = 11
BUDGET = 4 << 20


class CountedSlices:
    """Each thing takes a slice of its own; the one of this number is held until it is let go."""

    def __init__(self, broker: Broker, number: int) -> None:
        self.waits = False
        self._number = number
        self._count = 0
        self._may_go_on = asyncio.Event()
        self._turn = broker.slices.turn
        broker.slices._clock = count().__next__
        broker.slices.turn = self._held_turn  # type: ignore[method-assign]

    async def _held_turn(self, *, is_first: bool = False) -> None:
        self._count += 1
        if self._count == self._number:
            self.waits = True
            await self._may_go_on.wait()
        await self._turn(is_first=is_first)

    def let_go(self) -> None:
        self._may_go_on.set()


def fetch(max_wait_ms: int = 0) -> FetchRequest:
    partitions = [
        FetchPartition(partition=number, partition_max_bytes=1 << 20)
        for number in range(PARTITIONS)
    ]
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=50 << 20,
        topics=[FetchTopic(topic="many", partitions=partitions)],
    )


def partitions_of(response: FetchResponse) -> list[PartitionData]:
    return [data for topic in response.responses for data in topic.partitions]


def size_of(response: FetchResponse) -> int:
    return sum(len(data.records or b"") for data in partitions_of(response))


async def fill(broker: Broker, size: int) -> None:
    for partition in broker.topics.named("many").partitions:
        partition.append(memoryview(new_batch([Record(0, 0, b"key", b"v" * size)])))
    for partition in broker.topics.named("many").partitions:
        if waiting := partition.flushed(partition.log.end_offset):
            await waiting


async def make_anew(broker: Broker) -> None:
    await broker.delete_topic(broker.topics.named("many"))
    await new_topic(broker, "many", PARTITIONS)


def with_topic(path: Path | None, story: Callable[[Broker], Awaitable[Any]]) -> None:
    async def work(broker: Broker, *_: Any) -> None:
        broker.turn = EndlessTurn()
        await new_topic(broker, "many", PARTITIONS)
        await story(broker)

    with_broker(path, work, settings={"queued.max.request.bytes": str(BUDGET)})


def test_what_many_of_them_have_read_is_within_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    read = _Attempt._read
    has_read = 0

    def counted(attempt: _Attempt, found: _Found) -> bool:
        nonlocal has_read
        is_there = read(attempt, found)
        has_read += len(found.data.records or b"")
        return is_there

    async def story(broker: Broker) -> None:
        await fill(broker, 28_000)
        broker.slices._clock = count().__next__
        monkeypatch.setattr(_Attempt, "_read", counted)
        clients = [Client(broker) for _ in range(20)]
        for client in clients:
            client.send(fetch(), VERSION)
        sizes, most = list[int](), 0
        while len(sizes) < len(clients):
            await asyncio.sleep(0)
            sizes += [size_of(answer) for client in clients for answer in client.answers()]
            most = max(most, has_read - sum(sizes))
        assert all(sizes), "each has brought something"
        assert most < 2 * BUDGET
        assert broker.budget.used == 0

    with_topic(None, story)


def test_a_poll_whose_topic_is_made_anew_while_it_looks_is_answered() -> None:
    """What it watches by then is gone: nothing that comes would wake it."""

    async def story(broker: Broker) -> None:
        slices = CountedSlices(broker, PARTITIONS + PARTITIONS // 2)
        poll = asyncio.ensure_future(call(broker, fetch(max_wait_ms=3_600_000), VERSION))
        await until(lambda: slices.waits)
        await make_anew(broker)
        slices.let_go()
        errors = {data.error_code for data in partitions_of(await poll)}
        assert ErrorCode.UNKNOWN_TOPIC_OR_PARTITION in errors

    with_topic(None, story)


def test_a_topic_that_is_made_anew_while_it_is_read_is_not_a_broken_disk(tmp_path: Path) -> None:
    async def restarted(broker: Broker, *_: Any) -> None:
        slices = CountedSlices(broker, 2 * PARTITIONS + PARTITIONS // 2)
        reading = asyncio.ensure_future(call(broker, fetch(), VERSION))
        await until(lambda: slices.waits)
        await make_anew(broker)
        slices.let_go()
        errors = {data.error_code for data in partitions_of(await reading)}
        assert errors == {ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}

    with_topic(tmp_path, lambda broker: fill(broker, 10))
    # No file of a segment is open any more.
    with_broker(tmp_path, restarted)


def test_reads_from_the_disk_begin_a_few_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To begin one takes tens of microseconds."""
    run, begun = ColdReads.run, 0

    def counted(reads: ColdReads, *job: Any) -> asyncio.Future[Any]:
        nonlocal begun
        begun += 1
        return run(reads, *job)

    async def story(broker: Broker) -> None:
        nonlocal begun
        await fill(broker, 10)
        monkeypatch.setattr(FileSlice, "read_nowait", lambda _: None)
        monkeypatch.setattr(ColdReads, "run", counted)
        broker.slices._clock = count().__next__
        reading = asyncio.ensure_future(call(broker, fetch(), VERSION))
        most = total = 0
        while not reading.done():
            await asyncio.sleep(0)
            most, total, begun = max(most, begun), total + begun, 0
        assert all(data.records for data in partitions_of(await reading))
        assert total == PARTITIONS
        assert most <= 8, "as many as are done at once"

    with_topic(tmp_path, story)


def test_what_is_read_is_held_until_it_is_encoded() -> None:
    async def story(broker: Broker) -> None:
        await fill(broker, 10_000)
        held = HeldSlices(broker)
        held.let_go()
        client = Client(broker)
        client.send(fetch(), VERSION)
        while not client.connection._encoding:
            await asyncio.sleep(0)
        assert broker.budget.used > PARTITIONS * 10_000
        await until(lambda: not client.connection.is_busy)
        assert broker.budget.used == 0
        client.cut()

    with_topic(None, story)


def test_who_goes_while_it_is_encoded_holds_nothing() -> None:
    async def story(broker: Broker) -> None:
        await fill(broker, 10_000)
        HeldSlices(broker).let_go()
        client = Client(broker)
        client.send(fetch(), VERSION)
        while not client.connection._encoding:
            await asyncio.sleep(0)
        client.cut()
        await until(lambda: broker.budget.used == 0)

    with_topic(None, story)


def test_a_batch_is_held_whole_though_less_was_asked_for(tmp_path: Path) -> None:
    """KIP-74: the first batch is sent even if it exceeds all limits. Until it is read from a file
    that was written by another process, nobody knows where it ends.
    """

    async def restarted(broker: Broker, *_: Any) -> None:
        HeldSlices(broker).let_go()
        request = fetch()
        for partition in request.topics[0].partitions:
            partition.partition_max_bytes = 1
        client = Client(broker)
        client.send(request, VERSION)
        while not client.connection._encoding:
            await asyncio.sleep(0)
        assert broker.budget.used > 400_000
        await until(lambda: not client.connection.is_busy)
        (answer,) = client.answers()
        assert size_of(answer) > 400_000
        assert broker.budget.used == 0
        client.cut()

    with_topic(tmp_path, lambda broker: fill(broker, 400_000))
    with_broker(tmp_path, restarted)


def test_a_poll_hears_once_that_all_its_partitions_are_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not once for each of them, looking at all each time."""
    partitions, looked_through = _Attempt.partitions, 0

    def counted(attempt: _Attempt) -> Iterator[Partition]:
        nonlocal looked_through
        for partition in partitions(attempt):
            looked_through += 1
            yield partition

    monkeypatch.setattr(_Attempt, "partitions", counted)

    async def story(broker: Broker) -> None:
        poll = asyncio.ensure_future(call(broker, fetch(max_wait_ms=3_600_000), VERSION))
        await until(lambda: broker.long_polls)
        await broker.delete_topic(broker.topics.named("many"))
        errors = {data.error_code for data in partitions_of(await poll)}
        assert errors == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        assert looked_through <= 4 * PARTITIONS

    with_topic(None, story)


def test_a_poll_that_begins_while_the_broker_stops_is_answered() -> None:
    async def story(broker: Broker) -> None:
        slices = CountedSlices(broker, PARTITIONS + PARTITIONS // 2)
        poll = asyncio.ensure_future(call(broker, fetch(max_wait_ms=3_600_000), VERSION))
        await until(lambda: slices.waits)
        broker.stop_waiting()
        slices.let_go()
        assert len(partitions_of(await poll)) == PARTITIONS

    with_topic(None, story)


def client_with_a_room(broker: Broker) -> Client:
    """Its poll is decoded in slices."""
    request = fetch(max_wait_ms=3_600_000)
    request.topics += [FetchTopic(topic="many", partitions=[]) for _ in range(200)]
    client = Client(broker)
    client.send(request, VERSION)
    return client


def test_a_long_poll_keeps_no_long_request_waiting() -> None:
    async def story(broker: Broker) -> None:
        client = client_with_a_room(broker)
        await until(lambda: broker.long_polls)
        room = await asyncio.wait_for(broker.long_requests.enter(10 * BUDGET), 60)
        room.leave()
        client.cut()

    with_topic(None, story)


def test_a_poll_that_has_to_end_is_not_put_off_by_being_told_again() -> None:
    async def story(broker: Broker) -> None:
        poll = asyncio.ensure_future(call(broker, fetch(max_wait_ms=3_600_000), VERSION))
        await until(lambda: broker.long_polls)
        (watcher,) = broker.long_polls
        assert isinstance(watcher, _LongPoll)
        watcher._end_soon()
        due = watcher._timer.when()
        assert due < asyncio.get_running_loop().time() + 1
        for _again in range(3):
            await asyncio.sleep(0)
            watcher._end_soon()
        assert watcher._timer.when() == due
        assert len(partitions_of(await poll)) == PARTITIONS

    with_topic(None, story)


def test_a_poll_that_reads_what_has_come_is_under_way() -> None:
    async def story(broker: Broker) -> None:
        client = client_with_a_room(broker)
        await until(lambda: broker.long_polls and not broker.long_requests._under_way)
        HeldSlices(broker).let_go()
        await fill(broker, 10)
        await until(lambda: broker.long_requests._under_way)
        await until(client.answers)
        assert broker.long_requests._under_way == 0
        assert broker.budget.used == 0

    with_topic(None, story)
