"""`python -m benchmarks.restart`: how long a broker with much data takes to its first fetch.

Fills partitions, then starts the broker again after a clean stop, and after a kill -9 that follows
some more records; prints both beside the start of an empty broker.
"""

import argparse
import re
import tempfile
import time
from pathlib import Path

from benchmarks.drive import VALUE, create_topic
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.broker_process import BrokerProcess

TOPIC = "big"


def fill(bootstrap: str, partitions: int, gigabytes: float) -> None:
    value = VALUE * 64
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "batch.size": 1_000_000,
            "linger.ms": 20,
            "acks": "all",
            "log_level": 0,
        }
    )
    for number in range(int(gigabytes * 1e9 / len(value))):
        while True:
            try:
                producer.produce(TOPIC, value, partition=number % partitions)
                break
            except BufferError:
                producer.poll(0.05)
    producer.flush()


def first_fetch(broker: BrokerProcess) -> float:
    """Seconds from the start of the process to the first record of a partition."""
    start = time.perf_counter()
    broker.start()
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "restart"})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    message = consumer.poll(60)
    elapsed = time.perf_counter() - start
    consumer.close()
    if message is None or message.error():
        raise RuntimeError(f"no record after the restart: {message and message.error()}")
    return elapsed


def run(partitions: int, gigabytes: float) -> None:
    with tempfile.TemporaryDirectory() as directory:
        start = time.perf_counter()
        with BrokerProcess(Path(directory) / "empty"):
            baseline = time.perf_counter() - start
        data = Path(directory) / "data"
        with BrokerProcess(data, "--set", "write.caching.default=true") as broker:
            create_topic(broker.bootstrap, TOPIC, partitions)
            fill(broker.bootstrap, partitions, gigabytes)
            broker.stop()
            clean = first_fetch(broker)
            fill(broker.bootstrap, partitions, gigabytes / 100)
            broker.kill()
            before = len(broker.log)
            killed = first_fetch(broker)
            scanned = re.findall(r"scanned (\d+) bytes", broker.log[before:])
    print(f"{partitions} partitions, {gigabytes} GB; process start to first fetched record")
    print(f"empty broker, to listening  {baseline:.2f} s")
    print(f"after a clean stop          {clean:.2f} s, {clean / baseline:.1f} times that")
    print(f"after kill -9               {killed:.2f} s, {killed / baseline:.1f} times that")
    print(f"bytes scanned for that      {int(scanned[0]) if scanned else 0:,}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--gigabytes", type=float, default=10)
    arguments = parser.parse_args()
    run(arguments.partitions, arguments.gigabytes)
