"""The round trip: a record is produced, acknowledged and consumed; then the next. 1 KB.

At idle, and while another process writes to another topic at half of what Kafka took just before:
the same load for every subject, and how much of it arrived is measured, too.
"""

import time
from collections.abc import Iterator
from dataclasses import replace

from benchmarks import drive, machine
from benchmarks.background import loading
from benchmarks.figures.figure import Figure, Measured, Start, percentiles
from benchmarks.peers.peer import Kind
from benchmarks.subject import Subject

TRIPS = 3000
PERCENTS = (50, 99, 99.9)
HALF_LOAD_BYTES = 1e9
"""What the other process writes at most during the trips of a full run, roughly."""


def measure(subject: Subject) -> Iterator[Measured]:
    count = subject.scaled(TRIPS)
    with subject.topic() as topic:
        times = drive.round_trips_ms(subject.bootstrap, topic, 0, count)
        yield from percentiles("round trip", times, *PERCENTS)
        yield from _at_half_load(subject, topic, count)


def _at_half_load(subject: Subject, topic: str, count: int) -> Iterator[Measured]:
    machine.warm_memory(subject.scratch, HALF_LOAD_BYTES * subject.scale)
    rate = subject.half_load_mb_per_s
    with subject.topic() as other, loading(subject.bootstrap, other, rate):
        before, start = drive.records(subject.bootstrap, other, 1), time.perf_counter()
        times = drive.round_trips_ms(subject.bootstrap, topic, count, count)
        arrived = drive.records(subject.bootstrap, other, 1) - before
        elapsed = time.perf_counter() - start
    yield from percentiles("round trip at half load", times, *PERCENTS)
    yield Measured("half load", "MB/s", arrived * len(drive.VALUE) / 1e6 / elapsed)


TRIP = Figure(
    "trip",
    "A record of 1 KB is produced, acknowledged and consumed; then the next. *At half load*: "
    "another process writes to another topic at half the rate that Kafka took of the plain load "
    "just before; the row of that name has how much of it arrived.",
    measure,
    kinds=(Kind.DEFAULT, Kind.CACHED, Kind.SYNCED),
    start=Start.STARTED,
    half_load=True,
    rounds=4,
)
TRIP_WARM = replace(
    TRIP,
    name="trip-warm",
    meaning="The same as `trip`, when Java has compiled what it takes.",
    start=Start.WARM,
    rounds=3,
)
