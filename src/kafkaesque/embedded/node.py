"""The broker as the embedded classes use it. Every method here runs on the broker's loop.

It appends and reads as apis/produce.py and apis/fetch.py do, without a wire between. A put returns
when its event is durable and seen, and, in a bounded topic, when what fell off is on the shelf.
Above: kafkaesque.py, members.py. Below: broker/.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.topics import NewTopic, Topic
from kafkaesque.embedded.bounds import Bounds
from kafkaesque.embedded.events import OffsetOutOfRangeError, event_of
from kafkaesque.embedded.reading import page
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.event import Event
from kafkaesque.groups.events import CheckCommit, Reply
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.records.batch import HEADER_SIZE, Record, new_batch
from kafkaesque.records.compression import Codec
from kafkaesque.records.murmur2 import partition_for_key
from kafkaesque.records.record import Headers
from kafkaesque.types import TopicPartition

_BATCH_BYTES = 256 << 10
_RECORD_OVERHEAD = 64
_CREATION_POLL_SECONDS = 0.001


@dataclass(frozen=True, slots=True)
class NewEvent:
    """Key, value and headers as bytes."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()

    @property
    def size(self) -> int:
        """What it takes in a batch, at most."""
        headers = sum(len(name) + len(value or b"") for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers + _RECORD_OVERHEAD


@dataclass(frozen=True, slots=True)
class Span:
    """The offsets that a partition holds: from `start` to before `end`."""

    name: TopicPartition
    start: int
    end: int


class Node:
    """One broker, for those who live in its process."""

    def __init__(self, broker: Broker, partitions: int, bounds: Bounds | None) -> None:
        self.broker = broker
        self._partitions = partitions
        self._bounds = bounds
        self._turns: dict[str, int] = {}

    def topics(self) -> list[Topic]:
        return [topic for topic in self.broker.topics if not topic.is_internal]

    def find(self, topic: str, partition: int | None) -> Partition:
        """A partition by number; without one, the only one that there is."""
        found = self.broker.topics.named(topic)
        if partition is None and len(found.partitions) > 1:
            message = f"{topic} has partitions 0 to {len(found.partitions) - 1}: say which one"
            raise KafkaError(ErrorCode.INVALID_REQUEST, message)
        return found.partition(partition or 0)

    async def create(
        self, name: str, partitions: int | None = None, configs: Mapping[str, str] | None = None
    ) -> None:
        count = self._partitions if partitions is None else partitions
        if count < 1:
            message = f"{name} with {count} partitions: a topic has 1 at least"
            raise KafkaError(ErrorCode.INVALID_PARTITIONS, message)
        new = NewTopic(name, count, configs or {})
        if self._bounds:
            self._bounds.check_topic(name)
        await self.broker.topics.create(new)

    async def delete(self, name: str) -> None:
        await self.broker.delete_topic(self.broker.topics.named(name))

    async def append(
        self, name: str, events: Sequence[NewEvent], partition: int | None = None
    ) -> list[int]:
        """Append events, each to the partition of its key; their offsets, in the same order."""
        topic = await self._topic(name)
        _check_keys(topic, events)
        turn = self._turns[name] = self._turns.get(name, -1) + 1
        count = len(topic.partitions)
        shares: dict[int, list[int]] = {}
        for at, event in enumerate(events):
            where = partition
            if where is None:
                where = turn % count if event.key is None else partition_for_key(event.key, count)
            shares.setdefault(where, []).append(at)
        touched = [topic.partition(where) for where in shares]
        # All of them are made, and so checked, before one is appended.
        made = [self._batches(topic, [events[at] for at in share]) for share in shares.values()]
        for target in touched:
            target.check_online()
        offsets = [0] * len(events)
        for target, share, batches in zip(touched, shares.values(), made, strict=True):
            first = target.log.end_offset
            for batch in batches:
                target.append(memoryview(batch))
            for position, at in enumerate(share):
                offsets[at] = first + position
        await self._settle(touched)
        return offsets

    async def _topic(self, name: str) -> Topic:
        """The topic, made if it is not there. Another thread or client may just be making it."""
        while name not in self.broker.topics:
            try:
                await self.create(name)
            except KafkaError as error:
                if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise
                await asyncio.sleep(_CREATION_POLL_SECONDS)
        topic = self.broker.topics.named(name)
        if topic.is_internal:
            message = f"{name} is the broker's own: it may be read, not written"
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
        return topic

    def _batches(self, topic: Topic, events: Sequence[NewEvent]) -> list[bytearray]:
        """As many as it takes. Raises MESSAGE_TOO_LARGE for an event that no batch can hold."""
        now_ms = self.broker.clock()
        limit = topic.config.max_message_bytes
        codec = topic.config.codec or Codec.NONE
        made: list[bytearray] = []
        batch: list[Record] = []
        size = HEADER_SIZE
        for event in events:
            if batch and size + event.size > min(_BATCH_BYTES, limit):
                made.append(new_batch(batch, codec=codec))
                batch, size = [], HEADER_SIZE
            batch.append(Record(len(batch), now_ms, event.key, event.value, event.headers))
            size += event.size
        if batch:
            made.append(new_batch(batch, codec=codec))
        if (largest := max(map(len, made), default=0)) > limit:
            message = f"an event of {largest} bytes exceeds max.message.bytes={limit}"
            raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, f"{message} of {topic.name}")
        return made

    async def _settle(self, partitions: Sequence[Partition]) -> None:
        """Wait until all that these hold now is durable."""
        # All at once: by the time that one is durable, another may have lost what it holds now.
        waiting = [partition.durable(partition.log.end_offset) for partition in partitions]
        for durable in waiting:
            if durable is not None:
                await durable
        if self._bounds:
            await self._bounds.enforce(self.broker, partitions)

    async def event(self, topic: str, n: int, partition: int | None = None) -> Event:
        """The event at offset n; −1 is the latest, and so on back."""
        source = self.find(topic, partition)
        source.check_online()
        start, end = source.log.log_start_offset, source.high_watermark
        offset = n if n >= 0 else end + n
        if not start <= offset < end:
            raise OffsetOutOfRangeError(_not_there(source.name, n, start, end), start)
        found = await page(source, offset)
        if not found or found[0].record.offset != offset:
            message = f"offset {offset} of {source.name} is gone: it was compacted away"
            raise OffsetOutOfRangeError(message, start)
        return event_of(source.name, found[0])

    async def earliest(self, topic: str, partition: int | None = None) -> Event:
        start = self.find(topic, partition).log.log_start_offset
        return await self.event(topic, start, partition)

    async def events(
        self, topic: str, start: int, end: int, partition: int | None = None
    ) -> list[Event]:
        """Some of the events from `start` to before `end`: at least one, where there is one."""
        source = self.find(topic, partition)
        start = max(start, source.log.log_start_offset)
        found = await page(source, start)
        return [event_of(source.name, each) for each in found if each.record.offset < end]

    async def spans(self, topic: str) -> list[Span]:
        return [span_of(partition) for partition in self.broker.topics.named(topic).partitions]

    async def span(self, topic: str, partition: int | None) -> Span:
        return span_of(self.find(topic, partition))

    async def partition_count(self, topic: str) -> int:
        return len(self.broker.topics.named(topic).partitions)

    async def commit(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int],
        member: str = "",
        generation: int = -1,
    ) -> None:
        """Commit where a group goes on reading, as OffsetCommit does."""
        partitions = [self.find(*name) for name in offsets]
        coordinator = self.broker.coordinator
        reply = coordinator.future()
        coordinator.ask(group, CheckCommit(reply, generation, member))
        if error := cast(Reply, await reply).error:
            message = f"{group} has members that read for it: its offsets are theirs to commit"
            raise KafkaError(error, message if not member else "")
        # Deleted meanwhile: a topic that is made anew under the name must not begin there.
        if any(partition.is_closed for partition in partitions):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        now_ms = self.broker.clock()
        await coordinator.commit(
            group,
            {
                name: CommittedOffset(offset, commit_timestamp_ms=now_ms)
                for name, offset in offsets.items()
            },
        )

    async def commit_one(self, group: str, topic: str, offset: int, partition: int | None) -> None:
        if offset < 0:
            raise ValueError(f"{offset} is no offset: they begin at 0")
        await self.commit(group, {self.find(topic, partition).name: offset})

    async def committed(self, group: str, topic: str, partition: int | None) -> int | None:
        name = self.find(topic, partition).name
        found = self.broker.coordinator.table.offsets.fetch(group, name)
        return None if found is None else found.offset

    async def enforce_bounds(self) -> None:
        """What was bounded less, or not at all, when it was written."""
        if self._bounds:
            for topic in self.topics():
                self._bounds.check_topic(topic.name)
            # One after the other: of each, many events are in memory on their way to the shelf.
            for partition in [p for topic in self.topics() for p in topic.partitions]:
                await self._bounds.enforce(self.broker, [partition])


def span_of(partition: Partition) -> Span:
    """Raises KafkaError while the partition is offline: it may not know what it holds."""
    partition.check_online()
    return Span(partition.name, partition.log.log_start_offset, partition.high_watermark)


def _check_keys(topic: Topic, events: Sequence[NewEvent]) -> None:
    if topic.config.compacted and any(event.key is None for event in events):
        message = f"{topic.name} is compacted: each event needs a key"
        raise KafkaError(ErrorCode.INVALID_RECORD, message)


def _not_there(name: TopicPartition, n: int, start: int, end: int) -> str:
    if start == end:
        return f"{name} is empty: the earliest offset will be {start}"
    if 0 <= n < start:
        return f"offset {n} of {name} is gone: the earliest there is is {start}"
    if n < 0:
        return f"{name} has {end - start} events, no {-n}: the earliest offset there is is {start}"
    return f"offset {n} of {name} is not there yet: the earliest is {start}, the latest {end - 1}"
