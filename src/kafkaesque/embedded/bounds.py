"""Topics that are bounded by events: when a partition holds more than `max_events`, the oldest
`drop` of them leave it, after they are on the shelf.

An offset stays what it was: what leaves moves the log's start. This holds for every writer: `wrap`
puts the bound behind Produce, too. A stop between shelf and log start leaves events in both; the
shelf knows what it has, and they are dropped again at the next start.

What fails or hangs under one partition keeps no other: each is trimmed for itself, and one that
holds no more than it may waits for nobody. Only the shelf is shared, while it is written.
Above: node.py. Below: stale.py.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from kafkaesque.broker.apis import Api, Context
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.partition import Partition
from kafkaesque.embedded.events import event_of
from kafkaesque.embedded.reading import page
from kafkaesque.embedded.stale import Shelf
from kafkaesque.errors import KafkaError
from kafkaesque.event import Event
from kafkaesque.protocol.messages.produce import ProduceRequest

logger = logging.getLogger(__name__)

_SHELVED_AT_ONCE = 10_000
"""Events that are in memory on their way to the shelf, for each partition."""

_Trim: TypeAlias = Coroutine[Any, Any, bool]


class Bounds:
    """How many events a partition may hold, how many leave it at a time, and where to."""

    def __init__(self, max_events: int, drop: int | None, shelf: Shelf | None) -> None:
        if max_events < 1:
            raise ValueError(f"max_events={max_events}: a topic holds 1 event at least")
        self.max_events = max_events
        self.drop = drop if drop is not None else max(1, max_events // 2)
        if not 1 <= self.drop <= max_events:
            raise ValueError(f"drop={drop} is not between 1 and max_events={max_events}")
        self.shelf = shelf
        self._trimming: WeakKeyDictionary[Partition, asyncio.Lock] = WeakKeyDictionary()
        self._shelving = asyncio.Lock()
        self._adding: asyncio.Future[None] | None = None
        self._without_place: set[str] = set()

    def check_topic(self, topic: str) -> None:
        """Raises ValueError if this topic's events have no place on the shelf."""
        if self.shelf:
            self.shelf.check_topic(topic)

    def _has_place(self, topic: str) -> bool:
        """A topic that a Kafka client has made without one is not bounded: nothing is lost."""
        try:
            self.check_topic(topic)
        except ValueError as error:
            if topic not in self._without_place:
                self._without_place.add(topic)
                logger.error("%s is not bounded: %s", topic, error)
            return False
        return True

    def wrap(self, produce: Api) -> Api:
        """Produce, with the bound enforced before it is answered."""

        def bounded(ctx: Context, request: ProduceRequest) -> Awaitable[Any]:
            return self._answer(ctx, request, produce.handle(ctx, request))

        return produce._replace(handle=bounded)

    async def _answer(self, ctx: Context, request: ProduceRequest, answer: Any) -> Any:
        if isinstance(answer, Awaitable):
            answer = await answer
        touched = _touched(ctx.broker, request)
        exceeding = [p for p in touched if self._excess(p, p.log.end_offset) > 0]
        await self._run(ctx.broker, [self._trim_when_seen(ctx.broker, p) for p in exceeding])
        return answer

    async def enforce(self, broker: Broker, partitions: Iterable[Partition]) -> None:
        """Trim those that hold more than they may."""
        exceeding = [p for p in partitions if self._excess(p, p.high_watermark) > 0]
        await self._run(broker, [self._trim(broker, p) for p in exceeding])

    def _excess(self, partition: Partition, end: int) -> int:
        return end - partition.log.log_start_offset - self.max_events

    async def _run(self, broker: Broker, trims: Sequence[_Trim]) -> None:
        if not trims:
            return
        ended = await asyncio.gather(*trims, return_exceptions=True)
        if True in ended:
            await broker.storage.checkpoint_log_starts()
        for failure in ended:
            if isinstance(failure, BaseException):
                raise failure

    async def _trim_when_seen(self, broker: Broker, partition: Partition) -> bool:
        """Only what readers see is counted; with acks=0 or 1 that is still to come."""
        try:
            if durable := partition.durable(partition.log.end_offset):
                await durable
        except KafkaError:
            return False  # Nobody will see it.
        return await self._trim(broker, partition)

    async def _trim(self, broker: Broker, partition: Partition) -> bool:
        """Whether the log starts later now."""
        async with self._trimming.setdefault(partition, asyncio.Lock()):
            try:
                return await self._drop_excess(broker, partition)
            except Exception as error:
                # Whatever it is, a damaged file of the shelf too: what was put is in the log, and
                # who put it must not be told otherwise.
                self._tell_kept(partition, error)
                return False

    def _tell_kept(self, partition: Partition, error: Exception) -> None:
        """But of one that was deleted meanwhile, nothing stays."""
        if not partition.is_closed:
            is_expected = isinstance(error, OSError | sqlite3.Error | KafkaError)
            logger.error(
                "stale events stay in the log of %s, for they cannot be put away: %s",
                partition.name,
                error,
                exc_info=None if is_expected else error,
            )

    async def _drop_excess(self, broker: Broker, partition: Partition) -> bool:
        start = partition.log.log_start_offset
        excess = self._excess(partition, partition.high_watermark)
        if excess <= 0 or partition.offline is not None:
            return False
        if not self._has_place(partition.name.topic):
            return False
        until = start + -(-excess // self.drop) * self.drop
        if self.shelf:
            await self._put_away(self.shelf, broker, partition, until)
        partition.delete_records(until)
        return True

    async def _put_away(
        self, shelf: Shelf, broker: Broker, partition: Partition, until: int
    ) -> None:
        topic_id = broker.topics.named(partition.name.topic).id
        # Else a repair may drop them, and give their offsets to others.
        if waiting := partition.flushed(until):
            await waiting
        offset = partition.log.log_start_offset
        stale: list[Event] = []
        while offset < until and (found := await page(partition, offset)):
            offset = found[-1].record.offset + 1
            stale += (
                event_of(partition.name, each) for each in found if each.record.offset < until
            )
            if len(stale) >= _SHELVED_AT_ONCE:
                await self._shelve(broker, partition, partial(shelf.add, topic_id, stale))
                stale = []
        await self._shelve(broker, partition, partial(shelf.add, topic_id, stale))

    async def _shelve(self, broker: Broker, partition: Partition, add: Callable[[], None]) -> None:
        async with self._shelving:
            if self._adding:
                # Who has begun it may have been cancelled: its thread goes on.
                await asyncio.wait([self._adding])
            # Once it is deleted, the shelf may have events of a namesake.
            partition.check_online()
            self._adding = broker.disk.run(add)
            await asyncio.shield(self._adding)


def _touched(broker: Broker, request: ProduceRequest) -> Iterator[Partition]:
    """The partitions of a request that there are: for others, the answer has an error."""
    for data in request.topic_data:
        for part in data.partition_data:
            with suppress(KafkaError):
                yield broker.topics.find(data.name, data.topic_id).partition(part.index)
