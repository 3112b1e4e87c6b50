"""One event as programs see it: what was written, and where it lies.

Above: client/consumer.py, client/app.py, embedded/ and the gateway hand it out.
"""

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

EventHeaders: TypeAlias = list[tuple[str, bytes | None]]
TimestampType: TypeAlias = Literal["create", "append"]
"""Who gave the timestamp: its producer, or the broker that appended it."""


@dataclass(frozen=True, slots=True)
class Event:
    """The timestamp is in milliseconds since 1970. Headers keep their order and duplicates."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: Any
    value: Any
    headers: EventHeaders = field(default_factory=list)
    timestamp_type: TimestampType = "create"
