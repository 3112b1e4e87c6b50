"""Events that the pipeline `upsert` is fed with, and what their table should be made of."""

import json
import random
from typing import Any

from confluent_kafka import Producer
from tests import foreign

from kafkaesque.event import Event
from kafkaesque.pipelines.tables import Row, row_of

PARTITIONS = 2
KEYS = 200


def make_topic(brokers: str, topic: str | None = None) -> str:
    """For events whose times are long past: none of them is deleted for it."""
    return foreign.create_topic(brokers, topic, PARTITIONS, {"retention.ms": "-1"})


def produce(brokers: str, topic: str, chance: random.Random, count: int, start_ms: int) -> None:
    send(Producer({"bootstrap.servers": brokers, "log_level": 0}), topic, chance, count, start_ms)


def send(producer: Producer, topic: str, chance: random.Random, count: int, start_ms: int) -> None:
    """Events that set and delete, and do not come in the order of their times; many share one, so
    that partitions and offsets have to decide too."""
    for number in range(count):
        key = f"k{chance.randrange(KEYS)}"
        fields: dict[str, Any] = {"id": key, "n": chance.randrange(1000), "x": chance.random()}
        if chance.random() < 0.3:
            fields["s"] = "ä" * chance.randrange(4)
        value = None if chance.random() < 0.15 else json.dumps(fields)
        time_ms = start_ms + number // 50 + chance.randrange(20)
        producer.produce(
            topic, value, key, partition=chance.randrange(PARTITIONS), timestamp=time_ms
        )
    assert producer.flush(foreign.TIMEOUT_S) == 0


def rows(brokers: str, topic: str) -> list[Row]:
    """What the table should have been made of: all that is in the topic."""
    found = []
    for partition in range(PARTITIONS):
        for message in foreign.read_all(brokers, topic, partition):
            value = message.value()
            fields = None if value is None else json.loads(value)
            offset, time_ms = message.offset(), message.timestamp()[1]
            assert offset is not None
            found.append(row_of(Event(topic, partition, offset, time_ms, message.key(), fields)))
    return found
