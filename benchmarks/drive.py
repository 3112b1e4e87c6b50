"""One client for every broker: confluent-kafka, the same settings, acks=all.

On a small machine the client takes as much of it as the broker does: so the broker's own CPU time
is measured beside the wall's, many producers are many librdkafka clients fed in turns by one thread
(ten threads cost a tenth more), and arrival is counted in the log, because a callback in Python for
each record would cost the client more than all else.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.process import cpu_seconds
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

VALUE = os.urandom(1024)
QUEUE_MESSAGES = 100_000
QUEUE_KB = 128 * 1024
CLIENT_BYTES = 2 * QUEUE_KB * 1024
"""What the client itself takes at most, roughly: its queue, and what is on its way."""
QUIET = {"log_level": 0}
NOT_YET = (
    KafkaError._NOENT,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
)


class Rate(NamedTuple):
    mb_per_s: float
    cpu_s_per_gb: float


@dataclass(frozen=True, slots=True)
class Load:
    """What is sent to a topic. `spread`: each record to the next partition, as keys would do;
    else librdkafka stays with a partition for a while, which makes larger batches."""

    size: int = len(VALUE)
    megabytes: float = 300
    partitions: int = 1
    producers: int = 1
    spread: bool = False

    @property
    def count(self) -> int:
        return int(self.megabytes * 1e6 / self.size)


def create_topic(bootstrap: str, name: str, partitions: int = 1, **configs: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    for done in admin.create_topics([NewTopic(name, partitions, 1, config=configs)]).values():
        done.result()
    _await_leaders(bootstrap, name, partitions)


def _await_leaders(bootstrap: str, topic: str, partitions: int) -> None:
    """Kafka says that a topic is there before all of its partitions answer."""
    deadline = time.monotonic() + 30
    while True:
        try:
            records(bootstrap, topic, partitions)
            return
        except KafkaException as error:
            if time.monotonic() > deadline or error.args[0].code() not in NOT_YET:
                raise
            time.sleep(0.05)


def delete_topic(bootstrap: str, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    for done in admin.delete_topics([name]).values():
        done.result()


def produce(bootstrap: str, pid: int, topic: str, load: Load) -> Rate:
    before = records(bootstrap, topic, load.partitions)
    producers = [_producer(bootstrap, load.producers) for _ in range(load.producers)]
    for producer in producers:
        producer.list_topics(topic, 30)
    cpu, start = cpu_seconds(pid), time.perf_counter()
    _send(producers, topic, load)
    rate = _rate(load, cpu_seconds(pid) - cpu, time.perf_counter() - start)
    arrived = records(bootstrap, topic, load.partitions) - before
    if arrived != load.count:
        raise RuntimeError(f"{arrived} of {load.count} records arrived")
    return rate


def _producer(bootstrap: str, producers: int) -> Producer:
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            "acks": "all",
            "linger.ms": 5,
            "batch.size": 1_000_000,
            "queue.buffering.max.messages": QUEUE_MESSAGES // producers,
            "queue.buffering.max.kbytes": QUEUE_KB // producers,
            **QUIET,
        }
    )


def _send(producers: list[Producer], topic: str, load: Load) -> None:
    value = (VALUE * (load.size // len(VALUE) + 1))[: load.size]
    for number in range(load.count):
        producer = producers[number % len(producers)]
        partition = number % load.partitions if load.spread else -1
        while True:
            try:
                producer.produce(topic, value, partition=partition)
                break
            except BufferError:
                producer.poll(0.01)
    for producer in producers:
        producer.flush()


def records(bootstrap: str, topic: str, partitions: int) -> int:
    """How many have been written to the topic so far, by its log."""
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    places = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(partitions)}
    found = admin.list_offsets(places)
    return sum(each.result(60).offset for each in found.values())


def consume(bootstrap: str, pid: int, topic: str, load: Load, offset: int = 0) -> Rate:
    consumer = assigned_consumer(bootstrap, topic, offset, load.partitions)
    cpu, start = cpu_seconds(pid), time.perf_counter()
    read(consumer, load.count)
    rate = _rate(load, cpu_seconds(pid) - cpu, time.perf_counter() - start)
    places = consumer.position([TopicPartition(topic, n) for n in range(load.partitions)])
    got = sum(place.offset - offset for place in places if place.offset >= 0)
    if got != load.count:
        raise RuntimeError(f"{got} of {load.count} records were read")
    consumer.close()
    return rate


def read(consumer: Consumer, count: int) -> None:
    seen = 0
    while seen < count:
        # It waits for as many as it is asked for: more than there are would cost all the time.
        messages = consumer.consume(min(10_000, count - seen), 30)
        if not messages:
            raise RuntimeError(f"nothing more after {seen} of {count} records")
        seen += len(messages)


def round_trips_ms(
    bootstrap: str, topic: str, offset: int, count: int, partitions: int = 1
) -> list[float]:
    """Produce acknowledged, then consumed, one at a time, to one partition after the other."""
    consumer = assigned_consumer(bootstrap, topic, offset, partitions)
    producer = eager_producer(bootstrap)
    consumer.poll(0.5)
    times = []
    for number in range(count):
        start = time.perf_counter()
        producer.produce(topic, VALUE, partition=number % partitions)
        producer.flush()
        message = consumer.poll(30)
        if message is None or message.error():
            raise RuntimeError("a record that was acknowledged did not arrive")
        times.append((time.perf_counter() - start) * 1000)
    consumer.close()
    return times


def acks_ms(
    bootstrap: str, topic: str, more: Callable[[int], bool], partitions: int = 1
) -> list[float]:
    """One record after the other, each acknowledged before the next, while `more(count)`."""
    producer = eager_producer(bootstrap)
    producer.list_topics(topic, 30)
    times: list[float] = []
    while more(len(times)):
        start = time.perf_counter()
        producer.produce(topic, VALUE, partition=len(times) % partitions)
        producer.flush()
        times.append((time.perf_counter() - start) * 1000)
    return times


def first_ack(bootstrap: str, topic: str) -> None:
    """Return when a record has been acknowledged, retrying until the broker is there."""
    settings = {"bootstrap.servers": bootstrap, "reconnect.backoff.ms": 10, **QUIET}
    producer = Producer({**settings, "reconnect.backoff.max.ms": 50, "on_delivery": _delivered})
    producer.produce(topic, VALUE)
    producer.flush()


def eager_producer(bootstrap: str) -> Producer:
    settings = {"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0, **QUIET}
    return Producer({**settings, "on_delivery": _delivered})


def _delivered(error: KafkaError | None, message: Message) -> None:
    """A refused record must not pass for a quick one; `flush` raises what is raised here."""
    if error is not None:
        raise RuntimeError(f"a record was not acknowledged: {error}")


def assigned_consumer(bootstrap: str, topic: str, offset: int, partitions: int = 1) -> Consumer:
    consumer = idle_consumer(bootstrap)
    consumer.assign([TopicPartition(topic, number, offset) for number in range(partitions)])
    return consumer


def idle_consumer(bootstrap: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench",
            "enable.auto.commit": False,
            "fetch.message.max.bytes": 4 << 20,
            # Else it does not fetch for a second whenever a broker was faster than the reader.
            "fetch.queue.backoff.ms": 1,
            **QUIET,
        }
    )


def _rate(load: Load, cpu_s: float, wall_s: float) -> Rate:
    megabytes = load.count * load.size / 1e6
    return Rate(megabytes / wall_s, cpu_s / (megabytes / 1000))
