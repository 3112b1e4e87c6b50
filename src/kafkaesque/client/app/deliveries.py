"""Messages of librdkafka as events: first as the bytes they are, then as the handler wants them.

Above: member.py, lane.py. Below: handlers.py, ../serde.py.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import confluent_kafka
from confluent_kafka import Message

from kafkaesque.client.app.handlers import Handler
from kafkaesque.client.serde import Serde
from kafkaesque.event import Event, EventHeaders

_NONE = -1


class UndecodableError(ValueError):
    """A key or a value is not in the form that its handler was declared with."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event as it came, and as the handler sees it; or why it cannot."""

    raw: Event
    event: Event
    error: Exception | None = None

    @property
    def offset(self) -> int:
        return self.raw.offset


def delivery(raw: Event, handler: Handler) -> Delivery:
    try:
        key = _decoded(raw.key, handler.key, "key", raw.headers)
        value = _decoded(raw.value, handler.value, "value", raw.headers)
    except UndecodableError as error:
        return Delivery(raw, raw, error)
    return Delivery(raw, replace(raw, key=key, value=value))


def _decoded(data: bytes | None, form: Serde, part: str, headers: EventHeaders) -> Any:
    if data is None:
        return None
    try:
        if form.decode_event is not None and headers:
            return form.decode_event(data, headers)
        return form.decode(data)
    except Exception as error:
        raise UndecodableError(f"the {part} is not {form.name}: {error}") from error


def prepare(events: Iterable[Event], handler: Handler) -> None:
    """Ask for the schemas that these need. Raises RegistryAwayError."""
    for event in events:
        if handler.key.prepare is not None and event.key is not None:
            handler.key.prepare(event.key, event.headers)
        if handler.value.prepare is not None and event.value is not None:
            handler.value.prepare(event.value, event.headers)


def event_of(message: Message) -> Event:
    """Key and value as bytes; a message without a timestamp has -1."""
    kind, timestamp = message.timestamp()
    headers: Any = message.headers() or ()
    return Event(
        topic=message.topic() or "",
        partition=_number(message.partition()),
        offset=_number(message.offset()),
        timestamp=timestamp if kind != confluent_kafka.TIMESTAMP_NOT_AVAILABLE else _NONE,
        key=message.key(),
        value=message.value(),
        headers=list(headers),
        timestamp_type="append" if kind == confluent_kafka.TIMESTAMP_LOG_APPEND_TIME else "create",
    )


def _number(number: int | None) -> int:
    return _NONE if number is None else number
