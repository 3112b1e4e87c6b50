"""confluent-kafka within the test's own process: quick set-up, and a second opinion on claims.

Above: cells.py, chaos.py, test_dump_log.py. Below: clients/confluent_client.py.
"""

from typing import Any

from confluent_kafka import Consumer, TopicPartition
from tests.compat.clients import confluent_client

TIMEOUT_S = 30.0


def run(bootstrap: str, action: str, **arguments: Any) -> list[dict[str, Any]]:
    """An action of clients/contract.py, without a process of its own."""
    return list(confluent_client.ACTIONS[action](bootstrap, arguments))


def committed(bootstrap: str, group: str, topic: str) -> dict[int, int]:
    """The committed offsets of a group by partition, from one that asks but does not join."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0})
    numbers = consumer.list_topics(topic, TIMEOUT_S).topics[topic].partitions
    places = [TopicPartition(topic, number) for number in numbers]
    offsets = consumer.committed(places, TIMEOUT_S)
    consumer.close()
    return {each.partition: each.offset for each in offsets if each.offset >= 0}
