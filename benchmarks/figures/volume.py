"""What much data does to a broker: its memory, its rates from the first GB to the last, restarts.

One fresh broker, one partition, 1 KB, GB after GB; then a clean stop, and a kill -9.
"""

import time
from collections.abc import Iterator

from benchmarks import drive
from benchmarks.drive import Load
from benchmarks.figures.figure import Figure, Measured, Start
from benchmarks.process import resident_mb
from benchmarks.subject import Subject

GIGABYTES = 10
GIGABYTE = Load(megabytes=1000)
SETTLE_S = 2.0


def measure(subject: Subject) -> Iterator[Measured]:
    last = max(2, subject.scaled(GIGABYTES))
    with subject.running(), subject.topic() as topic:
        # Idle means that what the start left over has been done.
        time.sleep(SETTLE_S)
        yield Measured("memory, idle", "MB", resident_mb(subject.broker.pid))
        rates = []
        for number in range(1, last + 1):
            rates.append(subject.produce(topic, GIGABYTE).mb_per_s)
            if number in (1, last):
                memory = resident_mb(subject.broker.pid)
                yield Measured(f"memory, after {number} GB", "MB", memory)
        yield Measured("produce, GB 1", "MB/s", rates[0])
        yield Measured(f"produce, GB {last}", "MB/s", rates[-1])
        yield Measured(f"produce, GB {last} to GB 1", "×", rates[-1] / rates[0])
        yield from _consume(subject, topic, last)
        yield from _restart(subject, topic, last)


def _consume(subject: Subject, topic: str, last: int) -> Iterator[Measured]:
    for number in (1, last):
        rate = subject.consume(topic, GIGABYTE, offset=(number - 1) * GIGABYTE.count)
        yield Measured(f"consume, GB {number}", "MB/s", rate.mb_per_s)


def _restart(subject: Subject, topic: str, last: int) -> Iterator[Measured]:
    subject.broker.stop()
    yield Measured(f"restart after a stop, {last} GB", "s", _first_fetch(subject, topic))
    drive.produce(subject.bootstrap, subject.broker.pid, topic, Load(megabytes=100))
    subject.broker.kill()
    yield Measured(f"restart after kill -9, {last} GB", "s", _first_fetch(subject, topic))


def _first_fetch(subject: Subject, topic: str) -> float:
    """Seconds from the start of the process to the first record."""
    start = time.perf_counter()
    subject.broker.start()
    consumer = drive.assigned_consumer(subject.bootstrap, topic, 0)
    drive.read(consumer, 1)
    elapsed = time.perf_counter() - start
    consumer.close()
    return elapsed


VOLUME = Figure(
    "volume",
    "A fresh broker, one partition, 1 KB records: resident memory when nothing has been written, "
    "and after so many GB; the rates of the first and the last GB; and then the time from the "
    "start of the process to the first fetched record, after a clean stop and after a kill -9 "
    "100 MB later.",
    measure,
    start=Start.OWN,
    rounds=1,
)
