"""The topics there are: names, ids, settings, partitions. What is durable of them is in
metadata.py.

A topic is seen by clients only once its creation is durable, and is gone for them only once its
deletion is: a produce is never acknowledged for a topic that a crash could take back.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID, uuid4

from kafkaesque.broker.config import Config, TopicConfig
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.storage import Storage
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.types import TopicPartition

METADATA_TOPIC = "__cluster_metadata"
OFFSETS_TOPIC = "__consumer_offsets"
OFFSETS_PARTITION = TopicPartition(OFFSETS_TOPIC, 0)
TRANSACTIONS_TOPIC = "__transaction_state"
INTERNAL_TOPICS = frozenset({METADATA_TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC})

_LEGAL = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_MAX_PARTITIONS = 10_000
_OPENED_PER_TURN = 16
"""Each makes a directory and files: others are heard in between."""


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic that someone wants. No partition count: the broker's default."""

    name: str
    partitions: int | None = None
    configs: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(slots=True)
class Topic:
    """A topic and its partitions."""

    name: str
    id: UUID
    overrides: dict[str, str]
    config: TopicConfig
    partitions: list[Partition] = field(default_factory=list)

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS

    def partition(self, index: int) -> Partition:
        if not 0 <= index < len(self.partitions):
            message = f"{self.name} has no partition {index}"
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
        return self.partitions[index]

    def missing(self, count: int) -> list[TopicPartition]:
        """The partitions that it lacks to have so many."""
        return [TopicPartition(self.name, index) for index in range(len(self.partitions), count)]


class Journal(Protocol):
    """Where changes to topics are made durable: metadata.py."""

    async def topic_created(self, topic: Topic, partitions: int) -> None: ...
    async def topic_grown(self, topic: Topic, first: int, count: int) -> None: ...
    async def topic_deleted(self, topic: Topic) -> None: ...
    async def topic_configured(self, topic: Topic, changes: Mapping[str, str | None]) -> None: ...


class Topics:
    """All topics, by name and by id."""

    def __init__(self, storage: Storage, config: Config) -> None:
        self._storage = storage
        self._config = config
        self._by_name: dict[str, Topic] = {}
        # By the number that an id is: a UUID is slow to hash.
        self._by_id: dict[int, Topic] = {}
        self._changing: set[str] = set()
        self.journal: Journal

    def __iter__(self) -> Iterator[Topic]:
        """Those that clients see; the metadata log is not one of them, as in Kafka."""
        return iter(self._by_name.values())

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def named(self, name: str) -> Topic:
        topic = self._by_name.get(name)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name}")
        return topic

    def find(self, name: str, topic_id: UUID) -> Topic:
        """By id where the request has one, else by name."""
        if not topic_id.int:
            return self.named(name)
        topic = self._by_id.get(topic_id.int)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, f"there is no topic with id {topic_id}")
        return topic

    def partition_count(self, new: NewTopic) -> int:
        return self._config["num.partitions"] if new.partitions is None else new.partitions

    def check(self, new: NewTopic) -> dict[str, str]:
        """Whether this topic could be created; its settings, without those that are null."""
        check_topic_name(new.name)
        if new.name in self._by_name or new.name in self._changing:
            message = f"Topic '{new.name}' already exists."
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, message)
        if new.name in INTERNAL_TOPICS:
            message = f"{new.name} is the name of an internal topic"
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
        self._check_collision(new.name)
        check_partition_count(self.partition_count(new))
        overrides = {}
        for name, value in new.configs.items():
            if value is None:
                raise KafkaError(ErrorCode.INVALID_CONFIG, f"{name} is null")
            overrides[name] = value
        self._config.topic(overrides)
        return overrides

    async def create(self, new: NewTopic) -> Topic:
        """Create a topic; returns when it is durable and open."""
        return await self._create(new.name, self.partition_count(new), self.check(new))

    async def create_internal(self, name: str, overrides: dict[str, str]) -> Topic:
        """Create one of the broker's own topics: a single partition orders all of its state."""
        return await self._create(name, 1, overrides)

    async def _create(self, name: str, count: int, overrides: dict[str, str]) -> Topic:
        topic = Topic(name, uuid4(), overrides, self._config.topic(overrides))
        self._changing.add(name)
        try:
            async with self._opened(topic, count) as partitions:
                await self.journal.topic_created(topic, count)
            topic.partitions += partitions
            self._show(topic)
        finally:
            self._changing.discard(name)
        return topic

    async def grow(self, topic: Topic, count: int) -> None:
        self._claim(topic)
        try:
            have = len(topic.partitions)
            async with self._opened(topic, count) as partitions:
                await self.journal.topic_grown(topic, have, count - have)
            topic.partitions += partitions
            self._configure(topic)
        finally:
            self._changing.discard(topic.name)

    async def delete(self, topic: Topic, forget: Callable[[str], Awaitable[None]]) -> None:
        """Delete a topic and its files; returns when that is durable.

        `forget` deletes what else goes by its name, before another topic can have it.
        """
        if topic.is_internal:
            message = f"{topic.name} is the broker's own"
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
        self._claim(topic)
        try:
            await self.journal.topic_deleted(topic)
            self.remove(topic.id)
            await self._discard(topic.partitions)
            await forget(topic.name)
        finally:
            self._changing.discard(topic.name)

    def check_configs(self, topic: Topic, changes: Mapping[str, str | None]) -> None:
        """Raises INVALID_CONFIG if the topic could not have these settings."""
        self._config.topic(_merged(topic.overrides, changes))

    async def configure(self, topic: Topic, changes: Mapping[str, str | None]) -> None:
        """Set (or, with None, unset) settings. They take effect when they are durable."""
        self.check_configs(topic, changes)
        await self.journal.topic_configured(topic, changes)
        self.apply_configs(topic, changes)

    def add(self, topic: Topic, partitions: int) -> None:
        """Open a topic that the journal has, and let clients see it."""
        for name in topic.missing(partitions):
            topic.partitions.append(self._storage.open(name, topic.id, topic.config))
        self._show(topic)

    @asynccontextmanager
    async def _opened(self, topic: Topic, count: int) -> AsyncIterator[list[Partition]]:
        """New partitions, opened before they are journalled: what the journal names is there.

        If they cannot all be, or if the journal refuses them, nothing of them is left.
        """
        partitions: list[Partition] = []
        try:
            for name in topic.missing(count):
                partition = self._storage.open(name, topic.id, topic.config)
                partitions.append(partition)
                if len(partitions) % _OPENED_PER_TURN == 0:
                    await asyncio.sleep(0)
            yield partitions
        except BaseException:
            await self._discard(partitions)
            raise

    async def _discard(self, partitions: list[Partition]) -> None:
        for partition in partitions:
            partition.close()
        await self._storage.delete(partitions)

    def _show(self, topic: Topic) -> None:
        self._by_name[topic.name] = topic
        self._by_id[topic.id.int] = topic

    def remove(self, topic_id: UUID) -> Topic:
        topic = self._by_id.pop(topic_id.int)
        del self._by_name[topic.name]
        return topic

    def apply_configs(self, topic: Topic, changes: Mapping[str, str | None]) -> None:
        topic.overrides = _merged(topic.overrides, changes)
        self._configure(topic)

    def refresh(self) -> None:
        """The broker's settings have changed, and with them the defaults of every topic's."""
        for topic in self:
            self._configure(topic)

    def _configure(self, topic: Topic) -> None:
        topic.config = self._config.topic(topic.overrides)
        for partition in topic.partitions:
            partition.configure(topic.config)

    def _claim(self, topic: Topic) -> None:
        if topic.name in self._changing:
            message = f"{topic.name} is being changed already"
            raise KafkaError(ErrorCode.INVALID_REQUEST, message)
        self._changing.add(topic.name)

    def _check_collision(self, name: str) -> None:
        """`a.b` and `a_b` would have the same metrics in Kafka, which refuses the second."""
        plain = name.replace(".", "_")
        if plain == name and "_" not in name:
            return
        for other in self._by_name:
            if other.replace(".", "_") == plain:
                message = f"Topic '{name}' collides with existing topics: {other}"
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)


def _merged(overrides: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    merged = {**overrides, **changes}
    return {name: value for name, value in merged.items() if value is not None}


def check_partition_count(count: int) -> None:
    """Each partition is a directory and records of metadata: a number off the wire must not fill
    the machine.
    """
    if count > _MAX_PARTITIONS:
        message = f"a topic may have {_MAX_PARTITIONS} partitions at most"
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, message)


def check_topic_name(name: str) -> None:
    if name in (".", "..") or not _LEGAL.fullmatch(name):
        message = (
            f"Topic name is invalid: {name[:260]!r}: up to 249 letters, digits, '.', '_' and '-', "
            "and neither '.' nor '..'"
        )
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
