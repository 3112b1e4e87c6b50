"""One record on its way to whoever wants it: encoded once per form, and shared.

An *encoder* makes the bytes that a socket is given, from the number that the client gave to its
subscription and the record (encodings.py). Clients of one kind mostly number alike, so that one
encoding serves them all. Above: hub.py, clients. Below: encodings.py.
"""

from collections.abc import Callable
from typing import TypeAlias

from kafkaesque.records.record import Record

Encoder: TypeAlias = Callable[[int, str, int, Record], bytes]
"""(subscription, topic, partition, record) -> bytes ready to write."""


class Delivery:
    __slots__ = ("_encoded", "is_kept", "offset", "partition", "record", "topic", "waiting")

    def __init__(self, topic: str, partition: int, record: Record) -> None:
        self.topic = topic
        self.partition = partition
        self.offset = record.offset
        self.record: Record | None = record
        self._encoded: dict[tuple[Encoder, int], bytes] | None = None
        self.is_kept = False
        self.waiting = 0
        """How many slow subscriptions have yet to take it."""

    @property
    def size(self) -> int:
        """Bytes of key and value; 0 if they are gone."""
        if self.record is None:
            return 0
        return len(self.record.key or b"") + len(self.record.value or b"")

    def encoded(self, encoder: Encoder, subscription: int) -> bytes:
        """Only of a delivery that has its record still."""
        form = encoder, subscription
        if self._encoded is None:
            self._encoded = {}
        elif (data := self._encoded.get(form)) is not None:
            return data
        assert self.record is not None
        data = self._encoded[form] = encoder(subscription, self.topic, self.partition, self.record)
        return data

    def drop(self) -> None:
        """Nobody can have it any more: free its memory."""
        self.record = self._encoded = None
