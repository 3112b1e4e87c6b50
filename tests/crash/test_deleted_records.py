"""DeleteRecords is a promise, too: what is deleted stays deleted, whenever the power goes.

What the broker knows of the producers of those records does not go with them.
"""

import asyncio
import random

import pytest
from tests.crash.forgetting import ForgettingFiles
from tests.crash.power import Disk, Machine
from tests.crash.scripts import (
    TOPIC,
    create,
    cut_everywhere,
    delete_records,
    log_start,
    produce_in_sequence,
)
from tests.wire.client import AsyncClient
from tests.wire.requests import batch, produce

from kafkaesque.errors import ErrorCode

_PARTITIONS = 4
_RECORDS = 5


@pytest.mark.slow
def test_producers_are_remembered_though_their_records_are_deleted() -> None:
    acknowledged = 0

    async def before(client: AsyncClient) -> None:
        await create(client)

    async def produce_and_delete(client: AsyncClient) -> None:
        nonlocal acknowledged
        acknowledged = 0
        for sequence in range(6):
            assert await produce_in_sequence(client, sequence) == ErrorCode.NONE
            acknowledged = sequence + 1
            if sequence % 2:
                await delete_records(client)

    async def check(client: AsyncClient) -> None:
        """The batch in doubt is there or not: it can be sent again, and the one after it."""
        for sequence in (acknowledged, acknowledged + 1):
            assert await produce_in_sequence(client, sequence) == ErrorCode.NONE

    asyncio.run(cut_everywhere(before, produce_and_delete, check))


@pytest.mark.parametrize("seed", range(10))
def test_what_many_delete_at_once_stays_deleted(seed: int) -> None:
    """The log starts of all partitions are one file, and each answer is a promise of its own."""

    async def delete_from_everywhere() -> list[int]:
        machine = Machine(Disk(ForgettingFiles(), None, random.Random(seed)))
        await machine.start()
        clients = [await machine.connect() for _ in range(_PARTITIONS)]
        await create(clients[0], _PARTITIONS)
        machine.begin_regular_work()
        for offset in range(1, _RECORDS + 1):
            await asyncio.gather(
                *(_produce_and_delete(client, p, offset) for p, client in enumerate(clients))
            )
        for client in clients:
            client.close()
        await machine.end()
        return await _log_starts(machine)

    assert asyncio.run(delete_from_everywhere()) == [_RECORDS] * _PARTITIONS


async def _produce_and_delete(client: AsyncClient, partition: int, offset: int) -> None:
    client.send(produce(TOPIC, partition, batch([b"x"])), 9)
    await client.receive()
    await delete_records(client, partition, offset)


async def _log_starts(before: Machine) -> list[int]:
    """As found after the power cut."""
    assert before.disk.survivor is not None
    machine = Machine(Disk(before.disk.survivor, None, random.Random(0)))
    await machine.start()
    client = await machine.connect()
    starts = [await log_start(client, partition) for partition in range(_PARTITIONS)]
    client.close()
    await machine.end()
    return starts
