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
    __slots__ = (
        "_encoded",
        "is_kept",
        "key",
        "offset",
        "partition",
        "record",
        "size",
        "topic",
        "waiting",
    )

    def __init__(self, topic: str, partition: int, record: Record) -> None:
        self.topic = topic
        self.partition = partition
        self.record: Record | None = record
        self.offset = record.offset
        self.key = record.key
        self.size = len(record.key or b"") + len(record.value or b"")
        self.is_kept = False
        self.waiting = 0
        """How many slow subscriptions have yet to take it."""
        self._encoded: dict[tuple[Encoder, int], bytes] = {}

    def encoded(self, encoder: Encoder, subscription: int) -> bytes:
        """Only of a delivery that has its record still."""
        form = encoder, subscription
        data = self._encoded.get(form)
        if data is None:
            assert self.record is not None
            data = encoder(subscription, self.topic, self.partition, self.record)
            self._encoded[form] = data
        return data

    def drop(self) -> None:
        """Nobody can have it any more: free its memory."""
        self.record = None
        self._encoded.clear()
