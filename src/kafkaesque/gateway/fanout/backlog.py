"""What a slow subscription has yet to take, and what it has missed: exactly.

Two policies are one structure. *drop-oldest* keeps the newest matches, *conflate* the newest of
each key; both at most `limit`. What is not kept is missed, and is reported as ranges of offsets
such that every match inside was not delivered, and none outside was lost:

    matches of a partition   5  7  9 12 15 20      kept: 9, 20
    taken: missed [5, 8], 9, missed [10, 15], 20

Matches come in the order of their offsets in each partition, and are taken in the order in which
they came, each after what was missed before it: a client that is cut off anywhere in between knows
where to go on. Pure.
Above: subscription.py, client.py. Below: ring.py, delivery.py.
"""

from typing import NamedTuple

from kafkaesque.gateway.fanout.delivery import Delivery
from kafkaesque.gateway.fanout.ring import Ring


class Missed(NamedTuple):
    """From offset to offset, both included. The matches of a span are told with its first part."""

    partition: int
    first: int
    last: int
    matches: int


class _Span:
    """What is missed in one partition and not reported: between two offsets, so many matches."""

    __slots__ = ("first", "last", "matches")

    def __init__(self, offset: int) -> None:
        self.first = self.last = offset
        self.matches = 1

    def add(self, offset: int) -> None:
        self.first = min(self.first, offset)
        self.last = max(self.last, offset)
        self.matches += 1


class Backlog:
    __slots__ = ("_conflates", "_entries", "_limit", "_ring", "_spans")

    def __init__(self, ring: Ring, limit: int, conflates: bool) -> None:
        self._ring = ring
        self._limit = limit
        self._conflates = conflates
        self._entries: dict[object, Delivery] = {}
        self._spans: dict[int, _Span] = {}

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def is_settled(self) -> bool:
        """Nothing to send, nothing to report."""
        return not self._entries and not self._spans

    def hold(self, delivery: Delivery) -> bool:
        """Keep it; whether an older one is missed because of that."""
        assert delivery.record is not None
        key: object = delivery.record.key if self._conflates else delivery
        older = self._entries.pop(key, None)
        if older is None and len(self._entries) >= self._limit:
            older = self._entries.pop(next(iter(self._entries)))
        if older is not None:
            self._miss(older)
            self._ring.sweep()
        delivery.waiting += 1
        self._ring.keep(delivery)
        self._entries[key] = delivery
        return older is not None

    def take(self, max_bytes: int) -> list[Missed | Delivery]:
        """The oldest that are there, at least one, each after what was missed before it."""
        taken: list[Missed | Delivery] = []
        size = 0
        while self._entries and size < max_bytes:
            delivery = self._entries.pop(next(iter(self._entries)))
            if delivery.record is None:
                self._miss(delivery)
                continue
            if self._spans:
                taken += self._missed_before(delivery)
            delivery.waiting -= 1
            size += delivery.size
            taken.append(delivery)
        if not self._entries:
            taken += [
                Missed(partition, span.first, span.last, span.matches)
                for partition, span in self._spans.items()
            ]
            self._spans.clear()
        return taken

    def clear(self) -> None:
        """The subscription is over."""
        for delivery in self._entries.values():
            delivery.waiting -= 1
        self._entries.clear()

    def first_offsets(self) -> dict[int, int]:
        """Where to go on, in each partition that has something not reported or not taken."""
        firsts = {partition: span.first for partition, span in self._spans.items()}
        for delivery in self._entries.values():
            known = firsts.get(delivery.partition, delivery.offset)
            firsts[delivery.partition] = min(known, delivery.offset)
        return firsts

    def _miss(self, delivery: Delivery) -> None:
        delivery.waiting -= 1
        span = self._spans.get(delivery.partition)
        if span is None:
            self._spans[delivery.partition] = _Span(delivery.offset)
        else:
            span.add(delivery.offset)

    def _missed_before(self, delivery: Delivery) -> list[Missed]:
        partition, offset = delivery.partition, delivery.offset
        span = self._spans.get(partition)
        if span is None:
            return []
        found = []
        if span.first < offset:
            found.append(Missed(partition, span.first, min(offset - 1, span.last), span.matches))
            span.matches = 0
        span.first = max(span.first, offset + 1)
        if span.first > span.last:
            del self._spans[partition]
        return found
