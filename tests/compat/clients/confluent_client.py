"""confluent-kafka (librdkafka) behind the contract of contract.py.

Also used within the test's own process, by reference.py: no action may leave anything behind.
"""

import struct
from collections.abc import Iterator
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourceType,
)
from tests.compat.clients.contract import (
    Arguments,
    Line,
    emit_event,
    encoded,
    main,
    record_line,
    stop_requested,
)

TIMEOUT_S = 30.0


def create(bootstrap: str, arguments: Arguments) -> Iterator[Line]:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    topic = NewTopic(
        arguments["topic"], arguments["partitions"], 1, config=dict(arguments["configs"])
    )
    admin.create_topics([topic])[arguments["topic"]].result(TIMEOUT_S)
    yield {"topic": arguments["topic"]}


def produce(bootstrap: str, arguments: Arguments) -> Iterator[Line]:
    settings = {"linger.ms": 50, "compression.type": arguments["codec"]}
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, **settings})
    delivered: list[Message] = []

    def on_delivery(error: Any, message: Message) -> None:
        if error is not None:
            raise KafkaException(error)
        delivered.append(message)

    for key, value in arguments["records"]:
        producer.produce(
            arguments["topic"],
            key=encoded(key),
            value=encoded(value),
            partition=arguments["partition"],
            headers=[(name, encoded(content)) for name, content in arguments["headers"]],
            on_delivery=on_delivery,
        )
    producer.flush(TIMEOUT_S)
    for message in delivered:
        yield {"partition": message.partition(), "offset": message.offset()}


def consume_assign(bootstrap: str, arguments: Arguments) -> Iterator[Line]:
    consumer = _consumer(bootstrap, "unused", {})
    partitions = [
        TopicPartition(arguments["topic"], number, OFFSET_BEGINNING)
        for number in arguments["partitions"]
    ]
    ranges = [consumer.get_watermark_offsets(partition, TIMEOUT_S) for partition in partitions]
    consumer.assign(partitions)
    for _ in range(sum(end - start for start, end in ranges)):
        yield _line(_next(consumer))
    consumer.close()


def consume_group(bootstrap: str, arguments: Arguments) -> Iterator[Line]:
    consumer = _consumer(bootstrap, arguments["group"], {})
    consumer.subscribe([arguments["topic"]])
    for _ in range(arguments["count"]):
        message = _next(consumer)
        yield _line(message)
        consumer.commit(message=message, asynchronous=False)
    consumer.close()


def describe(bootstrap: str, arguments: Arguments) -> Iterator[Line]:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    topic = admin.list_topics(arguments["topic"], TIMEOUT_S).topics[arguments["topic"]]
    resource = ConfigResource(ResourceType.TOPIC, arguments["topic"])
    entries = admin.describe_configs([resource])[resource].result(TIMEOUT_S)
    yield {
        "partitions": sorted(topic.partitions),
        "configs": {name: entry.value for name, entry in entries.items()},
    }


def member(bootstrap: str, arguments: Arguments) -> list[Line]:
    stopping = stop_requested()
    settings = {
        "partition.assignment.strategy": arguments["assignor"],
        "session.timeout.ms": arguments["session_ms"],
        "heartbeat.interval.ms": 500,
        "log_level": 0,
    }
    if arguments["instance_id"]:
        settings["group.instance.id"] = arguments["instance_id"]
    consumer = _consumer(bootstrap, arguments["group"], settings)

    def changed(event: str) -> Any:
        def on_change(_: Consumer, partitions: list[TopicPartition]) -> None:
            numbers = [each.partition for each in partitions]
            emit_event(event, generation=_generation(consumer), partitions=numbers)

        return on_change

    consumer.subscribe(
        [arguments["topic"]],
        on_assign=changed("assigned"),
        on_revoke=changed("revoked"),
        on_lost=changed("lost"),
    )
    while not stopping():
        _work(consumer, arguments["topic"], consumer.consume(100, timeout=0.2))
    consumer.close()
    emit_event("closed")
    return []


def _work(consumer: Consumer, topic: str, messages: list[Any]) -> None:
    by_partition: dict[int, list[int]] = {}
    for message in messages:
        if message.error() is None:
            by_partition.setdefault(message.partition(), []).append(message.offset())
    generation = _generation(consumer)
    for partition, offsets in by_partition.items():
        emit_event("records", generation=generation, partition=partition, offsets=offsets)
    if not by_partition:
        return
    positions = {partition: offsets[-1] + 1 for partition, offsets in by_partition.items()}
    places = [TopicPartition(topic, partition, at) for partition, at in positions.items()]
    try:
        consumer.commit(offsets=places, asynchronous=False)
    except KafkaException as error:
        emit_event("commit_failed", error=str(error))
    else:
        emit_event("commit", offsets=positions)


def _generation(consumer: Consumer) -> int:
    """The binding gives the group metadata as bytes: `CGMDv2:`, then the generation, int32."""
    metadata = bytes(consumer.consumer_group_metadata())
    return int(struct.unpack_from("<i", metadata, metadata.index(b":") + 1)[0])


def _consumer(bootstrap: str, group: str, settings: dict[str, Any]) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "log_level": 0,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **settings,
        }
    )


def _next(consumer: Consumer) -> Message:
    message = consumer.poll(TIMEOUT_S)
    if message is None:
        raise TimeoutError(f"no record within {TIMEOUT_S} s")
    if error := message.error():
        raise KafkaException(error)
    return message


def _line(message: Any) -> Line:
    return record_line(
        message.partition(),
        message.offset(),
        message.key(),
        message.value(),
        message.headers() or [],
    )


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
