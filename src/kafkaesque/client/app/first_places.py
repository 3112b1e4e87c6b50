"""Where a group begins in the partitions it is given: where it has committed, else at `start`.

"earliest" librdkafka finds by itself. Any other start is found and committed at once: an app that
is killed before it has done anything must not begin at a later "latest" the next time.
Above: member.py. Below: ../starts.py.
"""

from collections.abc import Mapping
from typing import Any

import confluent_kafka
from confluent_kafka import Consumer, KafkaException

from kafkaesque.client.app.handlers import Handler
from kafkaesque.client.starts import EARLIEST, resolve
from kafkaesque.types import TopicPartition

_TIMEOUT_S = 10.0


def first_places(
    consumer: Consumer, handlers: Mapping[str, Handler], partitions: list[Any]
) -> list[Any]:
    """The partitions with the offsets to begin at. Raises KafkaException."""
    unsaid = [it for it in partitions if handlers[it.topic].start != "earliest"]
    if not unsaid:
        return partitions
    found = {}
    for partition in consumer.committed(unsaid, timeout=_TIMEOUT_S):
        if partition.error is not None:
            raise KafkaException(partition.error)
        found[TopicPartition(partition.topic, partition.partition)] = partition.offset
    new = _resolved(consumer, handlers, [place for place, offset in found.items() if offset < 0])
    if known := [it for it in _partitions(new) if it.offset != EARLIEST]:
        consumer.commit(offsets=known, asynchronous=False)
    said = [it for it in partitions if handlers[it.topic].start == "earliest"]
    return [*said, *_partitions(found | new)]


def _resolved(
    consumer: Consumer, handlers: Mapping[str, Handler], places: list[TopicPartition]
) -> dict[TopicPartition, int]:
    return {
        place: offset
        for topic in dict.fromkeys(place.topic for place in places)
        for place, offset in resolve(
            consumer,
            handlers[topic].start,
            [it for it in places if it.topic == topic],
            _TIMEOUT_S,
        ).items()
    }


def _partitions(offsets: Mapping[TopicPartition, int]) -> list[Any]:
    return [confluent_kafka.TopicPartition(*place, offset) for place, offset in offsets.items()]
