"""The middle of a worker: one feed from the cluster, and whoever has subscribed to parts of it.

    fetch.py → Hub._take → Stream.interests → Client.offer → a socket

No consumer group: each worker reads for itself, at the head, only the partitions that somebody
wants. A record is shown to the index of its topic, encoded once per form, and put into the clients
that match; after a slice of a few milliseconds each of them writes what it was given in one piece,
and the loop has its turn. A client that is slow never holds up the feed: the policies of its
subscriptions say what becomes of it (client.py). New topics and partitions are looked for.

Where somebody wants to know what values say, a record whose schema is not known yet holds up its
partition, and no other: the partition is forgotten, the schema learnt, and the feed goes on with
that very record.
Above: door.py, joining.py. Below: stream.py, catch_up.py, lookout.py, client/fetch.py, ../schemas.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from kafkaesque.client.connection import ClusterError
from kafkaesque.client.fetch import EARLIEST, LATEST, Fetched, Fetcher
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.gateway.fanout.catch_up import CatchUp
from kafkaesque.gateway.fanout.config import FanoutConfig
from kafkaesque.gateway.fanout.delivery import Delivery
from kafkaesque.gateway.fanout.lookout import Lookout
from kafkaesque.gateway.fanout.ring import Ring
from kafkaesque.gateway.fanout.stats import Stats, Topics
from kafkaesque.gateway.fanout.stream import Stream
from kafkaesque.gateway.fanout.subscription import Subscription
from kafkaesque.records.record import Record
from kafkaesque.types import TopicPartition

if TYPE_CHECKING:
    from kafkaesque.gateway.fanout.client import Client
    from kafkaesque.gateway.schemas import Schemas

logger = logging.getLogger(__name__)

_SLICE_SECONDS = 0.002
_LOOK_EVERY_RECORDS = 32
_CATCH_UP_BYTES = 256 << 10
"""How much a catch-up reader asks for at a time: what slow clients leave is read again."""
_AGAIN_SECONDS = 1.0
"""How soon to try again what the cluster refuses."""
_MOST_IDS = 100
"""Schemas that are learnt before a partition goes on."""


class Hub:
    """`schemas` are a registry's; without one nothing is decoded."""

    def __init__(
        self, config: FanoutConfig, stats: Stats, schemas: "Schemas | None" = None
    ) -> None:
        self.config = config
        self.stats = stats
        self.schemas = schemas
        self.ring = Ring(config.ring_bytes)
        self.dirty: list[Client] = []
        """Clients that were given something since the last flush."""
        self.streams: dict[str, Stream] = {}
        self.is_ready = asyncio.Event()
        self.fetcher = self._new_fetcher()
        self.lookout = Lookout(self.fetcher, stats, self._see)
        self._catch_up = CatchUp(
            self.streams, partial(self._new_fetcher, _CATCH_UP_BYTES), self.flush, stats, schemas
        )
        self._adjusting: asyncio.Task[None] | None = None
        self._tasks: asyncio.TaskGroup | None = None
        self._shown: list[int] = []

    async def run(self) -> None:
        """Until cancelled. Raises StartError if the cluster does not answer at the start."""
        async with self.fetcher:
            await self.lookout.begin()
            self.is_ready.set()
            async with asyncio.TaskGroup() as group:
                self._tasks = group
                group.create_task(self._feed())
                group.create_task(self._look_regularly())
                group.create_task(self._catch_up.run(self.config.catch_up_readers))
                if self.schemas is not None:
                    group.create_task(self.schemas.run())

    def wake(self) -> None:
        """Somebody can take more, or wants what was before."""
        self._catch_up.wake()

    def flush(self) -> None:
        """Every client writes what it was given."""
        dirty, self.dirty = self.dirty, []
        for client in dirty:
            client.flush()
        if self._shown:
            now_ms = time.time() * 1000
            for timestamp, times in Counter(self._shown).items():
                self.stats.latency.observe(max(0.0, (now_ms - timestamp) / 1000), times)
            self._shown.clear()

    def figures(self) -> Topics:
        """Of each topic that somebody reads."""
        return {
            topic: {
                "partitions": stream.partitions,
                "partitions_read": len(stream.feeds),
                "subscriptions": len(stream.subscriptions),
                "lag": sum(feed.lag for feed in stream.feeds.values()),
            }
            for topic, stream in self.streams.items()
            if stream.subscriptions
        }

    def _new_fetcher(self, partition_max_bytes: int = 1 << 20) -> Fetcher:
        return Fetcher(
            self.config.connection,
            tell=self._tell,
            max_wait_ms=self.config.max_wait_ms,
            partition_max_bytes=partition_max_bytes,
            read_committed=self.config.read_committed,
        )

    def _tell(self, sentence: str) -> None:
        logger.warning("%s", sentence)

    def begin(self, stream: Stream, partition: int, offset: int) -> None:
        stream.begin(partition, offset)
        self.fetcher.seek(TopicPartition(stream.topic, partition), offset)

    def _adjust_soon(self) -> None:
        """Other partitions are wanted than before."""
        if self._adjusting is None or self._adjusting.done():
            self._adjusting = asyncio.create_task(self._adjust())

    async def _adjust(self) -> None:
        """Read what is wanted, and nothing else."""
        for stream in list(self.streams.values()):
            stream.narrow()
            missing = [TopicPartition(stream.topic, each) for each in sorted(stream.missing())]
            try:
                ends = await self.fetcher.offsets(missing, LATEST) if missing else {}
            except (ClusterError, KafkaError) as error:
                logger.warning("%s cannot be read: %s", stream.topic, error)
                continue
            if self.streams.get(stream.topic) is not stream:
                continue
            for place, end in ends.items():
                if place.partition not in stream.feeds:
                    self.begin(stream, place.partition, end)
            for partition in stream.end_surplus():
                self.fetcher.forget(TopicPartition(stream.topic, partition))
        self.wake()

    async def _feed(self) -> None:
        linger_s = self.config.linger_ms / 1000
        due = 0.0
        while True:
            if (early := due - time.perf_counter()) > 0:
                await asyncio.sleep(early)
            try:
                found = await self.fetcher.fetch()
            except ClusterError as error:
                self.stats.unreachable = str(error)
                logger.error("%s", error)
                await asyncio.sleep(_AGAIN_SECONDS)
                continue
            due = time.perf_counter() + linger_s
            for fetched in found:
                await self._take(fetched)
            self.flush()
            self.stats.bytes_fetched = self.fetcher.bytes_fetched

    async def _take(self, fetched: Fetched) -> None:
        stream = self.streams.get(fetched.place.topic)
        feed = stream.feeds.get(fetched.place.partition) if stream is not None else None
        if stream is None or feed is None or feed.next != fetched.offset:
            return  # It came too late: nobody wants it any more.
        if fetched.error is not ErrorCode.NONE:
            await self._recover(stream, fetched)
            return
        partition = fetched.place.partition
        feed.high_watermark = fetched.high_watermark
        since = time.perf_counter()
        count = 0
        records = fetched.records()
        for record in records:
            feed.next = record.offset
            if stream.reading_values and self._must_learn(stream, partition, record, records):
                break
            if stream.learns and stream.placement.seen.get(record.key) != partition:
                self._learn(stream, partition, record)
            self._show(stream, partition, record)
            feed.next = record.offset + 1
            count += 1
            if count % _LOOK_EVERY_RECORDS == 0 and time.perf_counter() - since > _SLICE_SECONDS:
                self.flush()
                await asyncio.sleep(0)
                if stream.feeds.get(partition) is not feed:
                    return
                since = time.perf_counter()
        else:
            feed.next = fetched.next_offset
        self.stats.records += count
        if partition in stream.lagging:
            self.wake()

    def _must_learn(
        self, stream: Stream, partition: int, record: Record, following: Iterator[Record]
    ) -> bool:
        """Whether a schema is not known yet: then the partition goes on once it is.

        Nothing is awaited here, and `feed.next` is the record's: whoever joins, pauses or asks for
        a position meanwhile finds what is true.
        """
        ids = self._missing(stream, record)
        if not ids:
            return False
        for each in following:
            if len(ids) >= _MOST_IDS:
                break
            ids |= self._missing(stream, each)
        self.fetcher.forget(TopicPartition(stream.topic, partition))
        assert self._tasks is not None
        self._tasks.create_task(self._go_on_knowing(stream, partition, ids))
        return True

    def _missing(self, stream: Stream, record: Record) -> set[int]:
        assert self.schemas is not None
        keys = (record.key,) if stream.reading_keys else ()
        return self.schemas.missing((record.value, *keys))

    async def _go_on_knowing(self, stream: Stream, partition: int, ids: set[int]) -> None:
        assert self.schemas is not None
        await self.schemas.learn(ids)
        self._try_again(stream, partition)

    def _learn(self, stream: Stream, partition: int, record: Record) -> None:
        if stream.observe(record.key, partition):
            self._adjust_soon()

    def _show(self, stream: Stream, partition: int, record: Record) -> None:
        found = stream.interests.matching(partition, record)
        if not found:
            return
        self._shown.append(record.timestamp)
        if len(found) == 1 and (subscription := found[0]).is_at_ease:
            data = subscription.encoder(subscription.id, stream.topic, partition, record)
            subscription.client.send(subscription, data, partition, record.offset)
            return
        delivery = Delivery(stream.topic, partition, record)
        for subscription in found:
            lag = subscription.lag
            if lag is None or partition not in lag:
                subscription.client.offer(subscription, delivery)

    async def _recover(self, stream: Stream, fetched: Fetched) -> None:
        """The feed of a partition cannot go on where it was."""
        partition = fetched.place.partition
        if fetched.error == ErrorCode.OFFSET_OUT_OF_RANGE:
            with suppress(ClusterError, KafkaError):
                await self._skip(stream, partition, fetched.offset)
                return
        logger.warning("%s cannot be read: %s", fetched.place, fetched.error.name)
        asyncio.get_running_loop().call_later(_AGAIN_SECONDS, self._try_again, stream, partition)

    def _try_again(self, stream: Stream, partition: int) -> None:
        feed = stream.feeds.get(partition)
        if feed is not None and self.streams.get(stream.topic) is stream:
            self.fetcher.seek(TopicPartition(stream.topic, partition), feed.next)

    async def _skip(self, stream: Stream, partition: int, offset: int) -> None:
        """Retention was faster than we, or it is another topic of the same name."""
        place = TopicPartition(stream.topic, partition)
        first = (await self.fetcher.offsets([place], EARLIEST))[place]
        last = (await self.fetcher.offsets([place], LATEST))[place]
        following = first if offset < first else last
        feed = stream.feeds.get(partition)
        if feed is None:
            return
        for subscription in stream.subscriptions:
            is_live = subscription.lag is None or partition not in subscription.lag
            if is_live and stream.is_home(subscription, partition):
                subscription.client.tell_expired(subscription, partition, offset, following - 1)
        feed.next = following
        self.fetcher.seek(place, following)
        self._catch_up.expire(stream, partition, following)

    async def _look_regularly(self) -> None:
        while True:
            await asyncio.sleep(self.config.metadata_interval_s)
            if await self.lookout.try_to_look():
                await self._adjust()
            self.stats.lag = sum(
                feed.lag for stream in self.streams.values() for feed in stream.feeds.values()
            )

    def _see(self, topics: Mapping[str, int]) -> None:
        """What there is now."""
        for topic, stream in list(self.streams.items()):
            if topic not in topics:
                self._forget(stream)
            elif topics[topic] > stream.partitions:
                self._grow(stream, topics[topic])

    def _grow(self, stream: Stream, partitions: int) -> None:
        new = range(stream.partitions, partitions)
        logger.info("%s has %d partitions now", stream.topic, partitions)
        stream.grow(partitions)
        for partition in new:
            self.begin(stream, partition, 0)
        self._adjust_soon()

    def _forget(self, stream: Stream) -> None:
        """The topic is gone."""
        del self.streams[stream.topic]
        for partition in stream.feeds:
            self.fetcher.forget(TopicPartition(stream.topic, partition))
        subscriptions: Iterable[Subscription] = list(stream.subscriptions)
        for subscription in subscriptions:
            subscription.client.topic_gone(subscription)
