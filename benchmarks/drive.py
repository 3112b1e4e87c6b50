"""One client for every broker: confluent-kafka, the same settings, 1 KB messages, one partition.

Each function drives one figure and measures the broker's own CPU time beside the wall's, because on
a small machine the client takes as much of it as the broker does.
"""

import os
import time
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

VALUE = os.urandom(1024)
_TICKS = os.sysconf("SC_CLK_TCK")


class Rate(NamedTuple):
    mb_per_s: float
    cpu_s_per_gb: float


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def create_topic(bootstrap: str, name: str, **configs: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for done in admin.create_topics([NewTopic(name, 1, 1, config=configs)]).values():
        done.result()


def warm_memory(directory: Path, size: int) -> None:
    """Use as much memory as the page cache is about to need, and give it back.

    A virtual machine gets its memory from its host when it first touches it, and hands it back when
    it is free for a while. Whoever writes first then pays 2 s of kernel time per GB for both.
    """
    path = directory / "warm"
    block = bytes(1 << 20)
    with path.open("wb") as file:
        for _ in range(0, size * 3 // 2, len(block)):
            file.write(block)
    path.unlink()


def produce(bootstrap: str, pid: int, topic: str, count: int) -> Rate:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "acks": "all",
            "linger.ms": 5,
            "batch.size": 1_000_000,
            "queue.buffering.max.messages": 100_000,
        }
    )
    cpu, start = cpu_seconds(pid), time.perf_counter()
    for _ in range(count):
        while True:
            try:
                producer.produce(topic, VALUE)
                break
            except BufferError:
                producer.poll(0.05)
    producer.flush()
    rate = _rate(count, cpu_seconds(pid) - cpu, time.perf_counter() - start)
    # A callback for each record would cost the client more than all else: the log is counted.
    _require_records(bootstrap, topic, count)
    return rate


def _require_records(bootstrap: str, topic: str, count: int) -> None:
    consumer = _consumer(bootstrap, topic, 0)
    low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), 30)
    consumer.close()
    if high - low != count:
        raise RuntimeError(f"{high - low} of {count} records arrived")


def consume(bootstrap: str, pid: int, topic: str, count: int) -> Rate:
    consumer = _consumer(bootstrap, topic, 0)
    cpu, start = cpu_seconds(pid), time.perf_counter()
    seen = 0
    while seen < count:
        messages = consumer.consume(10_000, 30)
        if not messages:
            raise RuntimeError(f"nothing more after {seen} of {count} records")
        seen += len(messages)
    rate = _rate(count, cpu_seconds(pid) - cpu, time.perf_counter() - start)
    consumer.close()
    return rate


def round_trips_ms(bootstrap: str, topic: str, offset: int, count: int) -> list[float]:
    """Produce acknowledged, then consumed, one at a time; sorted."""
    consumer = _consumer(bootstrap, topic, offset)
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0})
    consumer.poll(0.5)
    times = []
    for _ in range(count):
        start = time.perf_counter()
        producer.produce(topic, VALUE)
        producer.flush()
        if consumer.poll(30) is None:
            raise RuntimeError("a record that was acknowledged did not arrive")
        times.append((time.perf_counter() - start) * 1000)
    consumer.close()
    return sorted(times)


def first_ack(bootstrap: str, topic: str) -> None:
    """Return when a record has been acknowledged, retrying until the broker is there."""
    settings = {"bootstrap.servers": bootstrap, "reconnect.backoff.ms": 10, "log_level": 0}
    producer = Producer({**settings, "reconnect.backoff.max.ms": 50})
    producer.produce(topic, VALUE)
    producer.flush()


def _consumer(bootstrap: str, topic: str, offset: int) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench",
            "enable.auto.commit": False,
            "fetch.message.max.bytes": 4 << 20,
        }
    )
    consumer.assign([TopicPartition(topic, 0, offset)])
    return consumer


def _rate(count: int, cpu_s: float, wall_s: float) -> Rate:
    megabytes = count * len(VALUE) / 1e6
    return Rate(megabytes / wall_s, cpu_s / (megabytes / 1000))
