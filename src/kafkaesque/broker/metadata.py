"""Topics, settings and producer ids as records of `__cluster_metadata`, in KRaft's own formats.

The journal of topics.py: each change is one batch, applied when it is durable. At start the records
are replayed into an image first, and partitions are opened only for the topics that are left at the
end of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from uuid import UUID

from kafkaesque.broker.config import NODE_ID, Config
from kafkaesque.broker.partition import LEADER_EPOCH
from kafkaesque.broker.state_log import Entry, StateLog
from kafkaesque.broker.topics import Topic, Topics
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


class Resource(IntEnum):
    """What a setting belongs to, as in DescribeConfigs and ConfigRecord."""

    TOPIC = 2
    BROKER = 4


@dataclass(slots=True)
class _Image:
    """What the records say, before anything is opened."""

    names: dict[UUID, str] = field(default_factory=dict)
    partitions: dict[UUID, int] = field(default_factory=dict)
    topic_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    broker_configs: dict[str, str] = field(default_factory=dict)
    next_producer_id: int = 0

    def apply(self, record: MetadataRecord | None) -> None:
        match record:
            case TopicRecord():
                self.names[record.topic_id] = record.name
            case PartitionRecord():
                count = max(self.partitions.get(record.topic_id, 0), record.partition_id + 1)
                self.partitions[record.topic_id] = count
            case RemoveTopicRecord():
                self.topic_configs.pop(self.names.pop(record.topic_id, ""), None)
                self.partitions.pop(record.topic_id, None)
            case ConfigRecord():
                self._configure(record)
            case ProducerIdsRecord():
                self.next_producer_id = record.next_producer_id
            case _:
                pass

    def _configure(self, record: ConfigRecord) -> None:
        configs = self.broker_configs
        if record.resource_type == Resource.TOPIC:
            configs = self.topic_configs.setdefault(record.resource_name, {})
        if record.value is None:
            configs.pop(record.name, None)
        else:
            configs[record.name] = record.value


class Metadata:
    """The cluster's metadata log."""

    def __init__(self, log: StateLog, topics: Topics, config: Config) -> None:
        self._log = log
        self._topics = topics
        self._config = config
        self._next_producer_id = 0
        self._reserved_producer_ids = 0

    def load(self) -> None:
        """Replay the log and open what it names."""
        image = _Image()
        self._log.replay(lambda _, value: image.apply(decode_metadata_record(value or b"")))
        self._next_producer_id = self._reserved_producer_ids = image.next_producer_id
        self._config.dynamic = image.broker_configs
        self._config.refresh()
        for topic_id, name in image.names.items():
            overrides = image.topic_configs.get(name, {})
            topic = Topic(name, topic_id, overrides, self._config.topic(overrides))
            self._topics.add(topic, image.partitions.get(topic_id, 0))

    async def topic_created(self, topic: Topic, partitions: int) -> None:
        records = [*_topic_records(topic), *_partition_records(topic, 0, partitions)]
        await self._append(records)

    async def topic_grown(self, topic: Topic, first: int, count: int) -> None:
        await self._append(_partition_records(topic, first, count))

    async def topic_deleted(self, topic: Topic) -> None:
        await self._append([RemoveTopicRecord(topic_id=topic.id)])

    async def topic_configured(self, topic: Topic, changes: Mapping[str, str | None]) -> None:
        await self._append(_config_records(Resource.TOPIC, topic.name, changes))

    async def configure_broker(self, changes: Mapping[str, str | None]) -> None:
        """Change settings of the running broker, for good."""
        await self._append(_config_records(Resource.BROKER, "", changes))
        merged = {**self._config.dynamic, **changes}
        self._config.dynamic = {name: value for name, value in merged.items() if value is not None}
        self._config.refresh()
        self._topics.refresh()

    async def new_producer_id(self) -> int:
        """An id that was never given out before, and never will be again, whatever happens."""
        while self._next_producer_id == self._reserved_producer_ids:
            reserved = self._reserved_producer_ids + _PRODUCER_IDS_BLOCK
            await self._append([_producer_ids(reserved)])
            self._reserved_producer_ids = max(reserved, self._reserved_producer_ids)
        producer_id = self._next_producer_id
        self._next_producer_id += 1
        return producer_id

    async def compact(self) -> None:
        await self._log.compact(self._live_state())

    def _live_state(self) -> Iterator[list[Entry]]:
        brokers = _config_records(Resource.BROKER, "", self._config.dynamic)
        yield _entries([*brokers, _producer_ids(self._reserved_producer_ids)])
        for topic in list(self._topics):
            if topic.name in self._topics:
                records = _partition_records(topic, 0, len(topic.partitions))
                yield _entries([*_topic_records(topic), *records])

    async def _append(self, records: list[MetadataRecord]) -> None:
        await self._log.append(_entries(records))


def _entries(records: list[MetadataRecord]) -> list[Entry]:
    return [(None, encode_metadata_record(record)) for record in records]


def _topic_records(topic: Topic) -> list[MetadataRecord]:
    configs = _config_records(Resource.TOPIC, topic.name, topic.overrides)
    return [TopicRecord(name=topic.name, topic_id=topic.id), *configs]


def _partition_records(topic: Topic, first: int, count: int) -> list[MetadataRecord]:
    return [
        PartitionRecord(
            partition_id=index,
            topic_id=topic.id,
            replicas=[NODE_ID],
            isr=[NODE_ID],
            leader=NODE_ID,
            leader_epoch=LEADER_EPOCH,
            directories=[ZERO_UUID],
        )
        for index in range(first, first + count)
    ]


def _config_records(
    resource: Resource, name: str, changes: Mapping[str, str | None]
) -> list[MetadataRecord]:
    return [
        ConfigRecord(resource_type=resource, resource_name=name, name=key, value=value)
        for key, value in changes.items()
    ]


def _producer_ids(next_producer_id: int) -> ProducerIdsRecord:
    return ProducerIdsRecord(broker_id=NODE_ID, broker_epoch=0, next_producer_id=next_producer_id)
