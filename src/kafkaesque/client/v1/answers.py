"""What a server of kafkaesque.v1 says besides records: JSON, one object per message.

    {"type": "subscribed", "id": 1, "topic": "ticks", "position": {"0": 12, "1": 7}}
    {"type": "unsubscribed", "id": 1, "position": {…}}
    {"type": "position", "id": 1, "position": {…}}
    {"type": "caught-up", "id": 1}
    {"type": "gap", "id": 1, "reason": "slow" | "expired" | "conflated", "missed": 5 or null,
     "ranges": [[partition, first, last], …]}
    {"type": "error", "id": 1 or null, "message": "…", "position": 7}
    {"type": "pong"}   {"type": "closing", "reason": "…", "code": 1001}

A position has the next offset of each partition. Each match within a gap's ranges (inclusive) was
not delivered, and none outside of them was lost. An error's position is a place in a filter.
The code of a closing is that of WebSocket's close, for those who come over TCP.
Pure. Above: gateway/fanout/, subscriber.py.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson


class GapReason(StrEnum):
    SLOW = "slow"
    """Dropped, for the client took them too slowly."""
    EXPIRED = "expired"
    """Gone from the log before they could be read."""
    CONFLATED = "conflated"
    """Overtaken by a later record of the same key, which is delivered."""


@dataclass(frozen=True, slots=True)
class Gap:
    """What a subscription has missed; each range is (partition, first offset, last offset)."""

    subscription: int
    reason: GapReason
    missed: int | None
    ranges: tuple[tuple[int, int, int], ...]


def subscribed(subscription: int, topic: str, position: Mapping[int, int]) -> str:
    return _text(type="subscribed", id=subscription, topic=topic, position=_by_name(position))


def unsubscribed(subscription: int, position: Mapping[int, int]) -> str:
    return _text(type="unsubscribed", id=subscription, position=_by_name(position))


def position(subscription: int, position: Mapping[int, int]) -> str:
    return _text(type="position", id=subscription, position=_by_name(position))


def caught_up(subscription: int) -> str:
    return _text(type="caught-up", id=subscription)


def gap(
    subscription: int,
    reason: GapReason | str,
    missed: int | None,
    ranges: Iterable[tuple[int, int, int]],
) -> str:
    return _text(
        type="gap", id=subscription, reason=str(reason), missed=missed, ranges=list(ranges)
    )


def gap_of(fields: Mapping[str, Any]) -> Gap:
    """The gap that a message of this type tells of."""
    ranges = tuple((partition, first, last) for partition, first, last in fields["ranges"])
    return Gap(fields["id"], GapReason(fields["reason"]), fields["missed"], ranges)


def error(subscription: int | None, message: str, position: int | None = None) -> str:
    if position is None:
        return _text(type="error", id=subscription, message=message)
    return _text(type="error", id=subscription, message=message, position=position)


def pong() -> str:
    return _text(type="pong")


def closing(reason: str, code: int) -> str:
    return _text(type="closing", reason=reason, code=code)


def _text(**fields: Any) -> str:
    return orjson.dumps(fields).decode()


def _by_name(position: Mapping[int, int]) -> dict[str, int]:
    """JSON has no numbers for names."""
    return {str(partition): offset for partition, offset in position.items()}
