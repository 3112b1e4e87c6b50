"""A transaction that ends on a disk that fails: what its tests begin with, and look at."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.unit.broker.brokers import PathFiles, new_topic, until, with_broker, write
from tests.unit.broker.state_logs import Now

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.partition import Partition
from kafkaesque.errors import ErrorCode
from kafkaesque.records.control import Marker
from kafkaesque.transactions.events import State

TIMEOUT_MS = 60_000
STRANGER = 900_000
"""A producer id that no transaction knows."""
Identity = tuple[int, int]


async def begin(broker: Broker, *partitions: Partition) -> Identity:
    """A producer with a transaction that has a record in each of these."""
    reply = await broker.transactions.init("t", TIMEOUT_MS, -1, -1)
    assert reply.error is ErrorCode.NONE
    whose = reply.producer_id, reply.producer_epoch
    for partition in partitions:
        broker.transactions.admit("t", *whose, partition.name, adds=True)
        await write(partition, *whose)
    return whose


async def end(broker: Broker, whose: Identity, *, commit: bool, bumps: bool = True) -> ErrorCode:
    reply = await broker.transactions.end("t", *whose, commit, bumps, connection=0)
    return reply.error


async def ticked(broker: Broker, condition: Callable[[], object]) -> None:
    """What the broker does from time to time, until something has come of it."""
    while not condition():
        await broker.storage.revive()
        await broker.transactions.tick()
        await until(lambda: not broker.transactions._desks or condition())


def state(broker: Broker) -> State:
    transaction = broker.transactions.table.get("t")
    assert transaction is not None
    return transaction.state


def is_committed(partition: Partition) -> bool:
    return not partition.open_transactions() and not partition.aborted(0, 1_000)


class Unopened:
    """A transaction has records in `a` and `b`, and only those say so of `b`: that it is part of
    the transaction was not durable yet. Then a start cannot open `b`. With `ended`, one in `a` has
    ended that way before, and those in `b` are of the next, which has the same epoch.
    """

    def __init__(
        self, path: Path, whose: Identity | None = None, ended: Marker | None = None
    ) -> None:
        self.path = path
        self.whose = whose
        self.ended = ended

    async def _write(self, broker: Broker, files: PathFiles, now: Now) -> None:
        a, b = await new_topic(broker, "a"), await new_topic(broker, "b")
        self.identity = await begin(broker, a)
        if self.ended is not None:
            await end_and_rest(broker, self.identity, self.ended)
        await write(b, *(self.whose or self.identity))

    def start(self, work: Callable[[Broker, Partition, PathFiles], Awaitable[None]]) -> None:
        async def with_b(broker: Broker, files: PathFiles, now: Now) -> None:
            b = broker.topics.named("b").partition(0)
            assert b.offline is not None
            await work(broker, b, files)
            async with asyncio.timeout(60):
                await until(lambda: b.last_stable_offset == b.log.end_offset)

        self.write()
        self.start_again(with_b)

    def write(self) -> None:
        with_broker(self.path, self._write)

    def start_again(self, work: Callable[[Broker, PathFiles, Now], Awaitable[None]]) -> None:
        """And `b` cannot be opened."""
        (self.path / ".kafka_cleanshutdown").unlink(missing_ok=True)
        files = PathFiles()
        files.broken["open"] = "/b-0/00000000000000000000.log"
        with_broker(self.path, work, files=files)


async def end_and_rest(broker: Broker, whose: Identity, marker: Marker) -> None:
    """As a client before version 5 of EndTxn, which keeps its epoch."""
    commit = marker is Marker.COMMIT
    assert await end(broker, whose, commit=commit, bumps=False) is ErrorCode.NONE
    async with asyncio.timeout(60):
        await until(lambda: not broker.transactions._desks)


async def come_back(broker: Broker, b: Partition, files: PathFiles) -> None:
    files.broken.clear()
    await broker.storage.revive()
    assert b.last_stable_offset == 0
    await broker.transactions.tick()
