"""`Producer`, `Consumer` and `Table` against Apache Kafka: the basics."""

import asyncio
from typing import Any

import pytest
from tests.compat.apache_kafka import ApacheKafka
from tests.foreign import TIMEOUT_S, committed, create_topic, name

from kafkaesque import Consumer, Event, KafkaError, Producer, Table

pytestmark = pytest.mark.compat

HEADERS = [("a", b"1"), ("a", None)]


def test_events_come_back_as_they_were_sent(apache_kafka: ApacheKafka) -> None:
    brokers = apache_kafka.bootstrap
    topic = create_topic(brokers, partitions=3)
    with Producer(brokers, topic, profile="throughput") as producer:
        place = producer.send(value={"n": 1}, key="key1", headers=HEADERS, timestamp=1234567)
        assert place.result(TIMEOUT_S) == (2, 0)
        producer.send(value=None, key="key1")
    with Consumer(topic, brokers, until="end") as consumer:
        first, second = consumer
    assert first == Event(topic, 2, 0, 1234567, "key1", {"n": 1}, HEADERS, "create")
    assert (second.offset, second.value) == (1, None)


def test_a_group_commits_what_is_finished_with(apache_kafka: ApacheKafka) -> None:
    brokers = apache_kafka.bootstrap
    topic, group = create_topic(brokers), name("group")
    with Producer(brokers, topic) as producer:
        producer.send_many(None, range(5))
    with Consumer(topic, brokers, group=group) as consumer:
        for event in consumer:
            if event.value == 3:
                break
    assert committed(brokers, group, topic).offset == 3
    with Consumer(topic, brokers, group=group, until="end") as consumer:
        assert [event.value for event in consumer] == [3, 4]
    assert committed(brokers, group, topic).offset == 5


def test_a_program_that_awaits(apache_kafka: ApacheKafka) -> None:
    brokers = apache_kafka.bootstrap
    topic = create_topic(brokers)

    async def run() -> list[Any]:
        async with Producer(brokers, topic) as producer:
            await producer.send_many(None, range(2000))
        async with Consumer(topic, brokers, until="end") as consumer:
            return [event.value async for event in consumer]

    assert asyncio.run(run()) == list(range(2000))


def test_a_table_follows_its_topic(apache_kafka: ApacheKafka) -> None:
    brokers = apache_kafka.bootstrap
    topic = create_topic(brokers, configs={"cleanup.policy": "compact"})
    with Producer(brokers, topic) as producer:
        producer.send_many(None, [1, 2], key="a").result(TIMEOUT_S)
        with Table(topic, brokers) as table:
            assert dict(table) == {"a": 2}
            producer.send(value=None, key="a").result(TIMEOUT_S)
            table.wait_until_caught_up(TIMEOUT_S)
            assert dict(table) == {}


def test_errors_are_the_same(apache_kafka: ApacheKafka) -> None:
    brokers = apache_kafka.bootstrap
    topic = create_topic(brokers, configs={"max.message.bytes": "1000"})
    with Producer(brokers, topic) as producer:
        delivery = producer.send(value="x" * 5000)
        with pytest.raises(KafkaError, match=r"max\.message\.bytes"):
            delivery.result(TIMEOUT_S)
    with pytest.raises(KafkaError, match="topic create"):
        list(Consumer(name("nowhere"), brokers, until="end"))
