"""Producers that place keys as each is used to: murmur2 as Java does, or librdkafka's CRC-32."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from confluent_kafka import Message, Producer
from tests import foreign
from tests.kafka_python import KafkaProducer

Record = tuple[str, str]
Write = Callable[[str, str, Iterable[Record]], dict[str, int]]
"""To a cluster, into a topic: says where each key went."""


def write_by_librdkafka(
    bootstrap: str, topic: str, records: Iterable[Record], **settings: Any
) -> dict[str, int]:
    placed: dict[str, int] = {}

    def delivered(error: Any, message: Message) -> None:
        assert error is None
        placed[(message.key() or b"").decode()] = message.partition() or 0

    producer = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 20, "log_level": 0, **settings}
    )
    for key, value in records:
        producer.produce(topic, value, key, on_delivery=delivered)
    assert producer.flush(foreign.TIMEOUT_S) == 0
    return placed


def write_by_kafka_python(bootstrap: str, topic: str, records: Iterable[Record]) -> dict[str, int]:
    producer = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=20)
    sent = [(key, producer.send(topic, value.encode(), key.encode())) for key, value in records]
    placed = {key: future.get(foreign.TIMEOUT_S).partition for key, future in sent}
    producer.close()
    return placed


MURMUR2: Write = partial(write_by_librdkafka, partitioner="murmur2_random")
CRC32: Write = write_by_librdkafka
"""What librdkafka does if it is told nothing."""
WRITERS = {"murmur2": MURMUR2, "kafka-python": write_by_kafka_python, "crc32": CRC32}
