"""How many topics are created in a second: one after the other, and all in one request."""

import itertools
import time
from collections.abc import Iterator

from benchmarks.drive import QUIET
from benchmarks.figures.figure import Figure, Measured
from benchmarks.subject import Subject
from confluent_kafka.admin import AdminClient, NewTopic

TOPICS = 100

_rounds = itertools.count(1)


def measure(subject: Subject) -> Iterator[Measured]:
    admin = AdminClient({"bootstrap.servers": subject.bootstrap, **QUIET})
    count, number = subject.scaled(TOPICS), next(_rounds)
    names = [f"one-{number}-{each}" for each in range(count)]
    start = time.perf_counter()
    for name in names:
        _create(admin, subject, [name])
    yield Measured("topics, one by one", "per s", count / (time.perf_counter() - start))
    others = [f"all-{number}-{each}" for each in range(count)]
    start = time.perf_counter()
    _create(admin, subject, others)
    yield Measured("topics, in one request", "per s", count / (time.perf_counter() - start))
    for done in admin.delete_topics([*names, *others]).values():
        done.result(60)


def _create(admin: AdminClient, subject: Subject, names: list[str]) -> None:
    settings = dict(subject.variant.topic_settings)
    topics = [NewTopic(name, 1, 1, config=settings) for name in names]
    for done in admin.create_topics(topics).values():
        done.result(60)


TOPICS_FIGURE = Figure(
    "topics",
    "100 topics of one partition, each created when the one before is there; and 100 in one "
    "request.",
    measure,
)
