"""The middle of a worker: one feed from the cluster, and whoever has subscribed to parts of it.

    fetch.py → Hub._take → Stream.interests → Client.offer → a socket

No consumer group: each worker reads for itself, at the head, only the partitions that somebody
wants. A record is shown to the index of its topic, encoded once per form, and put into the clients
that match; after a slice of a few milliseconds each of them writes what it was given in one piece,
and the loop has its turn. A client that is slow never holds up the feed: the policies of its
subscriptions say what becomes of it (client.py). New topics and partitions are looked for.
Above: server.py, clients. Below: stream.py, catch_up.py, client/fetch.py.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kafkaesque.client.connection import ClusterError
from kafkaesque.client.fetch import EARLIEST, LATEST, Fetched, Fetcher
from kafkaesque.client.v1 import Policy, Start
from kafkaesque.errors import ErrorCode, KafkaError, StartError
from kafkaesque.gateway.fanout.catch_up import CatchUp
from kafkaesque.gateway.fanout.config import FanoutConfig
from kafkaesque.gateway.fanout.delivery import Delivery, Encoder
from kafkaesque.gateway.fanout.ring import Ring
from kafkaesque.gateway.fanout.stats import Stats, Topics
from kafkaesque.gateway.fanout.stream import Stream
from kafkaesque.gateway.fanout.subscription import Subscription
from kafkaesque.gateway.fanout.wants import Wants
from kafkaesque.records.record import Record
from kafkaesque.types import TopicPartition

if TYPE_CHECKING:
    from kafkaesque.gateway.fanout.client import Client

logger = logging.getLogger(__name__)

_SLICE_SECONDS = 0.002
_LOOK_EVERY_RECORDS = 32
_HEADS_SECONDS = 1.0
"""How long it is good enough to know where a partition that nobody reads has ended."""
_CATCH_UP_BYTES = 256 << 10
"""How much a catch-up reader asks for at a time: what slow clients leave is read again."""
_LOOK_AGAIN_SECONDS = 1.0
"""How soon to ask the cluster again about a topic that it did not have."""


class SubscribeError(Exception):
    """A subscription that cannot be: the reason, and what to do about it."""


class AwayError(SubscribeError):
    """The cluster does not answer now: whoever comes back may be luckier."""


class Prepared(NamedTuple):
    """What was found out for a subscription; `given` is where it begins, nothing: at the head."""

    stream: Stream
    wants: Wants
    given: Mapping[int, int]


class Hub:
    def __init__(self, config: FanoutConfig, stats: Stats) -> None:
        self.config = config
        self.stats = stats
        self.ring = Ring(config.ring_bytes)
        self.dirty: list[Client] = []
        """Clients that were given something since the last flush."""
        self.streams: dict[str, Stream] = {}
        self.is_ready = asyncio.Event()
        self._topics: dict[str, int] = {}
        self._looked_at = float("-inf")
        self._looking: asyncio.Task[None] | None = None
        self._fetcher = self._new_fetcher()
        self._catch_up = CatchUp(
            self.streams, partial(self._new_fetcher, _CATCH_UP_BYTES), self.flush, stats
        )
        self._adjusting: asyncio.Task[None] | None = None
        self._shown: list[int] = []

    async def run(self) -> None:
        """Until cancelled. Raises StartError if the cluster does not answer at the start."""
        async with self._fetcher:
            await self._begin_looking()
            self.is_ready.set()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._feed())
                group.create_task(self._look_regularly())
                group.create_task(self._catch_up.run(self.config.catch_up_readers))

    @property
    def topics(self) -> set[str]:
        return set(self._topics)

    def wake(self) -> None:
        """Somebody can take more, or wants what was before."""
        self._catch_up.wake()

    async def prepare(self, topic: str, wants: Wants, start: Start = "latest") -> Prepared:
        """Ask the cluster what there is to know before a subscription. Raises SubscribeError."""
        try:
            stream = await self._stream(topic)
            if isinstance(start, dict) and start.keys() - set(range(stream.partitions)):
                await self._look_once()  # Another worker has seen it grow.
            while True:
                prepared = Prepared(stream, wants, await self._given(stream, start))
                await self._read_for(prepared)
                if self.is_current(prepared):
                    return prepared
        except KafkaError as error:
            raise SubscribeError(f"{topic} cannot be read: {error.message}") from None
        except ClusterError:
            raise AwayError("the cluster does not answer: connect again in a while") from None

    def is_current(self, prepared: Prepared) -> bool:
        """Whether it can be joined; raises SubscribeError if it never will."""
        stream = prepared.stream
        if self.streams.get(stream.topic) is not stream:
            raise SubscribeError(f"topic {stream.topic!r} was deleted")
        has_grown = prepared.given and len(prepared.given) < stream.partitions
        return not has_grown and not self._missing(prepared)

    def join(
        self,
        prepared: Prepared,
        number: int,
        client: "Client",
        encoder: Encoder,
        policy: Policy = Policy.DROP_OLDEST,
        buffer: int | None = None,
    ) -> Subscription:
        """Subscribe, without waiting. Whatever comes after its position will be shown."""
        stream, wants, given = prepared
        limit = min(buffer or self.config.buffer, self.config.buffer)
        subscription = Subscription(number, client, stream, wants, encoder, policy, limit)
        stream.add(subscription, stream.heads, given)
        self.stats.subscriptions += 1
        self.wake()
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        if subscription.backlog is not None:
            subscription.backlog.clear()
            self.ring.sweep()
        subscription.stream.remove(subscription)
        self.stats.subscriptions -= 1

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

    async def _stream(self, topic: str) -> Stream:
        if topic not in self._topics:
            await self._look_once()
        partitions = self._topics.get(topic)
        if partitions is None:
            raise SubscribeError(f"there is no topic {topic!r}: create it, or correct its name")
        stream = self.streams.get(topic)
        if stream is None:
            stream = self.streams[topic] = Stream(topic, partitions)
        return stream

    async def _given(self, stream: Stream, start: Start) -> Mapping[int, int]:
        """Where a subscription begins in each partition; nothing: at the head."""
        if start == "latest":
            return {}
        places = [TopicPartition(stream.topic, each) for each in range(stream.partitions)]
        if isinstance(start, dict):
            offsets = await self._resumed(stream, places, start)
        else:
            at = EARLIEST if start == "earliest" else start
            offsets = await self._fetcher.offsets(places, at)
        return {place.partition: offset for place, offset in offsets.items()}

    def _missing(self, prepared: Prepared) -> list[int]:
        """Partitions that a new subscription needs, and nobody reads."""
        stream, wants, given = prepared
        homes = stream.homes_of(wants)
        needed = range(stream.partitions) if given or homes is None else homes
        return [partition for partition in needed if partition not in stream.feeds]

    async def _read_for(self, prepared: Prepared) -> None:
        """Begin the feeds that a new subscription needs, and know where the others would."""
        stream = prepared.stream
        missing = self._missing(prepared)
        if not missing and time.monotonic() < stream.heads_at + _HEADS_SECONDS:
            return
        heads = await self._ask_heads(stream)
        for partition in missing:
            if partition not in stream.feeds and partition in heads:
                self._begin(stream, partition, heads[partition])

    async def _ask_heads(self, stream: Stream) -> Mapping[int, int]:
        """Where the partitions end, and feeds are."""
        unfed = [
            TopicPartition(stream.topic, each)
            for each in range(stream.partitions)
            if each not in stream.feeds
        ]
        asked = await self._fetcher.offsets(unfed, LATEST) if unfed else {}
        heads = {place.partition: end for place, end in asked.items()}
        heads |= {partition: feed.next for partition, feed in stream.feeds.items()}
        stream.heads, stream.heads_at = heads, time.monotonic()
        return heads

    async def _resumed(
        self, stream: Stream, places: list[TopicPartition], start: Mapping[int, int]
    ) -> dict[TopicPartition, int]:
        """A partition that the client does not name was added since, and is read from its start."""
        unknown = start.keys() - {place.partition for place in places}
        if unknown:
            raise SubscribeError(
                f"{stream.topic} has no partition {min(unknown)}: it has {len(places)}"
            )
        ends = await self._fetcher.offsets(places, LATEST)
        unnamed = [place for place in places if place.partition not in start]
        begins = await self._fetcher.offsets(unnamed, EARLIEST) if unnamed else {}
        for place in places:
            if start.get(place.partition, 0) > ends[place]:
                raise SubscribeError(
                    f"partition {place.partition} of {stream.topic} ends at {ends[place]}, before "
                    f"{start[place.partition]}: it is not the topic it was; begin anew"
                )
        return {
            place: start[place.partition] if place.partition in start else begins[place]
            for place in places
        }

    def _begin(self, stream: Stream, partition: int, offset: int) -> None:
        stream.begin(partition, offset)
        self._fetcher.seek(TopicPartition(stream.topic, partition), offset)

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
                ends = await self._fetcher.offsets(missing, LATEST) if missing else {}
            except (ClusterError, KafkaError) as error:
                logger.warning("%s cannot be read: %s", stream.topic, error)
                continue
            for place, end in ends.items():
                if place.partition not in stream.feeds:
                    self._begin(stream, place.partition, end)
            for partition in stream.end_surplus():
                self._fetcher.forget(TopicPartition(stream.topic, partition))
        self.wake()

    async def _feed(self) -> None:
        linger_s = self.config.linger_ms / 1000
        due = 0.0
        while True:
            if (early := due - time.perf_counter()) > 0:
                await asyncio.sleep(early)
            try:
                found = await self._fetcher.fetch()
            except ClusterError as error:
                self.stats.unreachable = str(error)
                logger.error("%s", error)
                await asyncio.sleep(_LOOK_AGAIN_SECONDS)
                continue
            due = time.perf_counter() + linger_s
            for fetched in found:
                await self._take(fetched)
            self.flush()
            self.stats.bytes_fetched = self._fetcher.bytes_fetched

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
        for record in fetched.records():
            feed.next = record.offset
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
        feed.next = fetched.next_offset
        self.stats.records += count
        if partition in stream.lagging:
            self.wake()

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
        asyncio.get_running_loop().call_later(
            _LOOK_AGAIN_SECONDS, self._try_again, stream, partition
        )

    def _try_again(self, stream: Stream, partition: int) -> None:
        feed = stream.feeds.get(partition)
        if feed is not None and self.streams.get(stream.topic) is stream:
            self._fetcher.seek(TopicPartition(stream.topic, partition), feed.next)

    async def _skip(self, stream: Stream, partition: int, offset: int) -> None:
        """Retention was faster than we, or it is another topic of the same name."""
        place = TopicPartition(stream.topic, partition)
        first = (await self._fetcher.offsets([place], EARLIEST))[place]
        last = (await self._fetcher.offsets([place], LATEST))[place]
        following = first if offset < first else last
        feed = stream.feeds.get(partition)
        if feed is None:
            return
        for subscription in stream.subscriptions:
            is_live = subscription.lag is None or partition not in subscription.lag
            if is_live and stream.is_home(subscription, partition):
                subscription.client.tell_expired(subscription, partition, offset, following - 1)
        feed.next = following
        self._fetcher.seek(place, following)
        self._catch_up.expire(stream, partition, following)

    async def _begin_looking(self) -> None:
        try:
            await self._look()
        except (ClusterError, KafkaError) as error:
            raise StartError(str(error)) from None

    async def _look_regularly(self) -> None:
        while True:
            await asyncio.sleep(self.config.metadata_interval_s)
            try:
                await self._look_once()
            except (ClusterError, KafkaError) as error:
                self.stats.unreachable = str(error)
                continue
            await self._adjust()
            self.stats.lag = sum(
                feed.lag for stream in self.streams.values() for feed in stream.feeds.values()
            )

    async def _look_once(self) -> None:
        """Look which topics there are, together with whoever else wants to know."""
        if self._looking is None or self._looking.done():
            pause = self._looked_at + _LOOK_AGAIN_SECONDS - time.monotonic()
            self._looking = asyncio.create_task(self._look(max(0.0, pause)))
        await asyncio.shield(self._looking)

    async def _look(self, pause_s: float = 0.0) -> None:
        await asyncio.sleep(pause_s)
        found = await self._fetcher.partitions()
        self._looked_at = time.monotonic()
        self.stats.unreachable = ""
        if found.keys() != self._topics.keys() and self.stats.worker == 0:
            logger.info("discovered topics: %s", set(found) or "{}")
        self._topics = found
        for topic, stream in list(self.streams.items()):
            if topic not in found:
                self._forget(stream)
            elif found[topic] > stream.partitions:
                self._grow(stream, found[topic])

    def _grow(self, stream: Stream, partitions: int) -> None:
        new = range(stream.partitions, partitions)
        logger.info("%s has %d partitions now", stream.topic, partitions)
        stream.grow(partitions)
        for partition in new:
            self._begin(stream, partition, 0)
        self._adjust_soon()

    def _forget(self, stream: Stream) -> None:
        """The topic is gone."""
        del self.streams[stream.topic]
        for partition in stream.feeds:
            self._fetcher.forget(TopicPartition(stream.topic, partition))
        subscriptions: Iterable[Subscription] = list(stream.subscriptions)
        for subscription in subscriptions:
            subscription.client.topic_gone(subscription)
