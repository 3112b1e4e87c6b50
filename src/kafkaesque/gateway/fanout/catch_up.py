"""Readers of older records, for subscriptions that lag: a few, shared by many.

A reader takes a partition, begins with the subscription that is furthest behind, and reads on until
all have met the feed; others join it when it passes the place where they are. So ten thousand
clients that come back after a restart cost one pass over what they missed. A client that is slow
is left where it is, without losing anything, and read for again when it has taken what it was
sent; nobody waits for it. What retention has removed meanwhile is told as a gap.

The feed and the readers run on one event loop. A reader never shows what the feed has not shown,
and when a subscription is where the feed is, it becomes live: nothing is missing, nothing comes
twice. Schemas that are not known are learnt before anything of a chunk is shown.
Above: hub.py. Below: stream.py, client/fetch.py, ../schemas.py.
"""

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from kafkaesque.client.fetch import Fetched, Fetcher
from kafkaesque.errors import ErrorCode
from kafkaesque.gateway.fanout.delivery import Delivery
from kafkaesque.gateway.fanout.stats import Stats
from kafkaesque.gateway.fanout.stream import Stream
from kafkaesque.gateway.fanout.subscription import Subscription
from kafkaesque.records.record import Record
from kafkaesque.types import TopicPartition

if TYPE_CHECKING:
    from kafkaesque.gateway.schemas import Schemas

_SLICE_BYTES = 64 << 10
_OVERHEAD_BYTES = 100
_PATIENCE_TURNS = 10
_PATIENCE_SECONDS = 0.005
_TURN_CHUNKS = 32
"""After so many answers of the broker it is another partition's turn, if one waits."""


class CatchUp:
    def __init__(
        self,
        streams: "dict[str, Stream]",
        fetcher: Callable[[], Fetcher],
        flush: Callable[[], None],
        stats: Stats,
        schemas: "Schemas | None" = None,
    ) -> None:
        self._schemas = schemas
        self._streams = streams
        self._fetcher = fetcher
        self._flush = flush
        self._stats = stats
        self._event = asyncio.Event()
        self._taken: dict[TopicPartition, None] = {}

    def wake(self) -> None:
        """Somebody lags, or can take more."""
        self._event.set()

    async def run(self, readers: int) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(readers):
                group.create_task(self._work())

    async def _work(self) -> None:
        # A fetcher is made when it is needed first: most servers need one, and few need all.
        place = await self._next_place()
        async with self._fetcher() as fetcher:
            while True:
                try:
                    await self._read(fetcher, place)
                finally:
                    del self._taken[place]
                place = await self._next_place()

    async def _next_place(self) -> TopicPartition:
        while True:
            for place in self._waiting():
                self._taken[place] = None
                return place
            self._event.clear()
            await self._event.wait()

    def _waiting(self) -> Iterable[TopicPartition]:
        """Partitions where somebody could be given something, and no reader is."""
        for stream in list(self._streams.values()):
            for partition in list(stream.lagging):
                place = TopicPartition(stream.topic, partition)
                if place not in self._taken and self._ready(stream, partition):
                    yield place

    def _ready(self, stream: Stream, partition: int) -> list[int]:
        """Where those are who can take something; who has met the feed becomes live."""
        feed = stream.feeds.get(partition)
        if feed is None:
            return []
        positions = []
        for subscription in list(stream.lagging.get(partition, ())):
            assert subscription.lag is not None
            position = subscription.lag[partition]
            if position == feed.next:
                self._join(stream, subscription, partition)
            elif position < feed.next and not subscription.client.is_slow:
                positions.append(position)
        return positions

    async def _read(self, fetcher: Fetcher, place: TopicPartition) -> None:
        stream = self._streams.get(place.topic)
        positions = self._ready(stream, place.partition) if stream is not None else []
        if stream is None or not positions:
            return
        fetcher.seek(place, min(positions))
        try:
            for _ in range(_TURN_CHUNKS):
                for fetched in await fetcher.fetch():
                    if not await self._take(stream, fetched):
                        return
        finally:
            fetcher.forget(place)

    async def _take(self, stream: Stream, fetched: Fetched) -> bool:
        """Show what was read; whether somebody wants what comes next."""
        partition = fetched.place.partition
        if fetched.error == ErrorCode.OFFSET_OUT_OF_RANGE:
            self.expire(stream, partition, fetched.log_start_offset)
            return False
        if fetched.error is not ErrorCode.NONE:  # The hub meets the same, and deals with it.
            await asyncio.sleep(1)
            return False
        records = list(fetched.records())
        await self._learn(stream, records)
        members = {
            each: None
            for each in stream.lagging.get(partition, ())
            if not each.client.is_slow and _position(each, partition) >= fetched.offset
        }
        while members:
            everybody = list(members)
            await self._show(stream, partition, records, fetched.next_offset, members)
            if members:
                return any(_position(each, partition) >= 0 for each in members)
            members = await self._wait_for(everybody, partition)
        return False

    async def _learn(self, stream: Stream, records: Sequence[Record]) -> None:
        if self._schemas is None or not stream.reading_values:
            return
        data = [record.value for record in records]
        if stream.reading_keys:
            data += [record.key for record in records]
        if ids := self._schemas.missing(data):
            await self._schemas.learn(ids)

    async def _show(
        self,
        stream: Stream,
        partition: int,
        records: Sequence[Record],
        next_offset: int,
        members: dict[Subscription, None],
    ) -> None:
        """To those who can take it. Who becomes slow is left where it is, and no member then."""
        size = 0
        first = min(_position(each, partition) for each in members)
        for record in records[bisect_left(records, first, key=_offset) :]:
            feed = stream.feeds.get(partition)
            if feed is None or record.offset >= feed.next:
                break
            self._stats.catch_up_records += 1
            self._offer(stream, Delivery(stream.topic, partition, record), members)
            size += len(record.value or b"") + _OVERHEAD_BYTES
            if size >= _SLICE_BYTES:
                size = 0
                self._advance(stream, partition, record.offset + 1, members)
                self._flush()
                await asyncio.sleep(0)
            if not members:
                return
        self._advance(stream, partition, next_offset, members)
        self._flush()

    async def _wait_for(
        self, slow: Sequence[Subscription], partition: int
    ) -> dict[Subscription, None]:
        """All are slow. One who only catches its breath need not have everything read again."""
        for _ in range(_PATIENCE_TURNS):
            await asyncio.sleep(_PATIENCE_SECONDS)
            ready = {
                each: None
                for each in slow
                if not each.client.is_slow and _position(each, partition) >= 0
            }
            if ready:
                return ready
        return {}

    def _offer(self, stream: Stream, delivery: Delivery, members: dict[Subscription, None]) -> None:
        assert delivery.record is not None
        partition, offset = delivery.partition, delivery.offset
        for each in stream.interests.matching(partition, delivery.record):
            if each not in members or not 0 <= _position(each, partition) <= offset:
                continue
            if each.client.is_slow:
                stream.fall_behind(each, partition, offset)
                del members[each]
            else:
                each.client.deliver(each, delivery)

    def _advance(
        self, stream: Stream, partition: int, offset: int, members: Iterable[Subscription]
    ) -> None:
        """They have been shown all before this offset, or before the feed's if that is lower."""
        feed = stream.feeds.get(partition)
        if feed is None:
            return
        reached = min(offset, feed.next)
        for each in members:
            if 0 <= _position(each, partition) < reached:
                stream.fall_behind(each, partition, reached)
            if _position(each, partition) == feed.next:
                self._join(stream, each, partition)

    def _join(self, stream: Stream, subscription: Subscription, partition: int) -> None:
        if stream.catch_up(subscription, partition):
            subscription.client.caught_up(subscription)

    def expire(self, stream: Stream, partition: int, log_start_offset: int) -> None:
        """Records below this offset are gone."""
        for each in list(stream.lagging.get(partition, ())):
            position = _position(each, partition)
            if position < log_start_offset:
                each.client.tell_expired(each, partition, position, log_start_offset - 1)
                stream.fall_behind(each, partition, log_start_offset)


def _offset(record: Record) -> int:
    return record.offset


def _position(subscription: Subscription, partition: int) -> int:
    """Where it lags; −1 if it does not, or not any more."""
    return -1 if subscription.lag is None else subscription.lag.get(partition, -1)
