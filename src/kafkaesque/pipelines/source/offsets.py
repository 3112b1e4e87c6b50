"""Places in the log, as JSON and as arithmetic. Pure.

    {"ticks": {"0": 120, "1": 98}}     the next offset of each partition, sorted, as Spark keeps it

In what users write, -2 stands for the first offset there is and -1 for the end. `shares` divides a
limit among partitions by how far each is behind; none that is behind goes without, if the limit
allows. `pieces` cuts ranges, so that there are at least so many tasks.
Above: options.py, standing.py, planning.py.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, TypeAlias

from kafkaesque.types import TopicPartition

Offsets: TypeAlias = dict[TopicPartition, int]
MORE: Final = "#"
"""No topic has it in its name."""


@dataclass(frozen=True, slots=True)
class Range:
    """The offsets of a partition from `start` on, up to but without `end`."""

    place: TopicPartition
    start: int
    end: int

    def __len__(self) -> int:
        return max(0, self.end - self.start)


def parse_offsets(text: str, least: int = 0) -> Offsets:
    """Raises ValueError for what is not JSON of this shape, or an offset below `least`."""
    return {
        place: _offset(place, offset, least)
        for place, offset in _places_of(_object(text), "an offset")
    }


def parse_places(text: str) -> list[TopicPartition]:
    """Of `{"ticks": [0, 1]}`."""
    places: list[TopicPartition] = []
    for topic, numbers in _object(text).items():
        if not isinstance(numbers, list) or not all(_is_partition(each) for each in numbers):
            raise ValueError(f"{topic} needs a list of partitions, as in [0, 1]")
        places += [TopicPartition(topic, each) for each in numbers]
    return sorted(set(places))


def offsets_of(kept: Mapping[str, Mapping[str, Any]]) -> Offsets:
    """What Spark has kept; what is under other names than those of topics is standing.py's."""
    return {
        TopicPartition(topic, int(partition)): offset
        for topic, partitions in kept.items()
        if not topic.startswith(MORE)
        for partition, offset in partitions.items()
    }


def kept(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """As Spark keeps them. Sorted: it compares them as text."""
    found: dict[str, dict[str, int]] = {}
    for topic, partition in sorted(offsets):
        found.setdefault(topic, {})[str(partition)] = offsets[TopicPartition(topic, partition)]
    return found


def shares(behind: Mapping[TopicPartition, int], limit: int) -> Offsets:
    """How many of `limit` records each partition may give."""
    total = sum(behind.values())
    if total <= limit:
        return dict(behind)
    given = dict.fromkeys(behind, 0)
    # The one that is furthest behind first: so nobody waits for ever, however low the limit.
    waiting = sorted((place for place in behind if behind[place]), key=lambda it: -behind[it])
    for place in waiting[:limit]:
        given[place] = 1
    rest = limit - min(limit, len(waiting))
    left = {place: behind[place] - 1 for place in waiting}
    room = sum(left.values())
    for place in waiting:
        if rest and room:
            more = -(-rest * left[place] // room)
            given[place] += more
            rest -= more
            room -= left[place]
    return given


def pieces(ranges: Iterable[Range], least: int) -> list[Range]:
    """Ranges that are not empty, cut into `least` or more if there are enough records."""
    found = [each for each in ranges if len(each)]
    total = sum(map(len, found))
    return [piece for each in found for piece in _cut(each, -(-len(each) * least // total))]


def _cut(whole: Range, count: int) -> list[Range]:
    count = min(max(count, 1), len(whole))
    edges = [whole.start + len(whole) * number // count for number in range(count + 1)]
    return [replace(whole, start=start, end=end) for start, end in pairwise(edges)]


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON ({error})") from None
    if not isinstance(found, dict) or not found:
        raise ValueError("it is not a JSON object with a topic in it")
    return found


def _places_of(found: dict[str, Any], what: str) -> list[tuple[TopicPartition, Any]]:
    places: list[tuple[TopicPartition, Any]] = []
    for topic, partitions in found.items():
        if not isinstance(partitions, dict) or not all(each.isdecimal() for each in partitions):
            raise ValueError(f'{topic} needs {what} for each partition, as in {{"0": 12}}')
        places += [(TopicPartition(topic, int(key)), at) for key, at in partitions.items()]
    return places


def _offset(place: TopicPartition, offset: Any, least: int) -> int:
    if not isinstance(offset, int) or isinstance(offset, bool) or offset < least:
        raise ValueError(f"{place} cannot be at {json.dumps(offset)}")
    return offset


def _is_partition(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 0
