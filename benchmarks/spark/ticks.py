"""Ticks in a topic, as JSON of some 90 bytes with the ticker as key: what Spark is to read."""

import json

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

TOPIC = "ticks"
PARTITIONS = 4


def tick(number: int) -> tuple[str, str]:
    """Its key and its value."""
    ticker = f"T{number % 500:03d}"
    fields = {"event_time": 1_700_000_000_000 + number, "ticker": ticker}
    fields |= {"price": 100 + number % 977 / 10, "volume": number % 1000}
    return ticker, json.dumps(fields)


def make_topic(brokers: str) -> None:
    admin = AdminClient({"bootstrap.servers": brokers})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(20)


def fill(brokers: str, count: int) -> None:
    make_topic(brokers)
    producer = Producer(
        {
            "bootstrap.servers": brokers,
            "linger.ms": 50,
            "batch.size": 1 << 20,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    for number in range(count):
        ticker, value = tick(number)
        while True:
            try:
                producer.produce(TOPIC, value, ticker, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 10_000 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0
