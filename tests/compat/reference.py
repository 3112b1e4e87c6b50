"""confluent-kafka within the test's own process: quick set-up, and the second opinion on what a
client claims.
"""

from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient
from tests.compat.clients import confluent_client

TIMEOUT_S = 30.0


def run(bootstrap: str, action: str, **arguments: Any) -> list[dict[str, Any]]:
    """An action of clients/contract.py, without a process of its own."""
    return list(confluent_client.ACTIONS[action](bootstrap, arguments))


def committed(bootstrap: str, group: str, topic: str) -> dict[int, int]:
    """The committed offsets of a group by partition, straight from the broker."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    answer = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
    offsets = answer[group].result(TIMEOUT_S).topic_partitions or []
    return {each.partition: each.offset for each in offsets if each.topic == topic}
