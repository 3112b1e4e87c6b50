"""Requests as a broker's API gets them, without a connection: a context, with topics around it."""

from collections.abc import Iterator
from contextlib import contextmanager

from kafkaesque.broker.apis import Context
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.config import Listener
from kafkaesque.protocol.header import RequestHeader
from kafkaesque.testing import Kafka

HERE = Listener("127.0.0.1", 9092)


@contextmanager
def broker_with(*topics: str) -> Iterator[Broker]:
    """A broker in memory that listens to nobody."""
    kafka = Kafka()
    try:
        for topic in topics:
            kafka.create(topic)
        yield kafka._thread.server.broker
    finally:
        kafka.close()


def context(broker: Broker, key: int, version: int, client_id: str = "c") -> Context:
    return Context(broker, HERE, RequestHeader(key, version, 1, client_id), "127.0.0.1")
