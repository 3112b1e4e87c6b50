"""The round trip: a record is produced, acknowledged and consumed; then the next. 1 KB.

At idle, and while another process writes to another topic at half of what Kafka took at most in the
warm-up of the same run: the same load for every subject.
"""

from collections.abc import Iterator

from benchmarks import drive
from benchmarks.background import loading
from benchmarks.figures.figure import Figure, Measured, percentiles
from benchmarks.peers.peer import Kind
from benchmarks.subject import Subject

TRIPS = 3000
PERCENTS = (50, 99, 99.9)


def measure(subject: Subject) -> Iterator[Measured]:
    count = subject.scaled(TRIPS)
    with subject.topic() as topic:
        times = drive.round_trips_ms(subject.bootstrap, topic, 0, count)
        yield from percentiles("round trip", times, *PERCENTS)
        rate = subject.half_load_mb_per_s
        with subject.topic() as other, loading(subject.bootstrap, other, rate):
            times = drive.round_trips_ms(subject.bootstrap, topic, count, count)
        yield from percentiles("round trip at half load", times, *PERCENTS)


TRIP = Figure(
    "trip",
    "A record of 1 KB is produced, acknowledged and consumed; then the next. *At half load*: "
    "another process writes to another topic at half the rate that Kafka took in the warm-up.",
    measure,
    kinds=(Kind.DEFAULT, Kind.CACHED, Kind.SYNCED),
)
