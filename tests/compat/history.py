"""What consumer groups may and may not do, checked over the history of one group.

A history is all that the group's members said, in the order of one clock, plus when the test killed
one. Each check returns faults as sentences; none means that it holds:

    unprocessed      every record that was acknowledged to the producer was processed by some member
    owned_twice      no partition had two live owners at the same time in the same generation
    rewound          a new owner never started below an offset whose commit was acknowledged before
    commits_lost     the broker's committed offsets are not below those that it acknowledged
    went_back        no member saw the generation fall

Pure: no client, no clock. Above: chaos.py, which records histories; test_history.py feeds it broken
ones.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Assigned:
    """Partitions came to a member, which keeps what else it has; perhaps none came."""

    generation: int
    partitions: frozenset[int]


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Partitions went: revoked, or lost with the membership."""

    partitions: frozenset[int]


@dataclass(frozen=True, slots=True)
class Processed:
    """Records of one partition were handled, by a member of that generation."""

    generation: int
    partition: int
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Committed:
    """The broker acknowledged these offsets, by partition."""

    offsets: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Ended:
    """The member left, or was killed: it owns nothing from here on."""


Happening = Assigned | Withdrawn | Processed | Committed | Ended


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to one member; a member is a process, so one that comes back has a new name."""

    at: int
    member: str
    what: Happening


@dataclass(frozen=True, slots=True)
class Ownership:
    """A member owned a partition as of a generation, from `since` up to `until`."""

    partition: int
    generation: int
    member: str
    since: int
    until: int


def unprocessed(history: Iterable[Event], produced: Mapping[int, set[int]]) -> list[str]:
    seen: dict[int, set[int]] = defaultdict(set)
    for event in history:
        if isinstance(event.what, Processed):
            seen[event.what.partition].update(event.what.offsets)
    return [
        f"partition {partition}: {len(missing)} records never processed: {sorted(missing)[:10]}"
        for partition, offsets in sorted(produced.items())
        if (missing := offsets - seen[partition])
    ]


def owned_twice(history: Iterable[Event]) -> list[str]:
    claims: dict[tuple[int, int], list[Ownership]] = defaultdict(list)
    for ownership in ownerships(history):
        claims[ownership.partition, ownership.generation].append(ownership)
    return [
        f"partition {partition} in generation {generation}: {two.member} at {two.since}"
        f" while {one.member} had it from {one.since} to {one.until}"
        for (partition, generation), owners in sorted(claims.items())
        for one, two in _overlaps(owners)
    ]


def rewound(history: Iterable[Event]) -> list[str]:
    faults = []
    acknowledged: dict[int, int] = defaultdict(int)
    expected: dict[tuple[str, int], int] = {}
    for event in _in_order(history):
        match event.what:
            case Committed(offsets):
                for partition, offset in offsets.items():
                    acknowledged[partition] = max(acknowledged[partition], offset)
            case Assigned(_, partitions):
                expected.update({(event.member, each): acknowledged[each] for each in partitions})
            case Processed(_, partition, offsets):
                floor = expected.pop((event.member, partition), 0)
                if offsets[0] < floor:
                    faults.append(
                        f"partition {partition}: {event.member} started at {offsets[0]},"
                        f" though {floor} had been committed"
                    )
    return faults


def commits_lost(history: Iterable[Event], committed: Mapping[int, int]) -> list[str]:
    return [
        f"partition {partition}: {offset} was acknowledged, {committed.get(partition, -1)} is left"
        for partition, offset in sorted(acknowledged_offsets(history).items())
        if committed.get(partition, -1) < offset
    ]


def went_back(history: Iterable[Event]) -> list[str]:
    faults = []
    latest: dict[str, int] = {}
    for event in _in_order(history):
        if isinstance(event.what, Assigned):
            before, now = latest.get(event.member, -1), event.what.generation
            if now < before:
                faults.append(f"{event.member} went from generation {before} back to {now}")
            latest[event.member] = now
    return faults


def acknowledged_offsets(history: Iterable[Event]) -> dict[int, int]:
    """The highest acknowledged commit of each partition."""
    highest: dict[int, int] = {}
    for event in history:
        if isinstance(event.what, Committed):
            for partition, offset in event.what.offsets.items():
                highest[partition] = max(highest.get(partition, 0), offset)
    return highest


def ownerships(history: Iterable[Event]) -> Iterator[Ownership]:
    """Who owned what, when, as of which generation; what never ended outlives the last event."""
    events = _in_order(history)
    # By member and partition: the generation, and since when.
    held: dict[str, dict[int, tuple[int, int]]] = defaultdict(dict)
    for event in events:
        partitions = held[event.member]
        changes = _changes(event.what, partitions)
        for partition, generation in changes.items():
            if before := partitions.pop(partition, None):
                yield Ownership(partition, before[0], event.member, before[1], event.at)
            if generation is not None:
                partitions[partition] = (generation, event.at)
    for member, partitions in held.items():
        for partition, (generation, since) in partitions.items():
            yield Ownership(partition, generation, member, since, events[-1].at + 1)


def _changes(what: Happening, held: Mapping[int, tuple[int, int]]) -> dict[int, int | None]:
    """Each partition whose ownership changes: to a generation, or to nothing."""
    match what:
        case Assigned(generation, partitions):
            return dict.fromkeys(partitions | held.keys(), generation)
        case Withdrawn(partitions):
            return dict.fromkeys(partitions)
        case Processed(generation, partition, _) if (
            held.get(partition, (generation,))[0] != generation
        ):
            return {partition: generation}
        case Ended():
            return dict.fromkeys(held)
    return {}


def _overlaps(owners: list[Ownership]) -> Iterator[tuple[Ownership, Ownership]]:
    """Pairs of different members that had the same thing at the same time."""
    ordered = sorted(owners, key=lambda each: (each.since, each.until))
    for one, two in pairwise(ordered):
        if one.member != two.member and two.since < one.until:
            yield one, two


def _in_order(history: Iterable[Event]) -> list[Event]:
    return sorted(history, key=lambda event: event.at)
