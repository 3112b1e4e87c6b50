"""Topics that are bounded by events: when a partition holds more than `max_events`, the oldest
`drop` of them leave it, after they are on the shelf.

An offset stays what it was: what leaves moves the log's start. This holds for every writer: `wrap`
puts the bound behind Produce, too. A stop between shelf and log start leaves events in both; the
shelf knows what it has, and they are dropped again at the next start.
Above: node.py. Below: stale.py.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Iterable
from typing import Any

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
        self._trimming = asyncio.Lock()
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
        touched = []
        for data in request.topic_data:
            try:
                topic = ctx.broker.topics.find(data.name, data.topic_id)
                touched += [topic.partition(part.index) for part in data.partition_data]
                # Only what readers see is counted; with acks=0 or 1 that is still to come.
                for partition in touched:
                    if durable := partition.durable(partition.log.end_offset):
                        await durable
            except KafkaError:
                continue  # The answer says so already.
        await self.enforce(ctx.broker, touched)
        return answer

    async def enforce(self, broker: Broker, partitions: Iterable[Partition]) -> None:
        async with self._trimming:
            try:
                trimmed = [p for p in partitions if await self._trim(broker, p)]
                if trimmed:
                    await broker.storage.checkpoint_log_starts()
            except (OSError, sqlite3.Error, KafkaError) as error:
                logger.error("stale events stay in the log, for they cannot be put away: %s", error)

    async def _trim(self, broker: Broker, partition: Partition) -> bool:
        start = partition.log.log_start_offset
        excess = partition.high_watermark - start - self.max_events
        if excess <= 0 or partition.offline is not None:
            return False
        if not self._has_place(partition.name.topic):
            return False
        until = start + -(-excess // self.drop) * self.drop
        if self.shelf:
            # Else a repair may drop them, and give their offsets to others.
            if waiting := partition.flushed(until):
                await waiting
            await self._put_away(self.shelf, broker, partition, until)
        partition.delete_records(until)
        return True

    async def _put_away(
        self, shelf: Shelf, broker: Broker, partition: Partition, until: int
    ) -> None:
        offset = partition.log.log_start_offset
        events: list[Event] = []
        while offset < until and (found := await page(broker.disk, partition, offset)):
            events += (event_of(partition.name, each) for each in found)
            offset = found[-1].record.offset + 1
        stale = [event for event in events if event.offset < until]
        await broker.disk.run(lambda: shelf.add(stale))
