"""How a subscription comes about: what the cluster has to be asked first, and the moment it joins.

`prepare` waits for the cluster; `join` does not wait, so that whoever has prepared several can let
them begin at the same moment. In between the world may change: `is_current` says whether what was
found out is still so. Above: clients. Below: hub.py, lookout.py, stream.py.
"""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kafkaesque.client.connection import ClusterError
from kafkaesque.client.fetch import EARLIEST, LATEST
from kafkaesque.client.v1 import Policy, Start
from kafkaesque.errors import KafkaError
from kafkaesque.gateway.fanout.delivery import Encoder
from kafkaesque.gateway.fanout.hub import Hub
from kafkaesque.gateway.fanout.stream import Stream
from kafkaesque.gateway.fanout.subscription import Subscription
from kafkaesque.gateway.fanout.wants import Wants
from kafkaesque.types import TopicPartition

if TYPE_CHECKING:
    from kafkaesque.gateway.fanout.client import Client

_HEADS_SECONDS = 1.0
"""How long it is good enough to know where a partition that nobody reads has ended."""


class SubscribeError(Exception):
    """A subscription that cannot be: the reason, and what to do about it."""


class AwayError(SubscribeError):
    """The cluster does not answer now: whoever comes back may be luckier."""


class Prepared(NamedTuple):
    """What was found out for a subscription; `given` is where it begins, nothing: at the head."""

    stream: Stream
    wants: Wants
    given: Mapping[int, int]


class Joining:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._fetcher = hub.fetcher

    async def prepare(self, topic: str, wants: Wants, start: Start = "latest") -> Prepared:
        """Ask the cluster what there is to know before a subscription. Raises SubscribeError."""
        try:
            stream = await self._stream(topic)
            if isinstance(start, dict) and start.keys() - set(range(stream.partitions)):
                await self._hub.lookout.look()  # Another worker has seen it grow.
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
        if self._hub.streams.get(stream.topic) is not stream:
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
        decodes: bool = False,
    ) -> Subscription:
        """Subscribe, without waiting. Whatever comes after its position will be shown."""
        stream, wants, given = prepared
        limit = min(buffer or self._hub.config.buffer, self._hub.config.buffer)
        subscription = Subscription(number, client, stream, wants, encoder, policy, limit, decodes)
        stream.add(subscription, stream.heads, given)
        self._hub.stats.subscriptions += 1
        self._hub.wake()
        return subscription

    def leave(self, subscription: Subscription) -> None:
        if subscription.backlog is not None:
            subscription.backlog.clear()
            self._hub.ring.sweep()
        subscription.stream.remove(subscription)
        self._hub.stats.subscriptions -= 1

    async def _stream(self, topic: str) -> Stream:
        if topic not in self._hub.lookout.topics:
            await self._hub.lookout.look()
        partitions = self._hub.lookout.topics.get(topic)
        if partitions is None:
            raise SubscribeError(f"there is no topic {topic!r}: create it, or correct its name")
        stream = self._hub.streams.get(topic)
        if stream is None:
            stream = self._hub.streams[topic] = Stream(topic, partitions, self._hub.schemas)
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
                self._hub.begin(stream, partition, heads[partition])

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
