"""librdkafka's messages as events: the hot path of every consumer, so it is written for speed.

A frozen dataclass sets its fields one call at a time, which would cost as much as all the rest of
reading an event. So the fields are set on an open class of the same shape, which then becomes an
`Event`, and a batch is one loop. What cannot be decoded is an error in the event's place.
Above: intake.py, app/. Below: serde.py, event.py.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import confluent_kafka

from kafkaesque.client.registry.errors import RegistryAwayError
from kafkaesque.client.serde import DecodeEventError, Serde
from kafkaesque.event import Event

ReadBatch: TypeAlias = Callable[[Iterable[Any]], list[Any]]
"""Each message becomes an Event or a DecodeEventError; one that is an error stays as it is.

Raises RegistryAwayError if it cannot be known which of the two: then the same are to be read again.
"""

_APPEND: int = confluent_kafka.TIMESTAMP_LOG_APPEND_TIME


class _Draft:
    __slots__ = Event.__slots__


def batch_reader(key: Serde, value: Serde) -> ReadBatch:
    # Bytes are taken as they are.
    decode_key = None if key.decode is bytes else key.decode
    decode_value = None if value.decode is bytes else value.decode
    key_by_headers, value_by_headers = key.decode_event, value.decode_event

    def read(messages: Iterable[Any]) -> list[Any]:
        items: list[Any] = []
        append = items.append
        for message in messages:
            if message.error() is not None:
                append(message)
                continue
            draft: Any = _Draft()
            draft.topic = message.topic()
            draft.partition = message.partition()
            draft.offset = message.offset()
            kind, draft.timestamp = message.timestamp()
            draft.timestamp_type = "append" if kind == _APPEND else "create"
            draft.headers = message.headers() or []
            draft.key = message.key()
            draft.value = message.value()
            part = "key"
            try:
                if decode_key is not None and draft.key is not None:
                    if key_by_headers is None or not draft.headers:
                        draft.key = decode_key(draft.key)
                    else:
                        draft.key = key_by_headers(draft.key, draft.headers)
                part = "value"
                if decode_value is not None and draft.value is not None:
                    if value_by_headers is None or not draft.headers:
                        draft.value = decode_value(draft.value)
                    else:
                        draft.value = value_by_headers(draft.value, draft.headers)
            except RegistryAwayError:
                raise
            except Exception as error:
                draft.key = message.key()
                draft.__class__ = Event
                form = key if part == "key" else value
                append(_refusal(draft, part, form, error))
                continue
            draft.__class__ = Event
            append(draft)
        return items

    return read


def _refusal(event: Event, part: str, form: Serde, error: Exception) -> DecodeEventError:
    refusal = DecodeEventError(event, part, form.name, error)
    refusal.__cause__ = error
    return refusal
