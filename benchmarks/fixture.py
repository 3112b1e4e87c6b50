"""`python -m benchmarks.fixture`: how long a test waits for a broker and its first event.

From the start of the fixture `kafka` to the first acknowledged event, with confluent-kafka's
producer and its defaults, which creates the topic as it goes: thirty times in one process, as in a
test suite, and once in each of five new processes, with all imports. Beside it Apache Kafka from
its own start, in the same run. testcontainers would start that in a container: it takes Docker,
and longer, and is not measured.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from confluent_kafka import Producer

STAGES = ("broker listens", "producer made", "event acknowledged", "broker closed")
ACKNOWLEDGED = STAGES.index("event acknowledged")
NEW_PROCESS = f"from benchmarks.fixture import fixture; print(fixture()[{ACKNOWLEDGED}])"


def fixture() -> list[float]:
    """Seconds from the start to each of the stages."""
    start = time.perf_counter()
    from confluent_kafka import Producer

    from kafkaesque.testing import Kafka

    with Kafka() as kafka:
        times = [time.perf_counter()]
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
        times.append(time.perf_counter())
        acknowledge(producer)
        times.append(time.perf_counter())
        del producer
        closing = time.perf_counter()
    times.append(times[-1] + time.perf_counter() - closing)
    return [moment - start for moment in times]


def acknowledge(producer: "Producer") -> None:
    """Produce an event, and wait until it is acknowledged."""
    reports: list[object] = []
    producer.produce("new", b"event", on_delivery=lambda error, _: reports.append(error))
    producer.flush(60)
    if reports != [None]:
        raise RuntimeError(f"the event was not acknowledged: {reports}")


def first_fixture() -> float:
    """The first of a process that has imported nothing yet."""
    command = [sys.executable, "-c", NEW_PROCESS]
    return float(subprocess.run(command, check=True, capture_output=True).stdout)


def apache_kafka() -> float:
    from confluent_kafka import Producer
    from tests.compat.apache_kafka import ApacheKafka

    with tempfile.TemporaryDirectory() as directory:
        peer = ApacheKafka(Path(directory) / "data")
        start = time.perf_counter()
        try:
            peer.start()
            acknowledge(Producer({"bootstrap.servers": peer.bootstrap}))
            return time.perf_counter() - start
        finally:
            peer.stop()


def run(rounds: int, other_rounds: int) -> None:
    fixture()
    rows = [fixture() for _ in range(rounds)]
    print(f"a fresh fixture, milliseconds from its start, median of {rounds} and the worst")
    for stage, times in zip(STAGES, zip(*rows, strict=True), strict=True):
        print(f"  {stage:20} {median(times) * 1000:7.1f} {max(times) * 1000:7.1f}")
    ours = median(row[ACKNOWLEDGED] for row in rows)
    first = median(first_fixture() for _ in range(other_rounds))
    theirs = median(apache_kafka() for _ in range(other_rounds))
    print(f"start to first acknowledged event, median of {other_rounds}")
    print(f"  first fixture of a process, with its imports {first:6.2f} s")
    print(f"  Apache Kafka                                 {theirs:6.2f} s")
    print(f"ratio: {theirs / ours:.0f} fixtures, or {theirs / first:.1f} first ones, in that time")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--other-rounds", type=int, default=5)
    arguments = parser.parse_args()
    run(arguments.rounds, arguments.other_rounds)
