"""One reader's track through a stream: what to ask for, what comes of each message, where to go on.

The `id` of each Server-Sent Event is a vector of the offsets after it. It is kept with the event it
came with, and given back as `Last-Event-ID` when the connection is made anew: nothing is missing,
nothing comes twice. Pure. Above: consumer.py. Below: client/event_json.py, client/vectors.py.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, TypeAlias

import orjson
from httpx_sse import ServerSentEvent

from kafkaesque.client.event_json import event_of
from kafkaesque.client.http.answers import error_of
from kafkaesque.client.moments import Timestamp, milliseconds
from kafkaesque.client.serde import DecodeEventError, Serde
from kafkaesque.client.vectors import format_vector, parse_vector
from kafkaesque.errors import ErrorCode
from kafkaesque.event import Event
from kafkaesque.types import TopicPartition

Start: TypeAlias = str | int | Mapping[Any, int] | Timestamp | datetime


@dataclass(frozen=True, slots=True)
class Gap:
    """What was to come and is no more, both ends included."""

    topic: str
    partition: int
    first: int
    last: int
    reason: str


class End:
    """The gateway has said all that was asked for."""


class Away:
    """The gateway's cluster is away: come back later."""


class Track:
    def __init__(self, topics: tuple[str, ...], key: Serde, value: Serde) -> None:
        self.vector: str | None = None
        self.count = 0
        self._topic = topics[0] if len(topics) == 1 else None
        self._key = key
        self._value = value

    @property
    def position(self) -> dict[TopicPartition, int]:
        return {} if self.vector is None else parse_vector(self.vector, self._topic)

    def take(self, message: ServerSentEvent) -> Event | DecodeEventError | Gap | End | Away | None:
        """None: nothing to tell. Raises KafkaError if the stream has come to a bad end."""
        if message.id:
            self.vector = message.id
        if not message.data:
            return None
        told: dict[str, Any] = orjson.loads(message.data)
        if message.event == "message":
            self.count += 1
            return self._decoded(event_of(told))
        if message.event == "gap":
            return Gap(**told)
        if message.event == "end":
            return End()
        if message.event == "error":
            failure = error_of(told)
            if failure.code is ErrorCode.BROKER_NOT_AVAILABLE:
                return Away()
            raise failure
        return None

    def _decoded(self, event: Event) -> Event | DecodeEventError:
        key, value = event.key, event.value
        try:
            if key is not None:
                key = self._key.decode(key)
        except Exception as error:
            return DecodeEventError(event, "key", self._key.name, error)
        try:
            if value is not None:
                value = self._value.decode(value)
        except Exception as error:
            return DecodeEventError(event, "value", self._value.name, error)
        return replace(event, key=key, value=value)


def start_text(start: Start, topics: tuple[str, ...]) -> str:
    """As the gateway reads it. Raises ValueError if it is no start."""
    if isinstance(start, str):
        if start not in ("earliest", "latest"):
            raise ValueError(f"start={start!r} is neither 'earliest' nor 'latest'")
        return start
    if isinstance(start, Timestamp | datetime):
        return f"@{milliseconds(start):013}"
    if isinstance(start, Mapping):
        places = {_place(place, topics): offset for place, offset in start.items()}
        return format_vector(places, topics[0] if len(topics) == 1 else None)
    if not isinstance(start, int) or start < 0:
        raise ValueError(f"start={start!r}: an offset is 0 or more; for a time use Timestamp(ms)")
    return str(start)


def _place(place: Any, topics: tuple[str, ...]) -> TopicPartition:
    if not isinstance(place, int):
        return TopicPartition(*place)
    if len(topics) != 1:
        raise ValueError("several topics are read: name offsets by (topic, partition)")
    return TopicPartition(topics[0], place)


def parameters(
    start: str,
    *,
    until: Literal["end"] | None,
    keys: Iterable[str] | None,
    prefix: str | None,
    where: str | None,
) -> dict[str, Any]:
    given = {"from": start, "until": until, "prefix": prefix, "where": where}
    found: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if keys is not None:
        found["key"] = list(keys)
    return found


OnGap: TypeAlias = Callable[[Gap], None]
