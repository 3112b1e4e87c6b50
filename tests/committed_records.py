"""All that a reader of committed records sees in a topic, by confluent-kafka."""

from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition
from tests import foreign


def committed_records(brokers: str, topic: str, partitions: int = 1, **settings: Any) -> list[Any]:
    """From the beginning of each partition to its end, partition by partition."""
    found: dict[int, list[Message]] = {number: [] for number in range(partitions)}
    reader = foreign.consumer(
        brokers, isolation_level="read_committed", enable_partition_eof=True, **settings
    )
    reader.assign([TopicPartition(topic, number, 0) for number in found])
    left = set(found)
    try:
        while left:
            message = reader.poll(foreign.TIMEOUT_S)
            assert message is not None, f"partitions {left} of {topic} have no end"
            if (error := message.error()) is None:
                found[message.partition() or 0].append(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                left.discard(message.partition() or 0)
            else:
                raise KafkaException(error)
    finally:
        reader.close()
    return [message for number in found for message in found[number]]
