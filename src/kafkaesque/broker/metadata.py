"""Topics, settings and producer ids as records of `__cluster_metadata`, in KRaft's own formats.

The journal of topics.py: each change is one batch, applied when it is durable. At start the records
are replayed into an image first, and partitions are opened only for the topics that are left at the
end of it. Shortening the log writes the state in memory again, so it waits until every change that
is in the log is in memory too, and new ones wait for it.
"""

import asyncio
from collections.abc import AsyncIterator, Generator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from itertools import chain, islice
from random import randrange
from uuid import UUID

from kafkaesque.broker.config import NODE_ID, Config
from kafkaesque.broker.partition import LEADER_EPOCH, Partition
from kafkaesque.broker.state_log import Entry, StateLog
from kafkaesque.broker.topics import Apply, Change, InSteps, Topic, Topics
from kafkaesque.protocol.messages.internal import (
    ConfigRecord,
    MetadataRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RemoveTopicRecord,
    TopicRecord,
    decode_metadata_record,
    encode_metadata_record,
)
from kafkaesque.protocol.schema import ZERO_UUID

_PRODUCER_IDS_BLOCK = 1000
_FIRST_BLOCKS = 1 << 40
"""A log without producer ids begins anywhere among these. A producer that outlives a broker whose
data is gone must not meet its own id again in another's hands: batches would pass for duplicates.
"""

_RECORDS_IN_A_STEP = 128


class Resource(IntEnum):
    """What a setting belongs to, as in DescribeConfigs and ConfigRecord."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


@dataclass(slots=True)
class _Image:
    """What the records say, before anything is opened."""

    names: dict[UUID, str] = field(default_factory=dict)
    ids: dict[str, UUID] = field(default_factory=dict)
    partitions: dict[UUID, int] = field(default_factory=dict)
    topic_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    broker_configs: dict[str, str] = field(default_factory=dict)
    next_producer_id: int | None = None
    removed: dict[UUID, str] = field(default_factory=dict)
    """Topics that were deleted, and their names if known: their files may still be there."""

    def apply(self, record: MetadataRecord | None) -> None:
        match record:
            case TopicRecord():
                self.names[record.topic_id] = record.name
                self.ids[record.name] = record.topic_id
            case PartitionRecord():
                count = max(self.partitions.get(record.topic_id, 0), record.partition_id + 1)
                self.partitions[record.topic_id] = count
            case RemoveTopicRecord():
                self._remove(record.topic_id)
            case ConfigRecord():
                self._configure(record)
            case ProducerIdsRecord():
                self.next_producer_id = record.next_producer_id
            case _:
                pass

    def _remove(self, topic_id: UUID) -> None:
        self.partitions.pop(topic_id, None)
        name = self.names.pop(topic_id, None)
        self.removed.setdefault(topic_id, name or "")
        if name is not None:
            del self.ids[name]
            self.topic_configs.pop(name, None)

    def _configure(self, record: ConfigRecord) -> None:
        configs = self.broker_configs
        if record.resource_type == Resource.TOPIC:
            if record.resource_name not in self.ids:
                return  # Its topic was deleted: the next one of that name begins without it.
            configs = self.topic_configs.setdefault(record.resource_name, {})
        if record.value is None:
            configs.pop(record.name, None)
        else:
            configs[record.name] = record.value


class _Gate:
    """Many may pass at a time. Whoever shuts it waits until the last of them is through."""

    def __init__(self) -> None:
        self._passing = 0
        self._is_open = asyncio.Event()
        self._is_open.set()
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    @asynccontextmanager
    async def passed(self) -> AsyncIterator[None]:
        while not self._is_open.is_set():
            await self._is_open.wait()
        self._passing += 1
        self._is_empty.clear()
        try:
            yield
        finally:
            self._passing -= 1
            if not self._passing:
                self._is_empty.set()

    @asynccontextmanager
    async def shut(self) -> AsyncIterator[None]:
        self._is_open.clear()
        try:
            await self._is_empty.wait()
            yield
        finally:
            self._is_open.set()


class Metadata:
    """The cluster's metadata log."""

    def __init__(self, log: StateLog, topics: Topics, config: Config) -> None:
        self._log = log
        self._topics = topics
        self._config = config
        self._gate = _Gate()
        self._configuring = asyncio.Lock()
        self._next_producer_id = 0
        self._reserved_producer_ids = 0
        self.removed_topics: Mapping[UUID, str] = {}
        """Topics that were deleted, and whose files may still be there since an earlier run; their
        names if known.
        """

    @property
    def partition(self) -> Partition:
        return self._log.partition

    def load(self) -> None:
        """Replay the log and open what it names."""
        image = _Image()
        self._log.replay(lambda _, value: image.apply(decode_metadata_record(value or b"")))
        first = image.next_producer_id
        if first is None:
            first = randrange(_FIRST_BLOCKS) * _PRODUCER_IDS_BLOCK
        self._next_producer_id = self._reserved_producer_ids = first
        self.removed_topics = image.removed
        self._config.dynamic = image.broker_configs
        self._config.refresh()
        for topic_id, name in image.names.items():
            overrides = image.topic_configs.get(name, {})
            topic = Topic(name, topic_id, overrides, self._config.topic(overrides))
            self._topics.add(topic, image.partitions.get(topic_id, 0))

    async def topic_created(
        self, topic: Topic, partitions: int, apply: Apply, run: InSteps
    ) -> None:
        records = chain(_topic_records(topic), _partition_records(topic, 0, partitions))
        await self._append(await run(_entries_in_steps(records)), apply)

    async def topic_grown(
        self, topic: Topic, first: int, count: int, apply: Apply, run: InSteps
    ) -> None:
        records = _partition_records(topic, first, count)
        await self._append(await run(_entries_in_steps(records)), apply)

    async def topic_deleted(self, topic: Topic, apply: Apply) -> None:
        await self._change([RemoveTopicRecord(topic_id=topic.id)], apply)

    async def topic_configured(
        self, topic: Topic, changes: Mapping[str, str | None], apply: Apply
    ) -> None:
        await self._change(_config_records(Resource.TOPIC, topic.name, changes), apply)

    async def configure_broker(self, change: Change) -> None:
        """Change settings of the running broker, for good."""
        async with self._configuring:
            changes = change()
            records = _config_records(Resource.BROKER, "", changes)
            await self._change(records, partial(self._configure_broker, changes))

    def _configure_broker(self, changes: Mapping[str, str | None]) -> None:
        merged = {**self._config.dynamic, **changes}
        self._config.dynamic = {name: value for name, value in merged.items() if value is not None}
        self._config.refresh()
        self._topics.refresh()

    async def new_producer_id(self) -> int:
        """An id that was never given out before, and never will be again, whatever happens."""
        while self._next_producer_id == self._reserved_producer_ids:
            reserved = self._reserved_producer_ids + _PRODUCER_IDS_BLOCK
            await self._change([_producer_ids(reserved)], partial(self._reserve, reserved))
        producer_id = self._next_producer_id
        self._next_producer_id += 1
        return producer_id

    def _reserve(self, producer_ids: int) -> None:
        self._reserved_producer_ids = max(producer_ids, self._reserved_producer_ids)

    async def compact(self) -> None:
        """Shorten the log, if it has grown enough for it, and is not being repaired."""
        if self._log.is_long and self.partition.offline is None:
            async with self._gate.shut():
                await self._log.compact(self._live_state())

    def _live_state(self) -> Iterator[list[Entry]]:
        brokers = _config_records(Resource.BROKER, "", self._config.dynamic)
        yield _entries([*brokers, _producer_ids(self._reserved_producer_ids)])
        yield _entries(self._leaving_records())
        for topic in self._topics:
            records = _partition_records(topic, 0, len(topic.partitions))
            yield _entries([*_topic_records(topic), *records])

    def _leaving_records(self) -> list[MetadataRecord]:
        """With their names: files that a power cut has left may not say whose they are. Those of a
        name that is taken again are another's.
        """
        leaving = {**self.removed_topics, **self._topics.leaving()}
        records: list[MetadataRecord] = []
        for topic_id, name in sorted(leaving.items()):
            if name and name not in self._topics:
                records.append(TopicRecord(name=name, topic_id=topic_id))
            records.append(RemoveTopicRecord(topic_id=topic_id))
        return records

    async def _change(self, records: list[MetadataRecord], apply: Apply) -> None:
        """Append a change, and let it take effect when it is durable."""
        await self._append(_entries(records), apply)

    async def _append(self, entries: list[Entry], apply: Apply) -> None:
        async with self._gate.passed():
            await self._log.append(entries)
            apply()


def _entries(records: Iterable[MetadataRecord]) -> list[Entry]:
    return [(None, encode_metadata_record(record)) for record in records]


def _entries_in_steps(records: Iterator[MetadataRecord]) -> Generator[None, None, list[Entry]]:
    """Of a topic, which may have thousands of partitions."""
    entries = _entries(islice(records, _RECORDS_IN_A_STEP))
    while more := _entries(islice(records, _RECORDS_IN_A_STEP)):
        yield
        entries += more
    return entries


def _topic_records(topic: Topic) -> list[MetadataRecord]:
    configs = _config_records(Resource.TOPIC, topic.name, topic.overrides)
    return [TopicRecord(name=topic.name, topic_id=topic.id), *configs]


def _partition_records(topic: Topic, first: int, count: int) -> Iterator[MetadataRecord]:
    for index in range(first, first + count):
        yield PartitionRecord(
            partition_id=index,
            topic_id=topic.id,
            replicas=[NODE_ID],
            isr=[NODE_ID],
            leader=NODE_ID,
            leader_epoch=LEADER_EPOCH,
            directories=[ZERO_UUID],
        )


def _config_records(
    resource: Resource, name: str, changes: Mapping[str, str | None]
) -> list[MetadataRecord]:
    return [
        ConfigRecord(resource_type=resource, resource_name=name, name=key, value=value)
        for key, value in changes.items()
    ]


def _producer_ids(next_producer_id: int) -> ProducerIdsRecord:
    return ProducerIdsRecord(broker_id=NODE_ID, broker_epoch=0, next_producer_id=next_producer_id)
