"""How long each producer id has been silent in each partition, and who is forgotten first.

Who has been silent for too long is forgotten, by the clock that only goes forward: a step of the
wall's must not make a running broker forget whom it heard of a moment ago. Only for what comes from
a snapshot does the wall's clock say how long ago that was.
No batch looks at a clock for this: it notes the period in which it came, and when that has ended is
known when somebody looks for those who are silent. So nobody is forgotten too early.

Any client can make up ids: of all partitions together there are `max.producer.ids` at most. When
there are nearly as many, those go who have been silent for so long that they retry nothing. Beyond
it the partition that has the most ids forgets whoever is silent longest in it, so a crowd in one
partition takes nothing from the producers of another.

Whose transaction is open in a partition is not forgotten there. It is set aside when its turn has
come, or the same few would be looked at for every new id, and comes back when it is heard of, or
with the next look for those who are silent. It is not one of those too many: transactions have a
bound of their own.
Above: broker.py. partition.py says whom it has heard of, and forgets.
"""

import logging
from collections import OrderedDict, defaultdict
from collections.abc import Generator, Iterable
from math import inf
from typing import Protocol

from kafkaesque.broker.config import Config
from kafkaesque.types import Clock

logger = logging.getLogger(__name__)

_RETRIED_MS = 180_000
"""Longer than clients try to deliver a batch: two minutes, by `delivery.timeout.ms`."""
_MANY = 0.75
_LOOKED_AT = 8
"""For each new id at most, when there are too many: transactions may be open."""


class Partition(Protocol):
    def forget_producer(self, producer_id: int) -> bool:
        """False: it has to be remembered."""


class _Period:
    __slots__ = ("ended_ms",)

    def __init__(self, ended_ms: float = inf) -> None:
        self.ended_ms = ended_ms


class _Crowds:
    """Partitions by how many ids they have."""

    def __init__(self) -> None:
        self.ids = 0
        # Of the same size, the one that was heard of last is the last.
        self.by_size: defaultdict[int, OrderedDict[Partition, None]] = defaultdict(OrderedDict)
        self._largest = 0

    def resize(self, partition: Partition, before: int, after: int) -> None:
        by_size = self.by_size
        self.ids += after - before
        if before and after and after not in by_size and len(by_size[before]) == 1:
            # A crowd is alone in its size. To begin and end a dict with each of its ids costs more.
            by_size[after] = by_size.pop(before)
        else:
            self._move(partition, before, after)
        if after > self._largest:
            self._largest = after
        # From `before` to `after` at most: the partition is there, or was the only one.
        while self._largest and self._largest not in by_size:
            self._largest -= 1

    def _move(self, partition: Partition, before: int, after: int) -> None:
        if before:
            del self.by_size[before][partition]
            if not self.by_size[before]:
                del self.by_size[before]
        if after:
            self.by_size[after][partition] = None

    def largest(self) -> Partition | None:
        return next(iter(self.by_size[self._largest])) if self._largest else None


class ProducerIds:
    """Those that all partitions remember."""

    def __init__(self, config: Config, monotonic: Clock) -> None:
        self._config = config
        self._monotonic = monotonic
        self._period = _Period()
        self._crowded_out = 0
        # When they were heard of in each partition, from the earliest on.
        self._heard: defaultdict[Partition, OrderedDict[int, _Period]] = defaultdict(OrderedDict)
        self._crowds = _Crowds()
        # Whose transaction was open when it was their turn to be forgotten. A dict: in order.
        self._aside: dict[tuple[Partition, int], None] = {}

    def __len__(self) -> int:
        return self._crowds.ids + len(self._aside)

    def heard(self, partition: Partition, producer_id: int) -> None:
        ids = self._heard.get(partition)
        if ids is None or producer_id not in ids:
            self._enter(partition, producer_id)
            self._make_room()
            return
        ids[producer_id] = self._period
        ids.move_to_end(producer_id)
        # No call: this is for every batch.
        self._crowds.by_size[len(ids)].move_to_end(partition)

    def found(self, partition: Partition, silent_ms: Iterable[tuple[int, int]]) -> None:
        """They were restored, and how long each was silent. Of whom this process has heard, that
        counts.
        """
        ids = self._heard[partition]
        known = len(ids)
        now_ms = self._monotonic()
        restored = [
            (producer_id, _Period(now_ms - max(ago_ms, 0)))
            for producer_id, ago_ms in silent_ms
            if producer_id not in ids and (partition, producer_id) not in self._aside
        ]
        if restored:
            by_time = sorted([*ids.items(), *restored], key=lambda entry: entry[1].ended_ms)
            self._heard[partition] = OrderedDict(by_time)
        self._resized(partition, known)

    def leave(self, partition: Partition, producer_ids: Iterable[int]) -> None:
        """The partition goes, and with it what it knows of these."""
        ids = self._heard[partition]
        before = len(ids)
        for producer_id in producer_ids:
            ids.pop(producer_id, None)
            self._aside.pop((partition, producer_id), None)
        self._resized(partition, before)

    def expire(self, silent_ms: int) -> Generator[None, None, None]:
        """Forget, one by one, who has been silent for longer, and who is too many."""
        now_ms = self._period.ended_ms = self._monotonic()
        self._period = _Period()
        self._tell_crowded_out()
        # Between two, topics may be deleted.
        for key in tuple(self._aside):
            if key in self._aside:
                self._enter(*key)
            yield
        for partition in tuple(self._heard):
            yield
            while self._is_first_before(partition, now_ms - silent_ms):
                self._forget_first(partition)
                yield
        yield from self._forget_silent(now_ms - _RETRIED_MS)
        for _ in range(len(self)):
            largest = self._crowds.largest()
            if largest is None or not self._are_too_many:
                return
            self._forget_first(largest)
            yield

    def _forget_silent(self, before_ms: float) -> Generator[None, None, None]:
        """While there are many. Else producers who are at work would have to go for those who are
        not, wherever there are more than elsewhere.
        """
        for partition in tuple(self._heard):
            while self._are_many and self._is_first_before(partition, before_ms):
                self._crowded_out += self._forget_first(partition)
                yield

    def _enter(self, partition: Partition, producer_id: int) -> None:
        if self._aside:
            self._aside.pop((partition, producer_id), None)
        ids = self._heard[partition]
        ids[producer_id] = self._period
        self._crowds.resize(partition, len(ids) - 1, len(ids))

    @property
    def _are_too_many(self) -> bool:
        most: int = self._config["max.producer.ids"]
        return self._crowds.ids > most

    @property
    def _are_many(self) -> bool:
        most: int = self._config["max.producer.ids"]
        return self._crowds.ids > most * _MANY

    def _make_room(self) -> None:
        for _ in range(_LOOKED_AT):
            if not self._are_too_many or (largest := self._crowds.largest()) is None:
                return
            self._crowded_out += self._forget_first(largest)

    def _tell_crowded_out(self) -> None:
        if self._crowded_out:
            most = self._config["max.producer.ids"]
            message = "%d producers were forgotten: there were more than max.producer.ids=%d"
            logger.warning(message, self._crowded_out, most)
            self._crowded_out = 0

    def _is_first_before(self, partition: Partition, ms: float) -> bool:
        ids = self._heard.get(partition)
        return ids is not None and next(iter(ids.values())).ended_ms < ms

    def _forget_first(self, partition: Partition) -> bool:
        ids = self._heard[partition]
        producer_id, _ = ids.popitem(last=False)
        self._resized(partition, len(ids) + 1)
        is_forgotten = partition.forget_producer(producer_id)
        if not is_forgotten:
            self._aside[partition, producer_id] = None
        return is_forgotten

    def _resized(self, partition: Partition, before: int) -> None:
        after = len(self._heard[partition])
        self._crowds.resize(partition, before, after)
        if not after:
            del self._heard[partition]
