"""What the number of partitions costs: the broker's CPU time per request, the memory of each.

One fresh broker. A topic of 1, 10, 100 and 1,000 partitions, one after the other: records of 1 KB
go to each partition in turn, each acknowledged before the next, and the first of each is not
counted (it creates what the partition keeps from then on); then the same with a consumer that
is assigned all of them, and gets each record. There is no bar on that: librdkafka names every
partition in every fetch, so that the request itself grows.
"""

from collections.abc import Iterator

from benchmarks import drive
from benchmarks.figures.figure import Figure, Measured, Start, percentile
from benchmarks.process import cpu_seconds, resident_mb
from benchmarks.subject import Subject

NUMBERS = (1, 10, 100, 1000)
REQUESTS = 3000


def measure(subject: Subject) -> Iterator[Measured]:
    with subject.running():
        _warm_up(subject)
        measured = [step for number in NUMBERS for step in _step(subject, number)]
    yield from measured
    values = {(each.name, each.unit): each.value for each in measured}
    for name in ("produce request", "round trip"):
        few, many = (values[f"{name}, {n} partitions", "CPU-µs"] for n in ("10", "1,000"))
        yield Measured(f"{name}, 1,000 to 10 partitions", "×", many / few)
    memory = [values[f"memory per partition, {number}", "KB"] for number in ("100", "1,000")]
    yield Measured("memory per partition, 1,000 to 100", "×", memory[1] / max(memory[0], 1e-9))


def _warm_up(subject: Subject) -> None:
    with subject.topic() as topic:
        drive.round_trips_ms(subject.bootstrap, topic, 0, subject.scaled(REQUESTS))


def _step(subject: Subject, number: int) -> Iterator[Measured]:
    pid = subject.broker.pid
    count = -(-subject.scaled(REQUESTS) // number) * number
    many = f"{number:,} partition{'s' * (number > 1)}"
    memory = resident_mb(pid)
    with subject.topic(number) as topic:
        drive.acks_ms(subject.bootstrap, topic, lambda sent: sent < number, number)
        cpu = cpu_seconds(pid)
        times = drive.acks_ms(subject.bootstrap, topic, lambda sent: sent < count, number)
        spent = cpu_seconds(pid) - cpu
        grown = resident_mb(pid) - memory
        yield Measured(f"produce request, {many}", "CPU-µs", spent / count * 1e6)
        yield Measured(f"produce request, {many}, p50", "ms", percentile(times, 50))
        if number >= 100:
            yield Measured(f"memory per partition, {number:,}", "KB", grown * 1000 / number)
        yield Measured(f"round trip, {many}", "CPU-µs", _trip_cost(subject, topic, number, count))


def _trip_cost(subject: Subject, topic: str, number: int, count: int) -> float:
    """CPU-µs of the broker per record, produced, and fetched by one who reads all partitions."""
    cpu = cpu_seconds(subject.broker.pid)
    drive.round_trips_ms(subject.bootstrap, topic, count // number + 1, count, number)
    return (cpu_seconds(subject.broker.pid) - cpu) / count * 1e6


PARTITIONS = Figure(
    "partitions",
    "A fresh broker, some round trips that are not measured, and a topic of so many partitions: "
    "the broker's CPU time for a record after the first that is "
    "sent to each in turn and waited for, and for one that a consumer of all of them gets as well "
    "(librdkafka names every partition in every fetch, so that request grows with them); and the "
    "memory that the broker has grown by when each partition holds a record or more.",
    measure,
    start=Start.OWN,
    rounds=1,
)
