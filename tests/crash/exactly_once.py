"""What exactly-once means, as a pure check: of what was sent, acknowledged and found in a log.

A message is (producer, sequence). Acknowledged ones are found once, where their report said; none
is found twice, in doubt or not; each producer's are in order within a partition; offsets count up
without a gap; and nothing is found that nobody sent.
Above: test_kill.py, which gathers the evidence from a broker that is killed again and again.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias


class Message(NamedTuple):
    producer: int
    sequence: int


class Place(NamedTuple):
    partition: int
    offset: int


Contents: TypeAlias = Mapping[Place, Message]


def broken_promises(
    sent: Container[Message], acknowledged: Mapping[Message, Place], found: Contents
) -> list[str]:
    """What is wrong with a log, in sentences. None: it keeps every promise."""
    return [
        *_misplaced(acknowledged, found),
        *_twice(found),
        *_out_of_order(found),
        *(f"{message} at {place} was never sent" for place, message in found.items()
          if message not in sent),
    ]  # fmt: skip


def changed(before: Contents, after: Contents) -> list[str]:
    """Nothing that was once read may change or vanish."""
    return [
        f"{place} was {message} and is {after.get(place)}"
        for place, message in before.items()
        if after.get(place) != message
    ]


def _misplaced(acknowledged: Mapping[Message, Place], found: Contents) -> list[str]:
    return [
        f"{message} was acknowledged at {place}, where {found.get(place)} is found"
        for message, place in acknowledged.items()
        if found.get(place) != message
    ]


def _twice(found: Contents) -> Iterable[str]:
    first: dict[Message, Place] = {}
    for place, message in found.items():
        if message in first:
            yield f"{message} is found at {first[message]} and again at {place}"
        first[message] = place


def _out_of_order(found: Contents) -> Iterable[str]:
    last: dict[tuple[int, int], int] = {}
    expected: dict[int, int] = {}
    for place, message in sorted(found.items()):
        if place.offset != expected.setdefault(place.partition, 0):
            yield f"{place} follows offset {expected[place.partition] - 1}: a gap"
        expected[place.partition] = place.offset + 1
        key = (place.partition, message.producer)
        if message.sequence < last.get(key, -1):
            yield f"{message} at {place} comes after sequence {last[key]}"
        last[key] = message.sequence


@dataclass(slots=True)
class Commits:
    """One group's commits: the last that was acknowledged, and those in doubt since, by partition.

    `None` is no commit at all, which is what a partition starts with.
    """

    _possible: dict[int, list[int | None]] = field(default_factory=dict)

    def attempted(self, offsets: Mapping[int, int]) -> None:
        for partition, offset in offsets.items():
            self._possible.setdefault(partition, [None]).append(offset)

    def acknowledged(self, offsets: Mapping[int, int]) -> None:
        for partition, offset in offsets.items():
            self._possible[partition] = [offset]

    def broken_promises(self, found: Mapping[int, int | None]) -> list[str]:
        return [
            f"partition {partition}: committed is {found.get(partition)}, not one of {possible}"
            for partition, possible in self._possible.items()
            if found.get(partition) not in possible
        ]
