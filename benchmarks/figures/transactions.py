"""How many transactions a producer commits in a second: 100 records of 100 B each, one at a time.

librdkafka's producer here, and Java's in a process of its own, which says how long it took. Both
with their own settings; the first transactions are not measured, for Java compiles as it goes. What
is committed is counted by a reader's end of the log.

Once in some ten thousand transactions Java's producer sends EndTxn before the records that it ends
(Kafka 4.3), is told INVALID_TXN_STATE, and gives up: such a load is taken again.
"""

import functools
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.drive import QUIET, VALUE
from benchmarks.figures.figure import Figure, Measured
from benchmarks.process import cpu_seconds
from benchmarks.subject import Subject
from confluent_kafka import IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from tests.compat.java_programs import java_program

RECORDS = 100
SIZE = 100
TRANSACTIONS = 400
UNMEASURED = 200
_JAVA_FLAGS = ("-Xmx256m", "-XX:+UseSerialGC")
_ATTEMPTS = 3
_RACE = "InvalidTxnStateException"


def measure(subject: Subject) -> Iterator[Measured]:
    count = subject.scaled(TRANSACTIONS)
    with subject.topic() as topic:
        cpu, seconds = _librdkafka(subject, topic, count)
        yield Measured("transactions, librdkafka", "per s", count / seconds)
        yield Measured("transactions, librdkafka", "CPU-ms each", cpu / count * 1000)
        _check(subject, topic, count + UNMEASURED)
    yield Measured("transactions, Java", "per s", count / _java(subject, count))


def _librdkafka(subject: Subject, topic: str, count: int) -> tuple[float, float]:
    """The broker's CPU time, and the wall's."""
    settings = {"bootstrap.servers": subject.bootstrap, "transactional.id": topic, **QUIET}
    producer = Producer(settings)
    producer.init_transactions(30)
    _commit(producer, topic, UNMEASURED)
    cpu, start = cpu_seconds(subject.broker.pid), time.perf_counter()
    _commit(producer, topic, count)
    return cpu_seconds(subject.broker.pid) - cpu, time.perf_counter() - start


def _commit(producer: Producer, topic: str, count: int) -> None:
    value = VALUE[:SIZE]
    for _ in range(count):
        producer.begin_transaction()
        for _ in range(RECORDS):
            producer.produce(topic, value)
        producer.commit_transaction(30)


def _java(subject: Subject, count: int) -> float:
    load = _java_load(subject.scratch / "classes")
    for _ in range(_ATTEMPTS):
        with subject.topic() as topic:
            arguments = [subject.bootstrap, topic, count, UNMEASURED, RECORDS, SIZE]
            command = [*load, *map(str, arguments)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=600)
            if not done.returncode:
                _check(subject, topic, count + UNMEASURED)
                return float(done.stdout)
        if _RACE not in done.stderr:
            break
    raise RuntimeError(f"Java's producer failed: {done.stderr[-2000:]}")


@functools.cache
def _java_load(classes: Path) -> list[str]:
    return java_program("TransactionalLoad", classes, _JAVA_FLAGS)


def _check(subject: Subject, topic: str, transactions: int) -> None:
    """All is there for those who read what is committed: the records, and a marker of each."""
    admin = AdminClient({"bootstrap.servers": subject.bootstrap, **QUIET})
    place = TopicPartition(topic, 0)
    committed = IsolationLevel.READ_COMMITTED
    expected = transactions * (RECORDS + 1)
    deadline = time.monotonic() + 10
    while True:
        asked = admin.list_offsets({place: OffsetSpec.latest()}, isolation_level=committed)
        end = asked[place].result(30).offset
        if end == expected:
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f"the committed log ends at {end}, not at {expected}")
        time.sleep(0.05)


TRANSACTIONS_FIGURE = Figure(
    "transactions",
    "A transactional producer commits 100 records of 100 B to one partition, then the next 100; "
    "librdkafka's and Java's, with their own settings. 200 transactions before that are not "
    "measured. CPU is of the broker's process.",
    measure,
)
