"""Scenes: steps, faults and crashes that belong together, which chance alone would seldom put so
close.

Each is a few seconds long, happens on topics that the rest of the plan uses too, and draws its
order and its times: most of the time nothing comes of it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

from tests.simulation.plan import Crash, Fault, Step

Places: TypeAlias = Callable[[], tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Scene:
    """With crashes of its own, a plan has no others."""

    steps: list[Step] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    crashes: list[Crash] = field(default_factory=list)


def flush_while_caching_begins(random: Random, at: float, place: Places) -> Scene:
    """Flushes take long, more is written meanwhile, and write caching is switched on."""
    name, index = place()
    owner, path = _owner(name), f"/{name}-"
    steps = [
        *_writes(random, name, index, at, at + 0.1, 1),
        *_writes(random, name, index, at + 0.1, at + 1, 3),
        Step(at + 0.5 + random.random(), owner, "configure", (name, "write.caching", "true")),
        Step(at + 5, owner, "delete_records", (name, index, 0.5)),
    ]
    return Scene(steps, [Fault(at, at + 3, "slow", ("sync",), path, random.randint(1, 2))])


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
    return Scene(steps, [Fault(failing, failing + 3, "eio", ("sync",), path, times)])


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
    return Scene(steps, faults)


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
    return Scene(steps, faults)


def deadline_while_the_clock_is_set(random: Random, at: float, place: Places) -> Scene:
    """A rebalance waits for a member that does not come."""
    steps = [
        Step(at, "member-7-0", "join", ()),
        Step(at + 1, "member-7-1", "join", ()),
        Step(at + 1 + random.random() * 2, "clock-0", "step", (-3_600_000,)),
    ]
    return Scene(steps, [])


def poll_while_records_go(random: Random, at: float, place: Places) -> Scene:
    """A consumer waits at the end, the start moves up, and then something comes."""
    name, index = place()
    steps = [
        *_writes(random, name, index, at, at + 1, 6, size=400),
        *(Step(at + 1.2, "consumer-8", "fetch", (name, index, 0, 15_000)) for _ in range(9)),
        Step(at + 2.0, _owner(name), "delete_records", (name, index, 1.0)),
        *_writes(random, name, index, at + 3, at + 3.5, 1, size=5),
    ]
    return Scene(steps, [])


def metadata_log_shortened(random: Random, at: float, place: Places) -> Scene:
    """It has become long, on a disk that is slow or full, and changes come."""
    name, other = place()[0], place()[0]
    default = ("", "message.max.bytes")
    growing = [
        Step(at, "admin-9", "configure", (*default, str(50_000 + number))) for number in range(15)
    ]
    begin = at + 0.5
    kinds = (
        ("admin-9", "configure", (*default, "70000")),
        ("admin-7", "create", ("t7", 1, ())),
        (_owner(name), "grow", (name,)),
        (_owner(other), "delete", (other,)),
        ("idempotent-7", "begin", ()),
    )
    changes = [Step(begin + random.random() * 0.5, *kind) for kind in random.sample(kinds, 2)]
    slow, full = ("slow", ("sync",), 3), ("full", ("write",), 1000)
    kind, operations, times = random.choice((slow, slow, full))
    fault = Fault(begin, begin + 8, kind, operations, "/__cluster_metadata-0/", times)
    return Scene([*growing, *changes], [fault])


def metadata_log_shortened_while_it_is_repaired(random: Random, at: float, place: Places) -> Scene:
    """It has become long at once, a flush of it fails, and a thread takes long to drop its end.
    As soon as it is back, topics are made, and the broker ends before the next checkpoint.
    """
    default = ("", "message.max.bytes")
    failing = at + 0.2 + random.random() * 0.1
    steps = [
        Step(at, "admin-7", "create", ("t7", 30, ())),
        Step(at + 0.1, "admin-9", "configure", (*default, "60000")),
        Step(failing, "admin-9", "configure", (*default, "70000")),
        *(
            Step(failing + 2.2 + number * 0.2, f"admin-1{number}", "create", (f"t1{number}", 1, ()))
            for number in range(6)
        ),
    ]
    path = "/__cluster_metadata-0/"
    faults = [
        Fault(failing, failing + 2, "eio", ("sync",), path, 1),
        Fault(failing, failing + 2, "slow", ("sync",), path, 1),
    ]
    crash = Crash(failing + 3 + random.random() * 0.7, random.choice(("cut", "kill")))
    return Scene(steps, faults, [crash])


def offsets_deleted_in_vain(random: Random, at: float, place: Places) -> Scene:
    """The disk refuses the tombstones of offsets, or the removal of what they belong to."""
    name, index = place()
    group, owner = "committer-7", _owner(name)
    later, again = at + 0.5 + random.random(), at + 3
    ways = {
        "delete_offset": (group, (name, index)),
        "delete_group": (group, ()),
        "delete": (owner, (name,)),
    }
    action = random.choice(("delete_offset", "delete_group", "delete", "delete"))
    actor, args = ways[action]
    steps = [
        Step(at, group, "commit", (name, index)),
        Step(later, actor, action, args),
        Step(again, actor, action, args),
        Step(again, owner, "create", (name, 2, ())),
    ]
    is_of_files = action == "delete" and random.random() < 0.5
    path = f"/{name}-" if is_of_files else "/__consumer_offsets-0/"
    operations = ("rename", "sync_directory") if is_of_files else ("sync",)
    return Scene(steps, [Fault(later, later + 1.5, "eio", operations, path, random.randint(1, 2))])


def topic_made_anew_while_it_is_compacted(random: Random, at: float, place: Places) -> Scene:
    """A pass is at its end when the topic goes, and noted late: others are at the checkpoints."""
    (name, index), (other, number) = place(), place()
    owner = _owner(name)
    gone = at + 1.5 + random.random() * 3
    steps = [
        Step(at, owner, "configure", (name, "cleanup.policy", "compact")),
        Step(at, owner, "configure", (name, "segment.bytes", "1024")),
        *_writes(random, name, index, at + 0.2, at + 1, 8, size=100),
        *_writes(random, other, number, at, at + 1, 2),
        Step(gone, owner, "delete", (name,)),
        Step(gone, owner, "create", (name, 3, ())),
        Step(gone + 0.1 + random.random(), _owner(other), "delete_records", (other, number, 1.0)),
    ]
    faults = [
        Fault(at, gone, "slow", ("thread",), "Swap.forget_old", 2),
        Fault(gone, gone + 3, "slow", ("sync",), "log-start-offset-checkpoint", 1),
    ]
    return Scene(steps, faults)


def retention_without_a_new_segment(random: Random, at: float, place: Places) -> Scene:
    """All that a topic has is too much, and there is no room for a segment to follow it, or for
    nobody's.
    """
    (bad, number), (good, index) = place(), place()
    fault = random.choice(
        (
            Fault(at + 1, at + 13, "eio", ("create",), f"/{bad}-", 1000),
            Fault(at + 1, at + 13, "full", ("write", "create"), "", 10_000),
        )
    )
    return Scene(_too_much(random, at, (bad, number, "0"), (good, index, "100")), [fault])


def removal_beside_a_bad_disk(random: Random, at: float, place: Places) -> Scene:
    """Segments of two topics go, and the disk of one refuses that, or what has to come first."""
    (bad, number), (good, index) = place(), place()
    operation, path = random.choice(
        (("remove", f"/{bad}-"), ("rename", f"/{bad}-"), ("rename", "/log-start-offset-"))
    )
    steps = [
        *_too_much(random, at, (bad, number, "100"), (good, index, "100")),
        *(
            Step(at + 2 + random.random() * 6, _owner(good), "delete_records", (good, index, 1.0))
            for _ in range(3)
        ),
    ]
    return Scene(steps, [Fault(at + 1, at + 13, "eio", (operation,), path, 1000)])


def retention_after_half_a_swap(random: Random, at: float, place: Places) -> Scene:
    """What a pass of compaction has replaced cannot be removed; then all of it is too much."""
    name, index = place()
    owner = _owner(name)
    steps = [
        Step(at, owner, "configure", (name, "cleanup.policy", "compact,delete")),
        *_writes(random, name, index, at + 0.1, at + 1, 6, size=400),
        Step(at + 4 + random.random(), owner, "configure", (name, "retention.bytes", "100")),
    ]
    return Scene(steps, [Fault(at + 1.1, at + 12, "eio", ("remove",), f"/{name}-", 1000)])


def _too_much(random: Random, at: float, *topics: tuple[str, int, str]) -> list[Step]:
    """More is written than each of these may keep."""
    return [
        step
        for name, index, limit in topics
        for step in (
            Step(at, _owner(name), "configure", (name, "retention.bytes", limit)),
            *_writes(random, name, index, at, at + 1, 4, size=400),
            *_writes(random, name, index, at + 1, at + 3, 4, size=400),
        )
    ]


def tombstones_for_ever(random: Random, at: float, place: Places) -> Scene:
    """They are to be kept until the end of time, and some are from its beginning."""
    name, index = place()
    settings = (("cleanup.policy", "compact"), ("delete.retention.ms", str(2**63 - 1)))
    steps = [
        *(Step(at, _owner(name), "configure", (name, *setting)) for setting in settings),
        *_writes(random, name, index, at + 0.3, at + 0.5, 2, size=400),
        *_writes(random, name, index, at + 0.5, at + 1, 3, size=-1),
        Step(at + 1, "producer-9", "produce", (name, index, 1, 0, -1, -1, random.choice((0, -1)))),
        *_writes(random, name, index, at + 1.1, at + 1.5, 3, size=400),
    ]
    return Scene(steps, [])


def deletions_beside_a_bad_disk(random: Random, at: float, place: Places) -> Scene:
    """Of two topics that are deleted, the files of one cannot be removed."""
    bad, good = sorted((place()[0], place()[0]))
    steps = [
        Step(at + 1, _owner(bad), "delete", (bad,)),
        Step(at + 1 + random.random() * 2, _owner(good), "delete", (good,)),
    ]
    return Scene(steps, [Fault(at, at + 12, "eio", ("remove",), f"/{bad}-", 1000)])


def metadata_that_cannot_be_shortened(random: Random, at: float, place: Places) -> Scene:
    name, index = place()
    values = [("max.message.bytes", str(50_000 + number)) for number in range(24)]
    steps = [
        *(Step(at, _owner(name), "configure", (name, *value)) for value in values),
        *_writes(random, name, index, at + 2, at + 3, 2),
    ]
    return Scene(steps, [Fault(at, at + 12, "eio", ("create",), "/__cluster_metadata-0/", 1000)])


def topic_deleted_while_it_is_repaired(random: Random, at: float, place: Places) -> Scene:
    name, index = place()
    failing = at + 0.5
    steps = [
        *_writes(random, name, index, failing, failing + 0.2, 2),
        Step(failing + 0.5 + random.random() * 2, _owner(name), "delete", (name,)),
    ]
    faults = [
        Fault(failing, failing + 2, "eio", ("sync",), f"/{name}-", 1),
        Fault(failing + 0.2, failing + 4, "slow", ("sync",), f"/{name}-", 1),
    ]
    return Scene(steps, faults)


def transaction_times_out(random: Random, at: float, place: Places) -> Scene:
    """On a bad disk, or while the clock is set back."""
    steps = [Step(at, "transactional-8", "send", ((place(),), 1, 0))]
    if random.random() < 0.5:
        steps.append(Step(at + 1 + random.random() * 2, "clock-0", "step", (-3_600_000,)))
        return Scene(steps, [])
    return Scene(steps, [Fault(at + 3.9, at + 6, "eio", ("sync",), "/__transaction_state-0/", 1)])


SCENES = (
    flush_while_caching_begins,
    records_deleted_before_they_are_flushed,
    half_a_transaction,
    topic_deleted_under_a_slow_reader,
    deadline_while_the_clock_is_set,
    poll_while_records_go,
    metadata_log_shortened,
    metadata_log_shortened_while_it_is_repaired,
    offsets_deleted_in_vain,
    topic_made_anew_while_it_is_compacted,
    retention_without_a_new_segment,
    removal_beside_a_bad_disk,
    retention_after_half_a_swap,
    tombstones_for_ever,
    deletions_beside_a_bad_disk,
    metadata_that_cannot_be_shortened,
    topic_deleted_while_it_is_repaired,
    transaction_times_out,
)
SCENES_WITHOUT_FAULTS = (
    deadline_while_the_clock_is_set,
    poll_while_records_go,
    tombstones_for_ever,
)
"""Of these, something may come in memory too."""


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
