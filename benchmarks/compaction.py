"""`python -m benchmarks.compaction`: a table of 100,000 keys, written 100 times over, is compacted.

Fills a topic, then has it compacted by setting cleanup.policy=compact, and reads it from the start:
what is left must equal a dict of what was written. Prints how long the pass took, how much memory
its child process needed for a key, and how long a durable produce to another topic takes meanwhile,
beside the same before. The probe waits for each record before it sends the next.
"""

import argparse
import os
import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import Queue, get_context
from multiprocessing.synchronize import Event
from pathlib import Path
from random import Random
from typing import TypeVar
from urllib.request import urlopen

from confluent_kafka import Consumer, Producer, TopicPartition
from tests import foreign
from tests.broker_process import BrokerProcess, free_port

T = TypeVar("T")

TABLE, FEW, PROBE = "table", "few", "probe"
SETTINGS = ("log.cleaner.backoff.ms=500", "log.flush.offset.checkpoint.interval.ms=1000")
_VALUE = b"%012d" + b"." * 88
_START_SECONDS = 1.0


@dataclass(frozen=True)
class Latency:
    p50_ms: float
    p99_ms: float
    count: int


def probe(bootstrap: str, is_over: Event, times: "Queue[list[float]]") -> None:
    """How long a durable record takes, one after the other, in milliseconds."""
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0})
    taken: list[float] = []
    while not is_over.is_set():
        start = time.perf_counter()
        producer.produce(PROBE, bytes(1024), partition=0)
        producer.flush(60)
        taken.append((time.perf_counter() - start) * 1000)
        time.sleep(0.002)
    times.put(sorted(taken))


def during(bootstrap: str, work: Callable[[], T]) -> tuple[Latency, T]:
    """The latency of a probe while something else goes on: in a process of its own, for what this
    one does meanwhile must not be measured.
    """
    context = get_context("spawn")
    is_over, times = context.Event(), context.Queue()
    process = context.Process(target=probe, args=(bootstrap, is_over, times))
    process.start()
    time.sleep(_START_SECONDS)
    result = work()
    is_over.set()
    taken = times.get()
    process.join()
    return Latency(taken[len(taken) // 2], taken[len(taken) * 99 // 100], len(taken)), result


def fill(bootstrap: str, topic: str, records: int, keys: int) -> dict[bytes, bytes]:
    """What somebody who reads all of it holds."""
    random, values = Random(records), {}
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 20,
            "batch.size": 100_000,
            "queue.buffering.max.kbytes": 200_000,
        }
    )
    for number in range(records):
        key, value = b"key-%07d" % random.randrange(keys), _VALUE % number
        while True:
            try:
                producer.produce(topic, value, key, partition=0)
                break
            except BufferError:
                producer.poll(0.05)
        values[key] = value
    producer.flush(120)
    return values


def read(bootstrap: str, topic: str) -> tuple[dict[bytes | None, bytes | None], int]:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "check", "enable.partition.eof": True}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: dict[bytes | None, bytes | None] = {}
    count = 0
    while True:
        for message in consumer.consume(10_000, 0.5):
            if message.error():
                consumer.close()
                return values, count
            values[message.key()] = message.value()
            count += 1


def seconds_of(metrics_url: str, topic: str) -> float:
    """How long the last pass took."""
    with urlopen(metrics_url, timeout=60) as page:
        text = page.read().decode()
    found = re.search(rf'last_duration_seconds{{topic="{topic}",partition="0"}} (\S+)', text)
    return float(found[1]) if found else -1.0


def size_of(broker: BrokerProcess, topic: str) -> int:
    return sum(path.stat().st_size for path in broker.segments(topic))


def compacted(broker: BrokerProcess, topic: str, look_seconds: float) -> int:
    """Have a topic compacted; the memory that the child took, as far as looks have shown.

    A look costs a core something, too, and there are two: so no more of them than it takes.
    """
    foreign.alter(broker.bootstrap, topic, "cleanup.policy", "compact")
    peak = 0
    while f"{topic}-0 is compacted" not in broker.log:
        time.sleep(look_seconds)
        peak = max(peak, _memory_of_child(broker.pid))
    return peak


def _memory_of_child(pid: int) -> int:
    """The most that it has had so far; 0 if there is none."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        try:
            status = Path(f"/proc/{child}/status").read_text()
        except OSError:
            continue
        if peak := re.search(r"VmHWM:\s+(\d+) kB", status):
            return int(peak[1]) * 1024
    return 0


def run(records: int, keys: int, quiet_seconds: float) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/metrics"
    options = [f"--metrics-port={port}", *(f"--set={setting}" for setting in SETTINGS)]
    with (
        tempfile.TemporaryDirectory() as directory,
        BrokerProcess(Path(directory) / "data", *options) as broker,
    ):
        bootstrap = broker.bootstrap
        configs = {"segment.bytes": str(32 << 20), "write.caching": "true"}
        small = {"segment.bytes": "1024"}
        for topic, given in ((TABLE, configs), (FEW, small), (PROBE, {})):
            foreign.create_topic(bootstrap, topic, configs=given)
        fill(bootstrap, FEW, 1000, 10)
        least = compacted(broker, FEW, 0.005)
        start = time.perf_counter()
        expected = fill(bootstrap, TABLE, records, keys)
        print(f"{records:,} records of {keys:,} keys, {size_of(broker, TABLE) / 1e6:,.0f} MB")
        print(f"written in                    {time.perf_counter() - start:6.1f} s")
        # What the kernel still has to write of it must not meet the probes.
        os.sync()
        time.sleep(3)
        quiet, _ = during(bootstrap, lambda: time.sleep(quiet_seconds))
        meanwhile, peak = during(bootstrap, lambda: compacted(broker, TABLE, 1.0))
        print(f"compacted in                  {seconds_of(url, TABLE):6.1f} s")
        print(f"bytes left                    {size_of(broker, TABLE) / 1e6:6.1f} MB")
        print(f"memory of the child           {peak / 1e6:6.1f} MB")
        print(f"  without keys                {least / 1e6:6.1f} MB")
        print(f"  for a key                   {(peak - least) / keys:6.0f} bytes")
        for name, latency in (("quiet", quiet), ("meanwhile", meanwhile)):
            print(
                f"durable produce, {name:9}    {latency.p50_ms:6.2f} ms p50, "
                f"{latency.p99_ms:6.2f} ms p99 of {latency.count}"
            )
        print(f"ratio of the p99              {meanwhile.p99_ms / quiet.p99_ms:6.2f}")
        values, count = read(bootstrap, TABLE)
        print(f"records read                  {count:,}")
        print(f"equals a dict                 {values == expected}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--quiet-seconds", type=float, default=20)
    arguments = parser.parse_args()
    run(arguments.records, arguments.keys, arguments.quiet_seconds)
