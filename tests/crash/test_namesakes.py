"""A topic that is deleted and created again starts afresh, whenever the power goes.

Nothing of the old topic reaches its namesake: no committed offsets, no records, no producers.
"""

import asyncio
import random
import threading
from uuid import UUID

from tests.crash.forgetting import ForgettingFiles
from tests.crash.power import Disk, Machine
from tests.crash.scripts import (
    TOPIC,
    commit,
    committed,
    create,
    cut_everywhere,
    end_offset,
    produce_in_sequence,
    replace,
    topic_id,
)
from tests.wire.client import AsyncClient
from tests.wire.requests import batch, produce


def test_a_namesake_inherits_no_committed_offsets() -> None:
    old: UUID

    async def before(client: AsyncClient) -> None:
        nonlocal old
        await create(client)
        await commit(client, 5)
        old = await topic_id(client)

    async def check(client: AsyncClient) -> None:
        await create(client)
        assert await committed(client) == (5 if await topic_id(client) == old else -1)

    asyncio.run(cut_everywhere(before, replace, check))


def test_a_namesake_inherits_no_records() -> None:
    """Not even those that were never flushed, of a partition that was hardly there."""

    async def replace_at_once(client: AsyncClient) -> None:
        await create(client)
        for _ in range(3):
            client.send(produce(TOPIC, 0, batch([b"old"]), acks=0), 9)
        await replace(client)

    async def check(client: AsyncClient) -> None:
        if await create(client):
            assert await end_offset(client) == 0

    asyncio.run(cut_everywhere(None, replace_at_once, check))


def test_a_checkpoint_under_way_does_not_reach_the_namesake() -> None:
    writing, may_go_on = threading.Event(), threading.Event()

    def hold_snapshots(operation: str, path: object = None) -> None:
        if operation == "open" and f"/{TOPIC}-0/" in str(path) and ".producers" in str(path):
            writing.set()
            may_go_on.wait(10)

    async def delete_during_the_checkpoint() -> list[str]:
        machine = Machine(Disk(ForgettingFiles(), None, random.Random(0)), hold_snapshots)
        await machine.start()
        client = await machine.connect()
        await create(client)
        machine.begin_regular_work()
        await produce_in_sequence(client, 0)
        await asyncio.to_thread(writing.wait, 10)
        replacing = asyncio.create_task(replace(client))
        # Time enough to do it all, were it not for the checkpoint.
        await asyncio.wait({replacing}, timeout=0.05)
        may_go_on.set()
        await replacing
        await machine.stop_cleanly()
        names = machine.disk.names(f"/data/{TOPIC}-0")
        client.close()
        await machine.end()
        return names

    names = asyncio.run(delete_during_the_checkpoint())
    assert "partition.metadata" in names
    assert not [name for name in names if ".producers" in name]
