"""Position vectors: where to go on in every partition, as one line of text.

    0:12,1:7             of one topic: go on with offset 12 of partition 0 and 7 of partition 1
    a/0:12,b/1:7         of several topics

The numbers are the next offsets to read, so that what was read with a vector and what comes after
it meet without a gap. It is what stands in the `id:` of a Server-Sent Event, and so in the
`Last-Event-ID` of whoever comes back. A topic's name has no `/`, `,` or `:` in Kafka. Pure.
Above: gateway/, http.py. Below: types.py.
"""

import re
from collections.abc import Mapping

from kafkaesque.types import TopicPartition

_PART = re.compile(r"(?:([A-Za-z0-9._-]{1,249})/)?([0-9]{1,10}):([0-9]{1,19})", re.ASCII)
_MAX_PARTITION = 2**31 - 1
_MAX_OFFSET = 2**63 - 1


def format_vector(positions: Mapping[TopicPartition, int], topic: str | None = None) -> str:
    """In the order of `positions`; without names if all of them are of `topic`."""
    if all(place.topic == topic for place in positions):
        return ",".join(f"{place.partition}:{offset}" for place, offset in positions.items())
    return ",".join(
        f"{place.topic}/{place.partition}:{offset}" for place, offset in positions.items()
    )


def parse_vector(text: str, topic: str | None = None) -> dict[TopicPartition, int]:
    """Raises ValueError, which says what is wrong. A part without a name is of `topic`."""
    positions: dict[TopicPartition, int] = {}
    for part in text.split(",") if text.strip() else ():
        place, offset = _parse_part(part.strip(), topic)
        if place in positions:
            raise ValueError(f"partition {place.partition} of {place.topic} is there twice")
        positions[place] = offset
    return positions


def _parse_part(part: str, topic: str | None) -> tuple[TopicPartition, int]:
    found = _PART.fullmatch(part)
    if found is None:
        raise ValueError(f"{part!r} is not PARTITION:OFFSET, as in 0:12 or ticks/0:12")
    name = found[1] or topic
    if name is None:
        raise ValueError(f"{part!r} does not say of which topic: write TOPIC/{part}")
    partition, offset = int(found[2]), int(found[3])
    if partition > _MAX_PARTITION or offset > _MAX_OFFSET:
        raise ValueError(f"{part!r} is beyond the numbers of Kafka")
    return TopicPartition(name, partition), offset


class Vector:
    """A vector that moves on, one partition at a time; its text is put together when asked for."""

    __slots__ = ("_texts", "_topic", "positions")

    def __init__(self, positions: Mapping[TopicPartition, int], topic: str | None = None) -> None:
        """`topic` is the only one that there will be; None if there may be several."""
        self._topic = topic
        self._texts: dict[TopicPartition, str] = {}
        self.positions: dict[TopicPartition, int] = {}
        for place, offset in positions.items():
            self.move(place, offset)

    def move(self, place: TopicPartition, offset: int) -> None:
        """A partition that is new is added."""
        self.positions[place] = offset
        self._texts[place] = (
            f"{place.topic}/{place.partition}:{offset}"
            if self._topic is None
            else f"{place.partition}:{offset}"
        )

    def __str__(self) -> str:
        return ",".join(self._texts.values())
