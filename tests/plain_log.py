"""A topic as a plain consumer reads it, to hold against what came another way."""

from confluent_kafka import Message, TopicPartition
from tests import foreign

Place = tuple[int, int]
"""Partition and offset."""


def plain_log(bootstrap: str, topic: str, partitions: int) -> dict[Place, Message]:
    """All that is there now and was not aborted."""
    log: dict[Place, Message] = {}
    for partition in range(partitions):
        low, high = foreign.watermarks(bootstrap, topic, partition)
        reader = foreign.consumer(bootstrap, enable_partition_eof=True)
        reader.assign([TopicPartition(topic, partition, low)])
        try:
            while low < high:
                message = reader.poll(foreign.TIMEOUT_S)
                assert message is not None, f"{topic} {partition} was read to {low} of {high}"
                if message.error() is not None:  # The end, with markers before it.
                    break
                log[partition, message.offset() or 0] = message
                low = (message.offset() or 0) + 1
        finally:
            reader.close()
    return log
