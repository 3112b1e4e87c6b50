"""The gateway's producer when librdkafka gives up."""

import asyncio

from tests import foreign

from kafkaesque.cli.options import parse_brokers
from kafkaesque.client.connection import Connection
from kafkaesque.gateway.events.new_event import NewEvent
from kafkaesque.gateway.events.outcomes import Outcome, Refused, Written
from kafkaesque.gateway.events.stats import Stats
from kafkaesque.gateway.events.writer import EventWriter
from kafkaesque.testing.kafka import Kafka


def test_after_a_fatal_error_a_new_producer_takes_over(kafka: Kafka) -> None:
    topic = foreign.create_topic(kafka.bootstrap_servers)
    connection = Connection(tuple(parse_brokers(kafka.bootstrap_servers)))

    async def write() -> list[Outcome]:
        writer = EventWriter(connection, Stats(), 1 << 20)
        outcomes = await writer.send(topic, [NewEvent(b"a")])
        kafka.faults.error("Produce", "OUT_OF_ORDER_SEQUENCE_NUMBER", times=1)
        outcomes += await writer.send(topic, [NewEvent(b"b")])
        outcomes += await writer.send(topic, [NewEvent(b"c"), NewEvent(b"d")])
        await writer.close()
        return outcomes

    first, refused, *more = asyncio.run(write())
    assert [first, *more] == [Written(0, 0), Written(0, 1), Written(0, 2)]
    assert isinstance(refused, Refused)
    assert (refused.status, refused.error) == (502, "OUT_OF_ORDER_SEQUENCE_NUMBER")


def test_what_was_sent_is_settled_before_it_closes(kafka: Kafka) -> None:
    topic = foreign.create_topic(kafka.bootstrap_servers)
    connection = Connection(tuple(parse_brokers(kafka.bootstrap_servers)))

    async def write() -> list[Outcome]:
        writer = EventWriter(connection, Stats(), 1 << 20)
        with kafka.faults.delay("Produce", seconds=0.3):
            sending = asyncio.create_task(writer.send(topic, [NewEvent(b"a")]))
            await asyncio.sleep(0.1)
            await writer.close()
            return await sending

    assert asyncio.run(write()) == [Written(0, 0)]
