"""What a connection that is closing is owed nobody gets: it is not kept."""

import asyncio

from tests.unit.broker.connections import Client, memory_broker
from tests.wire.requests import batch, produce

from kafkaesque.broker.topics import NewTopic
from kafkaesque.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic

NO_KAFKA = b"\x00\x00\x00\x09not Kafka"


def long_poll() -> FetchRequest:
    partition = FetchPartition(partition=0, partition_max_bytes=1 << 30)
    return FetchRequest(
        max_wait_ms=60_000,
        min_bytes=1 << 29,
        max_bytes=1 << 30,
        topics=[FetchTopic(topic="t", partitions=[partition])],
    )


def test_a_response_that_comes_too_late_is_not_kept() -> None:
    async def scenario() -> None:
        broker = await memory_broker()
        await broker.topics.create(NewTopic("t", 1))
        await Client(broker).call(produce("t", 0, batch([bytes(1_000_000)])), 9)
        client = Client(broker, room=0)
        # A transport that still has something to send is closed, and not yet lost.
        client.wire.close = lambda: None  # type: ignore[method-assign]
        client.send(long_poll(), 11)
        client.queue_bytes(NO_KAFKA)
        client.flush()
        broker.stop_waiting()
        for _ in range(10):
            await asyncio.sleep(0)
        assert not broker.long_polls
        assert all(place.chunks is None for place in client.connection._line)
        client.connection.connection_lost(None)
        assert broker.budget.used == 0
        await broker.close()

    asyncio.run(scenario())
