"""How fast records go in and out, and the broker's CPU time for that: 1 KB, and many other loads.

The first is apart because the bars are about it, and because Kafka made to sync takes part in it.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from benchmarks.drive import Load
from benchmarks.figures.figure import Figure, Measured, Start
from benchmarks.peers.peer import Kind
from benchmarks.subject import Subject

PLAIN = Load(megabytes=500)
MEGABYTES_BY_SIZE = {100: 60, 1024: 250, 10_240: 400}
SMALL_AND_MANY = Load(100, MEGABYTES_BY_SIZE[100], partitions=100, producers=10)
SPREAD = replace(SMALL_AND_MANY, megabytes=20, spread=True)
LOADS = (
    *(
        Load(size, megabytes, partitions, producers)
        for (size, megabytes), partitions, producers in product(
            MEGABYTES_BY_SIZE.items(), (1, 100), (1, 10)
        )
        if (size, partitions, producers) != (PLAIN.size, PLAIN.partitions, PLAIN.producers)
    ),
    SPREAD,
)


def title(load: Load) -> str:
    size = f"{load.size} B" if load.size < 1024 else f"{load.size // 1024} KB"
    many = f"{load.partitions} partition{'s' * (load.partitions > 1)}"
    spread = ", spread" * load.spread
    return f"{size}, {many}, {load.producers} producer{'s' * (load.producers > 1)}{spread}"


def measure_plain(subject: Subject) -> Iterator[Measured]:
    """Never less of it: the client's queue alone would take in 100 MB."""
    yield from _both_ways(subject, PLAIN)


def measure_loads(subject: Subject) -> Iterator[Measured]:
    for load in LOADS:
        yield from _both_ways(subject, replace(load, megabytes=load.megabytes * subject.scale))


def _both_ways(subject: Subject, load: Load) -> Iterator[Measured]:
    with subject.topic(load.partitions) as topic:
        produced = subject.produce(topic, load)
        consumed = subject.consume(topic, load)
    for way, rate in (("produce", produced), ("consume", consumed)):
        yield Measured(f"{way} {title(load)}", "MB/s", rate.mb_per_s)
        yield Measured(f"{way} {title(load)}", "CPU-s/GB", rate.cpu_s_per_gb)


RATE = Figure(
    "rate",
    "The plain load: 500 MB in records of 1 KB to one partition from one producer, then read from "
    "the start. MB are of values, 10⁶ bytes. CPU-s/GB is the time of the broker's process.",
    measure_plain,
    kinds=(Kind.DEFAULT, Kind.CACHED, Kind.SYNCED),
    start=Start.STARTED,
    rounds=4,
)
RATE_WARM = replace(
    RATE,
    name="rate-warm",
    meaning="The same as `rate`, when Java has compiled what it takes.",
    start=Start.WARM,
    rounds=3,
)
LOADS_FIGURE = Figure(
    "loads",
    "The same for other sizes, numbers of partitions and numbers of producers. With many "
    "partitions librdkafka stays with one of them for 10 ms, as it does by default for records "
    "without a key; *spread*: each record goes to the next partition, which makes the smallest "
    "batches and the most requests.",
    measure_loads,
)
