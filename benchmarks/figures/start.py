"""Cold start: from nothing, not even a data directory, to the first acknowledged record."""

import time
from collections.abc import Iterator

from benchmarks import drive
from benchmarks.figures.figure import Figure, Measured, Start
from benchmarks.peers.peer import Kind
from benchmarks.subject import Subject


def measure(subject: Subject) -> Iterator[Measured]:
    start = time.perf_counter()
    with subject.running():
        drive.first_ack(subject.bootstrap, "first")
        yield Measured("cold start", "s", time.perf_counter() - start)


START = Figure(
    "start",
    "From an empty directory to the first acknowledged record, of a topic that is created by it. "
    "Kafka's includes the formatting of the directory, a process of its own.",
    measure,
    kinds=(Kind.DEFAULT,),
    start=Start.OWN,
    rounds=5,
)
