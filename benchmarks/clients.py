"""`python -m benchmarks.clients`: our Producer and Consumer beside plain confluent-kafka.

All in one run, against one broker, in turns: what counts is the ratio, for the figures themselves
are the machine's. Plain readers read the same fields that an Event has. Plain writers come twice,
because a report of each delivery costs more than sending: ours always have them. Rates are of the
best of ROUNDS; values are 100 bytes, sent and read as they are.
"""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import confluent_kafka
from tests.broker_process import BrokerProcess
from tests.foreign import create_topic

from kafkaesque import Consumer, Producer

EVENTS = 200_000
ROUNDS = 3
VALUE = b"x" * 100
FORMS: dict[str, Any] = {"key": "bytes", "value": "bytes"}
# Without the last one, a plain consumer may stand still for a second when it has read ahead.
READING = {"group.id": "plain", "enable.auto.commit": False, "fetch.queue.backoff.ms": 10}
TUNING = {"linger.ms": 20, "batch.num.messages": 100_000, "compression.type": "lz4"}


def plain_produce(brokers: str, topic: str) -> float:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": brokers, "queue.buffering.max.messages": 500_000, **TUNING}
    )
    start = time.perf_counter()
    for _ in range(EVENTS):
        producer.produce(topic, VALUE)
    producer.flush()
    return EVENTS / (time.perf_counter() - start)


def plain_produce_with_reports(brokers: str, topic: str) -> float:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": brokers, "queue.buffering.max.messages": 500_000, **TUNING}
    )
    places: list[Any] = []

    def delivered(error: Any, message: Any) -> None:
        places.append((message.partition(), message.offset()))

    start = time.perf_counter()
    for _ in range(EVENTS):
        producer.produce(topic, VALUE, on_delivery=delivered)
        producer.poll(0)
    producer.flush()
    return EVENTS / (time.perf_counter() - start)


def send(brokers: str, topic: str) -> float:
    with Producer(brokers, topic, profile="throughput", **FORMS) as producer:
        start = time.perf_counter()
        for _ in range(EVENTS):
            producer.send(topic, VALUE)
        producer.flush()
        return EVENTS / (time.perf_counter() - start)


async def send_async(brokers: str, topic: str) -> float:
    async with Producer(brokers, topic, profile="throughput", **FORMS) as producer:
        start = time.perf_counter()
        await producer.send_many(topic, (VALUE for _ in range(EVENTS)))
        return EVENTS / (time.perf_counter() - start)


def plain_consume(brokers: str, topic: str, size: int = 1000) -> float:
    consumer = confluent_kafka.Consumer({"bootstrap.servers": brokers, **READING})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    count, start = 0, 0.0
    while count < EVENTS:
        for message in consumer.consume(size, 0.05):
            if message.error() is None:
                _fields(message)
                count += 1
        start = start or time.perf_counter()
    rate = EVENTS / (time.perf_counter() - start)
    consumer.close()
    return rate


def plain_poll(brokers: str, topic: str) -> float:
    consumer = confluent_kafka.Consumer({"bootstrap.servers": brokers, **READING})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    count, start = 0, 0.0
    while count < EVENTS:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            _fields(message)
            count += 1
            start = start or time.perf_counter()
    rate = EVENTS / (time.perf_counter() - start)
    consumer.close()
    return rate


def read(brokers: str, topic: str) -> float:
    with Consumer(topic, brokers, **FORMS) as consumer:
        start = 0.0
        for count, _ in enumerate(consumer, 1):
            start = start or time.perf_counter()
            if count == EVENTS:
                return EVENTS / (time.perf_counter() - start)
    raise AssertionError("it has no end")


async def read_async(brokers: str, topic: str) -> float:
    async with Consumer(topic, brokers, **FORMS) as consumer:
        start, count = 0.0, 0
        async for _ in consumer:
            start = start or time.perf_counter()
            count += 1
            if count == EVENTS:
                return EVENTS / (time.perf_counter() - start)
    raise AssertionError("it has no end")


def _fields(message: Any) -> tuple[Any, ...]:
    return (
        message.topic(),
        message.partition(),
        message.offset(),
        message.timestamp(),
        message.key(),
        message.value(),
        message.headers(),
    )


def _run(job: Callable[[str, str], Any], brokers: str, topic: str) -> float:
    made: float | Awaitable[float] = job(brokers, topic)
    return made if isinstance(made, float) else asyncio.run(_awaited(made))


async def _awaited(made: Awaitable[float]) -> float:
    return await made


def _print(title: str, rates: dict[str, float], plain: str) -> None:
    print(f"\n{title:<34}{'events/s':>12}{'of plain':>10}")
    for name, rate in rates.items():
        print(f"{name:<34}{rate:>12,.0f}{rate / rates[plain]:>10.2f}")


def main() -> None:
    writers: dict[str, Any] = {
        "plain produce, no reports": plain_produce,
        "plain produce, with reports": plain_produce_with_reports,
        "Producer.send": send,
        "Producer.send_many, async": send_async,
    }
    readers: dict[str, Any] = {
        "plain consume(1000)": plain_consume,
        "plain poll": plain_poll,
        "Consumer, for": read,
        "Consumer, async for": read_async,
    }
    with (
        tempfile.TemporaryDirectory() as directory,
        BrokerProcess(Path(directory) / "data") as broker,
    ):
        full = create_topic(broker.bootstrap)
        _run(plain_produce, broker.bootstrap, full)
        for title, jobs, plain in (
            ("produce", writers, "plain produce, with reports"),
            ("consume", readers, "plain consume(1000)"),
        ):
            best = dict.fromkeys(jobs, 0.0)
            for _ in range(ROUNDS):
                for name, job in jobs.items():
                    topic = full if title == "consume" else create_topic(broker.bootstrap)
                    best[name] = max(best[name], _run(job, broker.bootstrap, topic))
            _print(title, best, plain)


if __name__ == "__main__":
    main()
