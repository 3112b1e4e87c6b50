"""What a slow subscription has yet to take, and what it has missed: exactly.

Two policies are one structure. *drop-oldest* keeps the newest matches, *conflate* the newest of
each key; both at most `limit`. What is not kept is missed, and is reported as ranges of offsets
such that every match inside was not delivered, and none outside was lost:

    matches of a partition   5  7  9 12 15 20      kept: 9, 20
    taken: missed 2 in [5, 8], 9, missed 2 in [10, 19], 20

Matches come in the order of their offsets in each partition, and are taken in the order in which
they came, each after what was missed before it: a client that is cut off anywhere in between knows
where to go on. Pure.
Above: subscription.py, client.py. Below: ring.py, delivery.py.
"""

from typing import NamedTuple

from kafkaesque.gateway.fanout.delivery import Delivery
from kafkaesque.gateway.fanout.ring import Ring


class Missed(NamedTuple):
    """From offset to offset, both included: so many matches."""

    partition: int
    first: int
    last: int
    matches: int


class _Part:
    """One partition: how many matches have come, and how many of them were taken or reported."""

    __slots__ = ("come", "first", "last", "settled")

    def __init__(self, offset: int) -> None:
        self.first = self.last = offset
        """What lies between is not settled, unless `first` is past `last`."""
        self.come = self.settled = 0

    def add(self, offset: int) -> int:
        """A match has come: the how manieth."""
        self.last = offset
        self.come += 1
        return self.come

    def settle(self, last: int, number: int) -> None:
        """All matches up to an offset: so many since the beginning."""
        self.settled, self.first = number, last + 1


class Backlog:
    __slots__ = ("_conflates", "_entries", "_limit", "_parts", "_ring")

    def __init__(self, ring: Ring, limit: int, conflates: bool) -> None:
        self._ring = ring
        self._limit = limit
        self._conflates = conflates
        self._entries: dict[object, tuple[Delivery, int]] = {}
        """Each with the number of its match: numbers that are left out were missed."""
        self._parts: dict[int, _Part] = {}

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def is_settled(self) -> bool:
        """Nothing to send, nothing to report."""
        return not self._parts

    def hold(self, delivery: Delivery) -> bool:
        """Keep it; whether an older one is missed because of that."""
        assert delivery.record is not None
        key: object = delivery.record.key if self._conflates else delivery
        older = self._entries.pop(key, None)
        if older is None and len(self._entries) >= self._limit:
            older = self._entries.pop(next(iter(self._entries)))
        if older is not None:
            older[0].waiting -= 1
            self._ring.sweep()
        delivery.waiting += 1
        self._ring.keep(delivery)
        part = self._parts.get(delivery.partition)
        if part is None:
            part = self._parts[delivery.partition] = _Part(delivery.offset)
        self._entries[key] = delivery, part.add(delivery.offset)
        return older is not None

    def take(self, max_bytes: int) -> list[Missed | Delivery]:
        """The oldest that are there, at least one, each after what was missed before it."""
        taken: list[Missed | Delivery] = []
        size = 0
        while self._entries and size < max_bytes:
            delivery, number = self._entries.pop(next(iter(self._entries)))
            delivery.waiting -= 1
            if delivery.record is None:
                continue
            self._tell_missed(taken, delivery.partition, delivery.offset - 1, number - 1)
            self._parts[delivery.partition].settle(delivery.offset, number)
            size += delivery.size
            taken.append(delivery)
        if not self._entries:
            for partition, part in self._parts.items():
                self._tell_missed(taken, partition, part.last, part.come)
            self._parts.clear()
        return taken

    def clear(self) -> None:
        """The subscription is over."""
        for delivery, _ in self._entries.values():
            delivery.waiting -= 1
        self._entries.clear()

    def first_offsets(self) -> dict[int, int]:
        """Where to go on, in each partition that has something not reported or not taken."""
        return {
            partition: part.first
            for partition, part in self._parts.items()
            if part.settled < part.come
        }

    def _tell_missed(
        self, taken: list[Missed | Delivery], partition: int, last: int, number: int
    ) -> None:
        """What was missed up to an offset, if anything: so many matches have come by then."""
        part = self._parts[partition]
        if matches := number - part.settled:
            taken.append(Missed(partition, part.first, last, matches))
            part.settle(last, number)
