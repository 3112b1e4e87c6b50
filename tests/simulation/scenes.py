"""Scenes: steps and faults that belong together, which chance alone would seldom put so close.

Each is a few seconds long, happens on topics that the rest of the plan uses too, and draws its
order and its times: most of the time nothing comes of it.
"""

from collections.abc import Callable
from random import Random
from typing import TypeAlias

from tests.simulation.plan import Fault, Step

Scene: TypeAlias = tuple[list[Step], list[Fault]]
Places: TypeAlias = Callable[[], tuple[str, int]]


def flush_while_caching_begins(random: Random, at: float, place: Places) -> Scene:
    """Flushes take long, more is written meanwhile, and write caching is switched on."""
    name, index = place()
    owner, path = _owner(name), f"/{name}-"
    steps = [
        *_writes(random, name, index, at, at + 3, 6),
        Step(at + 1 + random.random() * 2, owner, "configure", (name, "write.caching", "true")),
        Step(at + 5, owner, "delete_records", (name, index, 0.5)),
    ]
    return steps, [Fault(at, at + 3, "slow", ("sync",), path, random.randint(1, 3))]


def records_deleted_before_they_are_flushed(random: Random, at: float, place: Places) -> Scene:
    name, index = place()
    owner, path = _owner(name), f"/{name}-"
    steps = [
        Step(at, owner, "configure", (name, "write.caching", "true")),
        *_writes(random, name, index, at + 0.3, at + 1.3, 4),
        Step(at + 0.3 + random.random(), owner, "delete_records", (name, index, 1.0)),
    ]
    failing = at + 0.3 + random.random()
    times = random.randint(1, 3)
    return steps, [Fault(failing, failing + 3, "eio", ("sync",), path, times)]


def half_a_transaction(random: Random, at: float, place: Places) -> Scene:
    """One partition is offline when its transaction ends, the marker of another is lost late."""
    places = (place(), place())
    (first, number), (second, _) = places
    end = at + 0.5 + random.random() * 0.1
    steps = [
        Step(at, "transactional-7", "send", (places, 1, 0)),
        *_writes(random, first, number, at + 0.5, at + 0.52, 2),
        Step(end, "transactional-7", "end", (True,)),
    ]
    faults = [
        Fault(at + 0.45, at + 1.5, "eio", ("sync",), f"/{first}-", 1),
        Fault(end, at + 3, "late", ("sync",), f"/{second}-", random.randint(1, 2)),
    ]
    return steps, faults


def topic_deleted_under_a_slow_reader(random: Random, at: float, place: Places) -> Scene:
    name, index = place()
    owner = _owner(name)
    read, gone = at + 1.5, at + 1.5 + random.random() * 0.3
    steps = [
        *_writes(random, name, index, at, at + 1, 6, size=400),
        Step(read, "consumer-7", "fetch", (name, index, 0, 0)),
        Step(gone, owner, "delete", (name,)),
        Step(gone, owner, "create", (name, 1, ())),
        *_writes(random, name, index, gone + 0.3, gone + 1, 4, size=400),
    ]
    faults = [
        Fault(read, gone, "slow", ("thread",), "", random.randint(1, 2)),
        Fault(read, gone, "slow", ("read",), f"/{name}-", 3),
    ]
    return steps, faults


def deadline_while_the_clock_is_set(random: Random, at: float, place: Places) -> Scene:
    """A rebalance waits for a member that does not come."""
    steps = [
        Step(at, "member-7-0", "join", ()),
        Step(at + 1, "member-7-1", "join", ()),
        Step(at + 1 + random.random() * 2, "clock-0", "step", (-3_600_000,)),
    ]
    return steps, []


def poll_while_records_go(random: Random, at: float, place: Places) -> Scene:
    """A consumer waits at the end, the start moves up, and then something comes."""
    name, index = place()
    steps = [
        *_writes(random, name, index, at, at + 1, 6, size=400),
        *(Step(at + 1.2, "consumer-8", "fetch", (name, index, 0, 15_000)) for _ in range(9)),
        Step(at + 2.0, _owner(name), "delete_records", (name, index, 1.0)),
        *_writes(random, name, index, at + 3, at + 3.5, 1, size=5),
    ]
    return steps, []


SCENES = (
    flush_while_caching_begins,
    records_deleted_before_they_are_flushed,
    half_a_transaction,
    topic_deleted_under_a_slow_reader,
    deadline_while_the_clock_is_set,
    poll_while_records_go,
)


def _writes(
    random: Random, name: str, index: int, begin: float, end: float, count: int, size: int = 50
) -> list[Step]:
    return [
        Step(
            begin + random.random() * (end - begin),
            f"producer-{random.randrange(3)}",
            "produce",
            (name, index, 2, random.randrange(4), size, -1, 0),
        )
        for _ in range(count)
    ]


def _owner(name: str) -> str:
    return f"admin-{name[1:]}" if name[1:].isdecimal() else "admin-8"
