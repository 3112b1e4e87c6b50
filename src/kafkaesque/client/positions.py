"""Where to start in partitions, and where to end: said once for all of them, found for each.

`resolve` asks the cluster what a position means in each partition. Above: cli/topic/consume.py,
cli/topic/trim.py. Below: admin.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from kafkaesque.client.connection import ClusterError
from kafkaesque.types import TopicPartition

if TYPE_CHECKING:
    from kafkaesque.client.admin import Admin


class Anchor(Enum):
    START = auto()
    END = auto()
    OFFSET = auto()
    TIME = auto()


@dataclass(frozen=True, slots=True)
class Position:
    """`number` is an offset, or ms since 1970, or how many records from the start or the end."""

    anchor: Anchor
    number: int = 0


START = Position(Anchor.START)
END = Position(Anchor.END)


def resolve(
    admin: "Admin", partitions: Sequence[TopicPartition], position: Position
) -> dict[TopicPartition, int]:
    """The offset in each partition. Only an exact offset may lie outside of what there is."""
    ends = _ends(admin, partitions)
    if position.anchor is Anchor.TIME:
        found = admin.offsets_at(partitions, position.number)
        # Nothing is that young: what comes next will be.
        return {p: at if (at := found[p] or 0) >= 0 else ends[p][1] for p in partitions}
    return {p: _offset(position, *ends[p]) for p in partitions}


def within(admin: "Admin", offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """The same offsets, moved to the nearest one there is."""
    ends = _ends(admin, list(offsets))
    return {p: max(ends[p][0], min(offset, ends[p][1])) for p, offset in offsets.items()}


def _offset(position: Position, low: int, high: int) -> int:
    if position.anchor is Anchor.START:
        return min(low + position.number, high)
    return max(high - position.number, low) if position.anchor is Anchor.END else position.number


def _ends(
    admin: "Admin", partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, tuple[int, int]]:
    marks = admin.watermarks_of(partitions)
    return {p: (_known(marks[p].low, p), _known(marks[p].high, p)) for p in partitions}


def _known(offset: int | None, place: TopicPartition) -> int:
    if offset is None:
        raise ClusterError(
            f"partition {place.partition} of {place.topic} cannot say what it holds: "
            f"see its leader with `kafkaesque topic describe {place.topic}`"
        )
    return offset
