"""What a connection and a partition tell those who keep long requests out of the way of others:
when a flush is under way, who is there beside a long request, and how large a read was.
"""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path

import pytest
from tests.unit.broker.broker_rig import BrokerRig, run
from tests.unit.broker.connections import Client, memory_broker
from tests.wire.requests import produce

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.topics import NewTopic
from kafkaesque.broker.turn import Turn
from kafkaesque.protocol.messages.api_versions import ApiVersionsRequest
from kafkaesque.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkaesque.protocol.messages.metadata import MetadataRequest

_LARGE = 64 * 1024
_SCRATCH = 256 * 1024


async def _turns(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


async def _long_work(broker: Broker) -> None:
    async for _ in broker.slices.paced(range(30)):
        pass


@pytest.mark.parametrize("failure", [None, OSError(5, "disk")])
def test_long_work_waits_for_a_flush_that_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: OSError | None
) -> None:
    monkeypatch.setattr("kafkaesque.broker.flushes._PATIENCE_SECONDS", 1000.0)

    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("a")
        await rig.fill(topic.partition(0))
        assert rig.disk.flushes.under_way == 0
        rig.broker.slices._clock = count().__next__
        await asyncio.wait_for(_long_work(rig.broker), 60)
        rig.disk.is_held = True
        rig.append(topic.partition(0))
        long = asyncio.ensure_future(_long_work(rig.broker))
        await _turns(1000)
        assert not long.done()
        rig.disk.let_go(failure)
        rig.disk.is_held = False
        await asyncio.wait_for(long, 60)
        assert rig.disk.flushes.under_way == 0

    run(tmp_path, work)


async def _ask_for_versions(client: Client) -> None:
    client.send(ApiVersionsRequest(), 0)


async def _produce(client: Client) -> None:
    client.send(produce("a", 0, bytes(1)), 9)


async def _ask_for_all_topics(client: Client) -> None:
    client.send(MetadataRequest(topics=None), 9)


async def _fetch_of_many(client: Client) -> None:
    partitions = [FetchPartition(partition=n, partition_max_bytes=1) for n in range(260)]
    topics = [FetchTopic(topic="a", partitions=partitions)]
    client.send(FetchRequest(max_wait_ms=0, max_bytes=1, topics=topics), 4)


@pytest.mark.parametrize(
    ("ask", "is_company"),
    [
        (_ask_for_versions, True),
        (_produce, True),
        (_ask_for_all_topics, False),
        (_fetch_of_many, False),
    ],
)
def test_who_asks_for_little_is_company_and_long_work_is_not(
    ask: Callable[[Client], Awaitable[None]], is_company: bool
) -> None:
    async def scenario() -> None:
        broker = await memory_broker()
        await broker.topics.create(NewTopic("a", 260))
        client = Client(broker)
        broker.slices.has_company = False
        await ask(client)
        assert broker.slices.has_company is is_company
        while not client.answers():
            await asyncio.sleep(0)
        client.cut()
        await broker.close()

    asyncio.run(scenario())


class _Noted(Turn):
    def __init__(self) -> None:
        super().__init__()
        self.reads: list[tuple[bool, bool]] = []

    def is_spent(self, began: float, now: float, nbytes: int = 0, *, is_whole: bool = True) -> bool:
        self.reads.append((nbytes >= _LARGE, is_whole))
        return False


def test_a_turn_is_told_of_large_reads_and_of_frames_that_are_read_in_part() -> None:
    async def scenario() -> None:
        broker = await memory_broker()
        broker.turn = turn = _Noted()
        client = Client(broker)
        client.send(ApiVersionsRequest(), 0)
        client.send(produce("a", 0, bytes(_LARGE)), 9)
        client.send(produce("a", 0, bytes(_SCRATCH + 100)), 9)
        assert turn.reads == [(False, True), (True, True), (True, False), (True, True)]
        client.cut()
        await broker.close()

    asyncio.run(scenario())
