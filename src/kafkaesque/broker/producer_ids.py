"""How long each producer id has been silent in each partition: who is silent longest is forgotten
first.

By the clock that only goes forward: a step of the wall's must not make a running broker forget whom
it heard of a moment ago. Only for what comes from a snapshot does the wall's clock say how long ago
that was. Whose transaction is open in the partition is not forgotten there.
No batch looks at a clock for this: it notes the period in which it came, and when that has ended is
known when somebody looks for those who are silent. So nobody is forgotten too early.
Any client can make up ids: of all partitions together there are `max.producer.ids` at most.
Above: broker.py. partition.py says whom it has heard of, and forgets.
"""

import logging
from collections import OrderedDict
from collections.abc import Generator, Iterable
from math import inf
from typing import Protocol

from kafkaesque.broker.config import Config
from kafkaesque.types import Clock

logger = logging.getLogger(__name__)

_LOOKED_AT = 8
"""For each new id at most, when there are too many: transactions may be open."""


class Partition(Protocol):
    def forget_producer(self, producer_id: int) -> bool:
        """False: it has to be remembered."""


class _Period:
    __slots__ = ("ended_ms",)

    def __init__(self, ended_ms: float = inf) -> None:
        self.ended_ms = ended_ms


class ProducerIds:
    """Those that all partitions remember."""

    def __init__(self, config: Config, monotonic: Clock) -> None:
        self._config = config
        self._monotonic = monotonic
        self._period = _Period()
        self._crowded_out = 0
        # When they were heard of, from the earliest on.
        self._heard: OrderedDict[tuple[Partition, int], _Period] = OrderedDict()

    def __len__(self) -> int:
        return len(self._heard)

    def heard(self, partition: Partition, producer_id: int) -> None:
        key = (partition, producer_id)
        count = len(self._heard)
        self._heard[key] = self._period
        if len(self._heard) == count:
            self._heard.move_to_end(key)
        else:
            self._make_room()

    def found(self, partition: Partition, silent_ms: Iterable[tuple[int, int]]) -> None:
        """They were restored, and how long each was silent. Of whom this process has heard, that
        counts.
        """
        now_ms, periods = self._monotonic(), {}
        for producer_id, ago_ms in silent_ms:
            if ago_ms not in periods:
                periods[ago_ms] = _Period(now_ms - max(ago_ms, 0))
            self._heard.setdefault((partition, producer_id), periods[ago_ms])

    def sort(self) -> None:
        """After a start has found those of all partitions."""
        by_time = sorted(self._heard.items(), key=lambda item: item[1].ended_ms)
        self._heard = OrderedDict(by_time)

    def leave(self, partition: Partition, producer_ids: Iterable[int]) -> None:
        """The partition goes, and with it what it knows of these."""
        for producer_id in producer_ids:
            self._heard.pop((partition, producer_id), None)

    def expire(self, silent_ms: int) -> Generator[None, None, None]:
        """Forget, one by one, who has been silent for longer, and who is too many."""
        now_ms = self._period.ended_ms = self._monotonic()
        self._period = _Period()
        self._tell_crowded_out()
        for _ in range(len(self._heard)):
            # Between two, topics may be deleted.
            first = next(iter(self._heard.values()), _Period())
            if first.ended_ms >= now_ms - silent_ms and not self._are_too_many:
                return
            self._forget_first()
            yield

    @property
    def _are_too_many(self) -> bool:
        most: int = self._config["max.producer.ids"]
        return len(self._heard) > most

    def _make_room(self) -> None:
        for _ in range(_LOOKED_AT):
            if not self._are_too_many:
                return
            self._crowded_out += self._forget_first()

    def _tell_crowded_out(self) -> None:
        if self._crowded_out:
            most = self._config["max.producer.ids"]
            message = "%d producers were forgotten: there were more than max.producer.ids=%d"
            logger.warning(message, self._crowded_out, most)
            self._crowded_out = 0

    def _forget_first(self) -> bool:
        partition, producer_id = key = next(iter(self._heard))
        is_forgotten = partition.forget_producer(producer_id)
        if is_forgotten:
            del self._heard[key]
        else:
            self.heard(partition, producer_id)
        return is_forgotten
