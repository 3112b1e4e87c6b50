"""kafka-python behind the contract of contract.py.

Its codecs are the packages python-snappy, lz4 and zstandard, which come with the development set.
"""

import time
from collections.abc import Iterator
from typing import Any

from kafka import (
    ConsumerRebalanceListener,
    KafkaAdminClient,
    KafkaConsumer,
    KafkaProducer,
    TopicPartition,
)
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.errors import KafkaConnectionError, KafkaError
from kafka.structs import OffsetAndMetadata
from tests.compat.clients.contract import (
    Arguments,
    Line,
    emit_event,
    encoded,
    main,
    record_line,
    stop_requested,
)

TIMEOUT_MS = 30_000
ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


def create(bootstrap: str, arguments: Arguments) -> Iterator[Line]:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    topic = NewTopic(
        arguments["topic"], arguments["partitions"], 1, topic_configs=arguments["configs"]
    )
    admin.create_topics([topic], timeout_ms=TIMEOUT_MS)
    admin.close()
    yield {"topic": arguments["topic"]}


def produce(bootstrap: str, arguments: Arguments) -> Iterator[Line]:
    codec = None if arguments["codec"] == "none" else arguments["codec"]
    producer = KafkaProducer(bootstrap_servers=bootstrap, compression_type=codec, linger_ms=50)
    sent = [
        producer.send(
            arguments["topic"],
            key=encoded(key),
            value=encoded(value),
            partition=arguments["partition"],
            headers=[(name, encoded(content)) for name, content in arguments["headers"]],
        )
        for key, value in arguments["records"]
    ]
    for future in sent:
        metadata = future.get(TIMEOUT_MS / 1000)
        yield {"partition": metadata.partition, "offset": metadata.offset}
    producer.close()


def consume_assign(bootstrap: str, arguments: Arguments) -> Iterator[Line]:
    consumer = _consumer(bootstrap, None)
    partitions = [TopicPartition(arguments["topic"], number) for number in arguments["partitions"]]
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)
    ends = consumer.end_offsets(partitions)
    starts = consumer.beginning_offsets(partitions)
    for _ in range(sum(ends[each] - starts[each] for each in partitions)):
        yield _line(next(consumer))
    consumer.close()


def consume_group(bootstrap: str, arguments: Arguments) -> Iterator[Line]:
    consumer = _consumer(bootstrap, arguments["group"])
    consumer.subscribe([arguments["topic"]])
    for _ in range(arguments["count"]):
        record = next(consumer)
        yield _line(record)
        partition = TopicPartition(record.topic, record.partition)
        consumer.commit({partition: OffsetAndMetadata(record.offset + 1, "", -1)})
    consumer.close()


def describe(bootstrap: str, arguments: Arguments) -> Iterator[Line]:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    (topic,) = admin.describe_topics([arguments["topic"]])
    resource = ConfigResource(ConfigResourceType.TOPIC, arguments["topic"])
    configs = admin.describe_configs([resource], config_filter="all")
    entries = configs["topic"][arguments["topic"]]
    admin.close()
    yield {
        "partitions": sorted(each["partition_index"] for each in topic["partitions"]),
        "configs": {name: entry["value"] for name, entry in entries.items()},
    }


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    """Says what the group gives to this member and takes from it."""

    def __init__(self, consumer: KafkaConsumer) -> None:
        self._consumer = consumer

    def on_partitions_assigned(self, assigned: Any) -> None:
        self._emit("assigned", assigned)

    def on_partitions_revoked(self, revoked: Any) -> None:
        self._emit("revoked", revoked)

    def on_partitions_lost(self, lost: Any) -> None:
        self._emit("lost", lost)

    def _emit(self, event: str, partitions: Any) -> None:
        generation = self._consumer.group_metadata().generation_id
        numbers = sorted(each.partition for each in partitions)
        emit_event(event, generation=generation, partitions=numbers)


def member(bootstrap: str, arguments: Arguments) -> list[Line]:
    stopping = stop_requested()
    consumer = _consumer(
        bootstrap,
        arguments["group"],
        partition_assignment_strategy=[ASSIGNORS[arguments["assignor"]]],
        group_instance_id=arguments["instance_id"],
        session_timeout_ms=arguments["session_ms"],
        heartbeat_interval_ms=500,
    )
    consumer.subscribe([arguments["topic"]], listener=Listener(consumer))
    while not stopping():
        _work(consumer, _polled(consumer))
    consumer.close()
    emit_event("closed")
    return []


def _polled(consumer: KafkaConsumer) -> Any:
    try:
        return consumer.poll(timeout_ms=200, max_records=100)
    except KafkaConnectionError as error:
        # Of all clients this one alone leaves it to the application to try again.
        emit_event("poll_failed", error=repr(error))
        time.sleep(0.2)
        return {}


def _work(consumer: KafkaConsumer, polled: dict[Any, list[Any]]) -> None:
    positions = {}
    generation = consumer.group_metadata().generation_id
    for partition, records in polled.items():
        offsets = [record.offset for record in records]
        emit_event("records", generation=generation, partition=partition.partition, offsets=offsets)
        positions[partition] = OffsetAndMetadata(offsets[-1] + 1, "", -1)
    if not positions:
        return
    try:
        consumer.commit(positions)
    except KafkaError as error:
        emit_event("commit_failed", error=repr(error))
    else:
        emit_event("commit", offsets={each.partition: at.offset for each, at in positions.items()})


def _consumer(bootstrap: str, group: str | None, **settings: Any) -> KafkaConsumer:
    return KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=TIMEOUT_MS,
        **settings,
    )


def _line(record: Any) -> Line:
    return record_line(record.partition, record.offset, record.key, record.value, record.headers)


ACTIONS = {
    "create": create,
    "produce": produce,
    "consume_assign": consume_assign,
    "consume_group": consume_group,
    "describe": describe,
    "member": member,
}

if __name__ == "__main__":
    main(ACTIONS)
