"""`python -m benchmarks.offsets`: how long a broker with a million offsets takes to start.

Commits for many groups, stops the broker, and starts it again: until a client has been told an
offset that was committed. Prints that beside the start of a broker with the same topic, and no
offsets.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.drive import create_topic
from confluent_kafka import OFFSET_INVALID, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.broker_process import BrokerProcess

TOPIC = "orders"
FIRST_OFFSET = 1_000_000
NO_OFFSET = OFFSET_INVALID
LIMIT_SECONDS = 2.0


def group_name(number: int) -> str:
    return f"some-consumer-group-{number}"


def commit(admin: AdminClient, group: int, partitions: range) -> None:
    offsets = [
        TopicPartition(TOPIC, partition, FIRST_OFFSET + partition) for partition in partitions
    ]
    wanted = ConsumerGroupTopicPartitions(group_name(group), offsets)
    for future in admin.alter_consumer_group_offsets([wanted]).values():
        future.result()


def fill(bootstrap: str, groups: int, partitions: int, at_once: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for group in range(groups):
        for first in range(0, partitions, at_once):
            commit(admin, group, range(first, min(first + at_once, partitions)))


def committed(bootstrap: str, group: int, partition: int) -> int:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    wanted = ConsumerGroupTopicPartitions(group_name(group), [TopicPartition(TOPIC, partition)])
    (answer,) = admin.list_consumer_group_offsets([wanted]).values()
    offset: int = answer.result().topic_partitions[0].offset
    return offset


def restart(broker: BrokerProcess, expected: int, rounds: int) -> tuple[float, float]:
    """Median seconds from the start of the process until it listens, and until it has answered."""
    listening, answered = [], []
    for _ in range(rounds):
        broker.stop()
        start = time.perf_counter()
        broker.start()
        listening.append(time.perf_counter() - start)
        offset = committed(broker.bootstrap, 0, 0)
        answered.append(time.perf_counter() - start)
        if offset != expected:
            raise RuntimeError(f"offset {offset} came back, {expected} was committed")
    return statistics.median(listening), statistics.median(answered)


def run(groups: int, partitions: int, at_once: int, rounds: int) -> None:
    directory = tempfile.TemporaryDirectory()
    with directory, BrokerProcess(Path(directory.name) / "data") as broker:
        create_topic(broker.bootstrap, TOPIC, partitions)
        bare = restart(broker, NO_OFFSET, rounds)
        start = time.perf_counter()
        fill(broker.bootstrap, groups, partitions, at_once)
        filling = time.perf_counter() - start
        full = restart(broker, FIRST_OFFSET, rounds)
        resident = broker.rss_bytes / 1e6
    print(f"{groups} groups x {partitions} partitions, {at_once} in a commit ({filling:.0f} s)")
    print("process start to         listening   an offset is told   median of", rounds)
    print(f"no offsets               {bare[0]:6.2f} s      {bare[1]:6.2f} s")
    print(f"{groups * partitions:,} offsets        {full[0]:6.2f} s      {full[1]:6.2f} s")
    print(f"ratio                    {full[0] / bare[0]:6.1f}        {full[1] / bare[1]:6.1f}")
    verdict = "held" if full[1] < LIMIT_SECONDS else "MISSED"
    print(f"under {LIMIT_SECONDS:.0f} s: {verdict}; memory with all offsets {resident:.0f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=1000, help="partitions in one commit")
    parser.add_argument("--rounds", type=int, default=3)
    told = parser.parse_args()
    run(told.groups, told.partitions, told.at_once, told.rounds)
