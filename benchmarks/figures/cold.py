"""A consumer that is far behind: how fast it reads from the disk, and what producers feel of it.

A producer at the head waits for each acknowledgement: alone, while a consumer reads from the page
cache, and while one reads what has been dropped from it. The second tells what the reader's own use
of the cores costs from what the disk costs.
"""

import os
from collections.abc import Iterator
from contextlib import closing

from benchmarks import drive, machine
from benchmarks.background import Reader
from benchmarks.drive import Load
from benchmarks.figures.figure import Figure, Measured, percentile
from benchmarks.subject import Subject

BEHIND = Load(megabytes=1000)
ALONE = 2000


def measure(subject: Subject) -> Iterator[Measured]:
    load = Load(megabytes=BEHIND.megabytes * subject.scale)
    with subject.topic() as behind, subject.topic() as head:
        subject.produce(behind, load)
        segments = sorted((subject.broker.data_dir / f"{behind}-0").glob("*.log"))
        # What still has to reach the disk would slow down the head, and not the reader.
        os.sync()
        count = subject.scaled(ALONE)
        alone = drive.acks_ms(subject.bootstrap, head, lambda sent: sent < count)
        cached_rate, beside_cached = _beside_reader(subject, behind, head, load)
        machine.drop_from_cache(segments)
        cold_rate, beside_cold = _beside_reader(subject, behind, head, load)
    yield Measured("read from the page cache", "MB/s", cached_rate)
    yield Measured("read from the disk", "MB/s", cold_rate)
    p99, p99_cached, p99_cold = (
        percentile(times, 99) for times in (alone, beside_cached, beside_cold)
    )
    yield Measured("acknowledgement alone, p99", "ms", p99)
    yield Measured("acknowledgement beside a cached reader, p99", "ms", p99_cached)
    yield Measured("acknowledgement beside a cold reader, p99", "ms", p99_cold)
    yield Measured("acknowledgement, cold reader to cached reader, p99", "×", p99_cold / p99_cached)
    yield Measured("acknowledgement, cold reader to alone, p99", "×", p99_cold / p99)


def _beside_reader(
    subject: Subject, behind: str, head: str, load: Load
) -> tuple[float, list[float]]:
    """The reader's rate, and the times of the acknowledgements while it read."""
    with closing(Reader(subject.bootstrap, behind, load.count)) as reader:
        reader.go()
        times = drive.acks_ms(subject.bootstrap, head, lambda sent: reader.reads)
        return load.megabytes / reader.seconds(), times


COLD = Figure(
    "cold",
    "A producer at the head waits for each acknowledgement, alone, and while a consumer in a "
    "process of its own reads 1 GB of another topic: from the page cache, and from the disk after "
    "its segments have been dropped from the cache.",
    measure,
)
