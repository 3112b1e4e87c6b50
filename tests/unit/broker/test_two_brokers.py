"""Two brokers in one process share nothing: what comes to one is never seen by the other."""

import asyncio

from tests.unit.broker.connections import Client, memory_broker
from tests.wire.requests import batch, produce, produce_answer

from kafkaesque.broker.topics import NewTopic


def test_what_is_read_for_one_broker_is_not_written_over_by_another() -> None:
    async def scenario() -> None:
        first, second = await memory_broker(), await memory_broker()
        one, other = Client(first), Client(second)
        topic = await first.topics.create(NewTopic("t", 1))
        frame = one.frame(produce("t", 0, batch([b"of the first"])), 9)
        buffer = one.connection.get_buffer(-1)
        buffer[: len(frame)] = frame
        # In another thread the other broker's socket is read now.
        other.connection.get_buffer(-1)[: len(frame)] = bytes(len(frame))
        one.connection.buffer_updated(len(frame))
        (answer,) = one.answers()
        assert produce_answer(answer).error_code == 0
        assert topic.partition(0).log.end_offset == 1
        await first.close()
        await second.close()

    asyncio.run(scenario())


def test_each_broker_numbers_its_own_connections() -> None:
    async def scenario() -> None:
        brokers = [await memory_broker() for _ in range(2)]
        assert [Client(broker).connection._number for broker in brokers] == [1, 1]
        for broker in brokers:
            await broker.close()

    asyncio.run(scenario())
