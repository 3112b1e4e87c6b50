"""`python -m benchmarks`: Kafkaesque and Apache Kafka on this machine, in turns, as ratios.

Both are started fresh, driven by the same client with the same settings, in alternating rounds; the
medians are printed, and the ratio of ours to theirs. Kafka runs with its default settings, which
acknowledge before the bytes are on disk: `write.caching` is the like-for-like row, `durable` is
ours with fdatasync before each acknowledgement.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks import drive
from tests.broker_process import BrokerProcess
from tests.compat.apache_kafka import ApacheKafka
from tests.compat.peer import Peer

Figures = dict[str, float]


def measure(peer: Peer, topic: str, count: int) -> Figures:
    produced = drive.produce(peer.bootstrap, peer.pid, topic, count)
    consumed = drive.consume(peer.bootstrap, peer.pid, topic, count)
    trips = drive.round_trips_ms(peer.bootstrap, topic, count, 500)
    return {
        "produce MB/s": produced.mb_per_s,
        "produce CPU-s/GB": produced.cpu_s_per_gb,
        "consume MB/s": consumed.mb_per_s,
        "consume CPU-s/GB": consumed.cpu_s_per_gb,
        "round trip p50 ms": trips[len(trips) // 2],
        "round trip p99 ms": trips[len(trips) * 99 // 100],
    }


def cold_start(make: Callable[[Path], Peer], directory: Path) -> tuple[Peer, float]:
    peer = make(directory)
    start = time.perf_counter()
    peer.start()
    drive.first_ack(peer.bootstrap, "first")
    return peer, time.perf_counter() - start


def run(rounds: int, count: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        ours, our_start = cold_start(BrokerProcess, Path(directory) / "ours")
        theirs, their_start = cold_start(_kafka, Path(directory) / "kafka")
        results: dict[str, list[Figures]] = {"durable": [], "write.caching": [], "Kafka": []}
        try:
            for number in range(rounds):
                for kind, peer, configs in (
                    ("durable", ours, {}),
                    ("Kafka", theirs, {}),
                    ("write.caching", ours, {"write.caching": "true"}),
                ):
                    topic = f"{kind}-{number}"
                    drive.create_topic(peer.bootstrap, topic, **configs)
                    drive.warm_memory(Path(directory), count * len(drive.VALUE))
                    results[kind].append(measure(peer, topic, count))
        finally:
            ours.stop()
            theirs.stop()
    print(f"{rounds} rounds of {count} messages of 1 KB, one partition, acks=all; medians\n")
    print(f"cold start to first ack: {our_start:.2f} s, Kafka {their_start:.2f} s,", end=" ")
    print(f"ratio {our_start / their_start:.2f}\n")
    _print_table({kind: _medians(figures) for kind, figures in results.items()})


def _kafka(directory: Path) -> Peer:
    return ApacheKafka(directory, heap="1g")


def _medians(rounds: list[Figures]) -> Figures:
    return {name: median(figures[name] for figures in rounds) for name in rounds[0]}


def _print_table(medians: dict[str, Figures]) -> None:
    kafka = medians["Kafka"]
    print(f"{'':20}{'Kafka':>10}{'durable':>10}{'ratio':>8}{'caching':>10}{'ratio':>8}")
    for name, theirs in kafka.items():
        durable, caching = medians["durable"][name], medians["write.caching"][name]
        print(
            f"{name:20}{theirs:>10.2f}{durable:>10.2f}{durable / theirs:>8.2f}"
            f"{caching:>10.2f}{caching / theirs:>8.2f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=300_000, help="messages per round")
    arguments = parser.parse_args()
    run(arguments.rounds, arguments.count)
