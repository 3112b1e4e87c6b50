"""Where the logs of partitions start and end, and what lies at a time: one request per broker for
any number of partitions.

A partition that cannot say, because it is gone or has no leader, is None; the others are answered.
Above: admin.py, groups.py, seek.py. Below: answers.py.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import confluent_kafka.admin
from confluent_kafka import KafkaError, KafkaException

from kafkaesque.client.answers import raise_if_local, started
from kafkaesque.types import TopicPartition

if TYPE_CHECKING:
    from kafkaesque.client.admin import Admin

# Typed in part only: strict mypy does not see its re-exported names.
_kafka: Any = confluent_kafka.admin

EARLIEST = _kafka.OffsetSpec.earliest()
LATEST = _kafka.OffsetSpec.latest()

Offsets: TypeAlias = dict[TopicPartition, int | None]

# Said by librdkafka itself, yet about one partition: its topic is there, the partition is not.
_OF_ONE_PARTITION = {KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC}


def ask_offsets(
    admin: "Admin", places: Iterable[TopicPartition], spec: Any
) -> Callable[[], Offsets]:
    """Send the question; what is returned waits for the answers."""
    question = {confluent_kafka.TopicPartition(*place): spec for place in places}
    # librdkafka would never answer an empty question.
    futures = (
        started(admin.client.list_offsets, question, connection=admin.connection)
        if question
        else {}
    )

    def wait() -> Offsets:
        return {
            TopicPartition(asked.topic, asked.partition): _offset(admin, future)
            for asked, future in futures.items()
        }

    return wait


def at_time(timestamp_ms: int) -> Any:
    """The first record of that time or later; -1 if there is none."""
    return _kafka.OffsetSpec.for_timestamp(timestamp_ms)


def _offset(admin: "Admin", future: Any) -> int | None:
    try:
        offset: int = future.result().offset
    except KafkaException as error:
        if error.args[0].code() not in _OF_ONE_PARTITION:
            raise_if_local(error, admin.connection)
        return None
    return offset
