"""What the tests ask of confluent-kafka again and again, in one line each.

Every function but `admin` makes its own client and closes it. Errors come as KafkaException;
`refusal` runs a call that must fail and says with which error.
"""

import functools
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

TIMEOUT_S = 60.0


@functools.lru_cache(maxsize=1)
def admin(bootstrap: str) -> AdminClient:
    """The one client that is kept: its calls end when it does."""
    return AdminClient(
        {
            "bootstrap.servers": bootstrap,
            "reconnect.backoff.max.ms": 200,
            # Else a client whose only broker restarts gives that broker up for seconds.
            "metadata.recovery.strategy": "none",
            "log_level": 0,
        }
    )


def name(purpose: str) -> str:
    """A name that nothing else has."""
    return f"{purpose}-{uuid.uuid4().hex[:12]}"


def advertised(bootstrap: str) -> str:
    """The address that a client which came to `bootstrap` is told to use."""
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    (broker,) = client.list_topics(timeout=TIMEOUT_S).brokers.values()
    return f"{broker.host}:{broker.port}"


def create_topic(
    bootstrap: str,
    topic: str | None = None,
    partitions: int = 1,
    configs: Mapping[str, str] | None = None,
) -> str:
    topic = topic or name("topic")
    new = NewTopic(topic, partitions, 1, config=dict(configs or {}))
    admin(bootstrap).create_topics([new])[topic].result(TIMEOUT_S)
    return topic


def delete_topic(bootstrap: str, topic: str) -> None:
    admin(bootstrap).delete_topics([topic])[topic].result(TIMEOUT_S)


def produce(
    bootstrap: str,
    topic: str,
    values: Sequence[bytes | str],
    partition: int = 0,
    timestamps: Sequence[int] | None = None,
    **settings: Any,
) -> list[int]:
    """Produce in one batch, for a flush ends the lingering. The offset of each."""
    config = {"bootstrap.servers": bootstrap, "linger.ms": 5000, "log_level": 0}
    producer = Producer({**config, **{k.replace("_", "."): v for k, v in settings.items()}})
    offsets: list[int] = []
    errors: list[Any] = []

    def delivered(error: Any, message: Message) -> None:
        if error is None:
            offsets.append(message.offset() or 0)
        else:
            errors.append(error)

    # Records that wait for the topic's metadata may leave in several batches.
    producer.list_topics(topic, TIMEOUT_S)
    for index, value in enumerate(values):
        stamp: dict[str, Any] = {"timestamp": timestamps[index]} if timestamps else {}
        producer.produce(topic, value, partition=partition, on_delivery=delivered, **stamp)
    assert producer.flush(TIMEOUT_S) == 0, "no answer came"
    if errors:
        raise KafkaException(errors[0])
    return offsets


def consumer(bootstrap: str, group: str | None = None, **settings: Any) -> Consumer:
    config = {
        "bootstrap.servers": bootstrap,
        "group.id": group or name("group"),
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "log_level": 0,
    }
    return Consumer({**config, **{k.replace("_", "."): v for k, v in settings.items()}})


def read(
    bootstrap: str,
    topic: str,
    count: int,
    offset: int = 0,
    partition: int = 0,
    **settings: Any,
) -> list[Message]:
    """So many records of one partition, from an offset on."""
    reader = consumer(bootstrap, **settings)
    reader.assign([TopicPartition(topic, partition, offset)])
    messages: list[Message] = []
    try:
        while len(messages) < count:
            message = reader.poll(TIMEOUT_S)
            assert message is not None, f"{len(messages)} of {count} records of {topic} came"
            if error := message.error():
                raise KafkaException(error)
            messages.append(message)
    finally:
        reader.close()
    return messages


def read_all(bootstrap: str, topic: str, partition: int = 0) -> list[Message]:
    """All records of one partition that are there, and committed."""
    reader = consumer(bootstrap, enable_partition_eof=True)
    reader.assign([TopicPartition(topic, partition, 0)])
    messages: list[Message] = []
    try:
        while True:
            message = reader.poll(TIMEOUT_S)
            assert message is not None, f"no end of {topic} came after {len(messages)} records"
            if (error := message.error()) is None:
                messages.append(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                return messages
            else:
                raise KafkaException(error)
    finally:
        reader.close()


def values(messages: Sequence[Message]) -> list[bytes | None]:
    return [message.value() for message in messages]


def watermarks(bootstrap: str, topic: str, partition: int = 0) -> tuple[int, int]:
    """The first offset there is and the next that will be written."""
    client = admin(bootstrap)
    place = TopicPartition(topic, partition)
    low, high = (
        client.list_offsets({place: spec})[place].result(TIMEOUT_S).offset
        for spec in (OffsetSpec.earliest(), OffsetSpec.latest())
    )
    return low, high


def offset_at(bootstrap: str, topic: str, timestamp: int) -> int:
    """The first offset of a topic's first partition whose record is of that time or later."""
    reader = consumer(bootstrap)
    try:
        (found,) = reader.offsets_for_times([TopicPartition(topic, 0, timestamp)], TIMEOUT_S)
    finally:
        reader.close()
    return found.offset


def committed(bootstrap: str, group: str, topic: str, partition: int = 0) -> TopicPartition:
    reader = consumer(bootstrap, group)
    try:
        (found,) = reader.committed([TopicPartition(topic, partition)], TIMEOUT_S)
    finally:
        reader.close()
    return found


def commit(bootstrap: str, group: str, *offsets: TopicPartition) -> None:
    reader = consumer(bootstrap, group)
    try:
        reader.commit(offsets=list(offsets), asynchronous=False)
    finally:
        reader.close()


def topic_configs(bootstrap: str, topic: str) -> dict[str, ConfigEntry]:
    return configs(bootstrap, ResourceType.TOPIC, topic)


def configs(bootstrap: str, kind: ResourceType, resource_name: str) -> dict[str, ConfigEntry]:
    resource = ConfigResource(kind, resource_name)
    described = admin(bootstrap).describe_configs([resource])[resource].result(TIMEOUT_S)
    return dict(described)


def alter(
    bootstrap: str,
    topic: str,
    setting: str,
    value: str | None,
    operation: AlterConfigOpType = AlterConfigOpType.SET,
) -> None:
    """One incremental change to one setting of a topic."""
    entry = ConfigEntry(setting, value, incremental_operation=operation)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin(bootstrap).incremental_alter_configs([resource])[resource].result(TIMEOUT_S)


def refusal(call: Callable[..., Any], *arguments: Any, **named: Any) -> int:
    """Run a call that must be refused: the error's code."""
    with pytest.raises(KafkaException) as caught:
        call(*arguments, **named)
    code: int = caught.value.args[0].code()
    return code


def until(condition: Callable[[], object], timeout_s: float = TIMEOUT_S) -> None:
    """Wait for something that another thread or the broker brings about."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {timeout_s} s"
        time.sleep(0.02)
