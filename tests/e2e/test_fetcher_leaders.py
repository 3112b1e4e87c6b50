"""`Fetcher` against two brokers: each is asked for what it leads, and leaders move."""

import asyncio
from collections.abc import Iterator

import pytest
from tests.two_brokers import TwoBrokers

from kafkaesque.client.connection import Connection
from kafkaesque.client.fetch import EARLIEST, LATEST, Fetcher
from kafkaesque.errors import ErrorCode
from kafkaesque.types import TopicPartition

pytestmark = pytest.mark.slow

TIMEOUT_S = 60
A, B = TopicPartition("orders", 0), TopicPartition("orders", 1)


@pytest.fixture
def cluster() -> Iterator[TwoBrokers]:
    with TwoBrokers() as running:
        running.create("orders", 2)
        running.lead(B, 1)
        yield running


def fetcher_of(cluster: TwoBrokers, said: list[str] | None = None) -> Fetcher:
    connection = Connection(brokers=(cluster.addresses[0],), timeout_s=TIMEOUT_S)
    return Fetcher(connection, max_wait_ms=100, tell=None if said is None else said.append)


async def read(fetcher: Fetcher, count: int) -> dict[TopicPartition, list[bytes | None]]:
    found: dict[TopicPartition, list[bytes | None]] = {}
    while sum(map(len, found.values())) < count:
        for fetched in await fetcher.fetch():
            assert fetched.error is ErrorCode.NONE
            found.setdefault(fetched.place, []).extend(it.value for it in fetched.records())
    return found


def test_each_leader_is_asked_for_its_own(cluster: TwoBrokers) -> None:
    cluster.produce(A, [b"a0", b"a1"])
    cluster.produce(B, [b"b0", b"b1"])

    async def scene() -> None:
        async with asyncio.timeout(TIMEOUT_S), fetcher_of(cluster) as fetcher:
            assert await fetcher.offsets([A, B], EARLIEST) == {A: 0, B: 0}
            assert await fetcher.offsets([A, B], LATEST) == {A: 2, B: 2}
            fetcher.seek(A, 0)
            fetcher.seek(B, 0)
            assert await read(fetcher, 4) == {A: [b"a0", b"a1"], B: [b"b0", b"b1"]}
            assert all(cluster.fetches)

    asyncio.run(scene())


def test_a_leader_that_moves_is_followed_and_nothing_is_lost_or_read_twice(
    cluster: TwoBrokers,
) -> None:
    said: list[str] = []

    async def scene() -> None:
        async with asyncio.timeout(TIMEOUT_S), fetcher_of(cluster, said) as fetcher:
            fetcher.seek(A, 0)
            fetcher.seek(B, 0)
            for turn in range(6):
                cluster.lead(A, turn % 2)
                cluster.lead(B, turn // 2 % 2)
                value = b"%d" % turn
                await asyncio.to_thread(cluster.produce, A, [value])
                await asyncio.to_thread(cluster.produce, B, [value])
                assert await read(fetcher, 2) == {A: [value], B: [value]}

    asyncio.run(scene())
    assert said == []


def test_one_that_has_gone_does_not_hold_the_other_up(cluster: TwoBrokers) -> None:
    said: list[str] = []
    cluster.produce(A, [b"a0"])
    cluster.produce(B, [b"b0"])

    async def scene() -> None:
        async with asyncio.timeout(TIMEOUT_S), fetcher_of(cluster, said) as fetcher:
            fetcher.seek(A, 0)
            fetcher.seek(B, 0)
            await read(fetcher, 2)
            await asyncio.to_thread(cluster.produce, A, [b"a1"])
            await asyncio.to_thread(cluster.produce, B, [b"b1"])
            assert await read(fetcher, 2) == {A: [b"a1"], B: [b"b1"]}
            await asyncio.to_thread(cluster.stop, 1)
            reading = asyncio.ensure_future(fetcher.fetch())
            while not said:
                await asyncio.sleep(0.01)
            cluster.lead(B, 0)
            reading.cancel()
            fetcher.seek(A, 0)
            fetcher.seek(B, 0)
            assert await read(fetcher, 4) == {A: [b"a0", b"a1"], B: [b"b0", b"b1"]}

    asyncio.run(scene())
    assert said[0].startswith("waiting for the cluster: ")
    assert said[1:] == ["the cluster is back"]
