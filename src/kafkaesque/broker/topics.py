"""The topics there are: names, ids, settings, partitions. What is durable of them is in
metadata.py.

A topic is seen by clients only once its creation is durable, and is gone for them only once its
deletion is: a produce is never acknowledged for a topic that a crash could take back. The name of
a deleted topic is free when its files and the offsets that groups have committed for it are gone;
what fails of that is tried again.
"""

import asyncio
import logging
import re
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeAlias, TypeVar
from uuid import UUID, uuid4

from kafkaesque.broker.config import Config, TopicConfig
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.settings import MAX_MESSAGE_BYTES
from kafkaesque.broker.storage import Storage
from kafkaesque.broker.upkeep import Upkeep
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.types import TopicPartition

T = TypeVar("T")

METADATA_TOPIC = "__cluster_metadata"
OFFSETS_TOPIC = "__consumer_offsets"
OFFSETS_PARTITION = TopicPartition(OFFSETS_TOPIC, 0)
TRANSACTIONS_TOPIC = "__transaction_state"
INTERNAL_TOPICS = frozenset({METADATA_TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC})

Apply: TypeAlias = Callable[[], None]
"""How a change takes effect, once it is durable."""
Change: TypeAlias = Callable[[], Mapping[str, str | None]]
"""What is to be set, asked for when it is its turn: it may depend on what was set before it."""

logger = logging.getLogger(__name__)

_LEGAL = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_MAX_PARTITIONS = 10_000
_FINISHED_AT_ONCE = 4


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
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS

    @property
    def is_unused(self) -> bool:
        """An internal topic that nobody has caused a record in: Kafka creates it only then."""
        return self.is_internal and self.partitions[0].log.end_offset == 0

    def partition(self, index: int) -> Partition:
        if not 0 <= index < len(self.partitions):
            message = f"{self.name} has no partition {index}"
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
        return self.partitions[index]

    def missing(self, count: int) -> list[TopicPartition]:
        """The partitions that it lacks to have so many."""
        return [TopicPartition(self.name, index) for index in range(len(self.partitions), count)]


@dataclass(frozen=True, slots=True)
class _Leaving:
    """A topic that is deleted, and of which something is left. No id: only offsets are."""

    id: UUID | None = None
    partitions: Sequence[Partition] = ()


class InSteps(Protocol):
    """How others are let in between the steps of a long change: `Slices.run`, or `in_turns`."""

    def __call__(self, steps: Generator[None, None, T], /) -> Awaitable[T]: ...


async def in_turns(steps: Generator[None, None, T], /) -> T:
    """A step in each turn of the loop."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        await asyncio.sleep(0)


class Journal(Protocol):
    """Where changes to topics are made durable, and then take effect: metadata.py."""

    async def topic_created(
        self, topic: Topic, partitions: int, apply: Apply, run: InSteps
    ) -> None: ...
    async def topic_grown(
        self, topic: Topic, first: int, count: int, apply: Apply, run: InSteps
    ) -> None: ...
    async def topic_deleted(self, topic: Topic, apply: Apply) -> None: ...
    async def topic_configured(
        self, topic: Topic, changes: Mapping[str, str | None], apply: Apply
    ) -> None: ...


class Topics:
    """All topics, by name and by id."""

    def __init__(self, storage: Storage, config: Config) -> None:
        self._storage = storage
        self._config = config
        self._by_name: dict[str, Topic] = {}
        # By the number that an id is: a UUID is slow to hash.
        self._by_id: dict[int, Topic] = {}
        # `a.b` and `a_b` under `a_b`: they collide.
        self._by_plain_name: dict[str, set[str]] = {}
        self._creating: set[str] = set()
        self._changes: set[asyncio.Future[None]] = set()
        self._is_ending = False
        self.partition_total = 0
        self._unopened = 0
        """Partitions that are being made, and are no open files yet."""
        self._leaving: dict[str, _Leaving] = {}
        self._finishing: set[str] = set()
        self._upkeep: Upkeep[str] = Upkeep(_FINISHED_AT_ONCE)
        self.journal: Journal
        self.forget_offsets: Callable[[str], Awaitable[None]]
        """Deletes what groups have committed for a topic; raises KafkaError if that fails."""

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

    def count_partitions(self, name: str | None, topic_id: UUID) -> int:
        """None, of a topic that is not there."""
        topic = self._by_id.get(topic_id.int) if topic_id.int else self._by_name.get(name or "")
        return 0 if topic is None else len(topic.partitions)

    def partition_count(self, new: NewTopic) -> int:
        return self._config["num.partitions"] if new.partitions is None else new.partitions

    def check(self, new: NewTopic) -> dict[str, str]:
        """Whether this topic could be created; its settings, without those that are null."""
        check_topic_name(new.name)
        if new.name in self._by_name or new.name in self._creating:
            message = f"Topic '{new.name}' already exists."
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, message)
        if new.name in self._leaving:
            message = f"Topic '{new.name}' is still being deleted."
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, message)
        if new.name in INTERNAL_TOPICS:
            message = f"{new.name} is the name of an internal topic"
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
        self._check_collision(new.name)
        self.check_partitions(self.partition_count(new))
        if len(self._by_name) + len(self._creating) >= self._config["max.topics"]:
            message = f"there are {len(self._by_name)} topics, and max.topics allows no more"
            raise KafkaError(ErrorCode.POLICY_VIOLATION, message)
        overrides = {}
        for name, value in new.configs.items():
            if value is None:
                raise KafkaError(ErrorCode.INVALID_CONFIG, f"{name} is null")
            overrides[name] = value
        self._config.topic(overrides)
        return overrides

    def check_partitions(self, count: int, have: int = 0) -> None:
        """Whether a topic that has so many partitions may have `count`. Each is a directory, an
        open file and records of metadata: a number off the wire must not fill the machine.
        """
        if count > _MAX_PARTITIONS:
            message = f"a topic may have {_MAX_PARTITIONS} partitions at most"
            raise KafkaError(ErrorCode.INVALID_PARTITIONS, message)
        if self.partition_total + count - have > self._config["max.partitions"]:
            message = (
                f"there are {self.partition_total} partitions, and {count - have} more would "
                f"exceed max.partitions={self._config['max.partitions']}"
            )
            raise KafkaError(ErrorCode.INVALID_PARTITIONS, message)

    async def create(self, new: NewTopic, run: InSteps = in_turns) -> Topic:
        """Create a topic; returns when it is durable and open."""
        return await self._create(new.name, self.partition_count(new), self.check(new), run)

    async def create_internal(self, name: str, overrides: dict[str, str]) -> Topic:
        """Create one of the broker's own topics: a single partition orders all of its state."""
        return await self._create(name, 1, overrides, in_turns)

    async def _create(
        self, name: str, count: int, overrides: dict[str, str], run: InSteps
    ) -> Topic:
        topic = Topic(name, uuid4(), overrides, self.effective(name, overrides))
        self._creating.add(name)
        try:
            async with self._change(), self._opened(topic, count, run) as partitions:
                show = partial(self._show, topic, partitions)
                await self.journal.topic_created(topic, count, show, run)
        finally:
            self._creating.discard(name)
        return topic

    async def grow(self, topic: Topic, count: int, run: InSteps = in_turns) -> None:
        async with self._change(), self._changed(topic):
            have = len(topic.partitions)
            if count <= have:
                message = f"{topic.name} has {have} partitions already; {count} is not more"
                raise KafkaError(ErrorCode.INVALID_PARTITIONS, message)
            # While it waited for its turn, others may have been made.
            self.check_partitions(count, have)
            async with self._opened(topic, count, run) as partitions:
                show = partial(self._show, topic, partitions)
                await self.journal.topic_grown(topic, have, count - have, show, run)

    async def delete(self, topic: Topic) -> None:
        """Delete a topic, its files, and what groups have committed for it; returns when that is
        durable. It is gone, too, where only the second half raises.
        """
        if topic.is_internal:
            message = f"{topic.name} is the broker's own"
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
        async with self._change():
            async with self._changed(topic):
                await self.journal.topic_deleted(topic, partial(self._leave, topic))
            await self._finish(topic.name)

    def _leave(self, topic: Topic) -> None:
        del self._by_id[topic.id.int]
        del self._by_name[topic.name]
        namesakes = self._by_plain_name[_plain(topic.name)]
        namesakes.discard(topic.name)
        if not namesakes:
            del self._by_plain_name[_plain(topic.name)]
        self.partition_total -= len(topic.partitions)
        self._leaving[topic.name] = _Leaving(topic.id, topic.partitions)
        for partition in topic.partitions:
            partition.close()

    def leave_offsets(self, name: str) -> None:
        """Groups have offsets of a topic that is deleted: nobody may have its name until those are
        gone.
        """
        self._leaving[name] = _Leaving()

    def leaving(self) -> dict[UUID, str]:
        """Deleted topics whose files may still be there, and their names."""
        return {each.id: name for name, each in self._leaving.items() if each.id is not None}

    async def finish_deletions(self) -> None:
        """Try again what deletions have left."""
        left = [name for name in self._leaving if name not in self._finishing]
        await self._upkeep.run(left, self._try_to_finish)

    async def ended(self) -> None:
        """No change is under way any more, and none begins: a topic that is half made is given
        up.
        """
        self._is_ending = True
        await self._upkeep.ended()
        while self._changes:
            await asyncio.wait(self._changes)

    @asynccontextmanager
    async def _change(self) -> AsyncIterator[None]:
        """What the broker must not stop in the midst of."""
        self._check_not_ending()
        ended = asyncio.get_running_loop().create_future()
        self._changes.add(ended)
        try:
            yield
        finally:
            self._changes.discard(ended)
            ended.set_result(None)

    def _check_not_ending(self) -> None:
        if self._is_ending:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, "the broker is stopping")

    async def _try_to_finish(self, name: str) -> None:
        # While it waited for its turn, somebody else may have.
        if name not in self._leaving or name in self._finishing:
            return
        try:
            await self._finish(name)
        except KafkaError as error:
            logger.error("what deleted topic %s has left: %s", name, error.message)

    async def _finish(self, name: str) -> None:
        """Both halves are tried, whatever becomes of the other."""
        self._finishing.add(name)
        try:
            discarded, forgotten = await asyncio.gather(
                self._storage.delete(self._leaving[name].partitions),
                self.forget_offsets(name),
                return_exceptions=True,
            )
        finally:
            self._finishing.discard(name)
        for failure in (discarded, forgotten):
            if failure is not None:
                raise failure
        del self._leaving[name]

    def check_configs(self, topic: Topic, changes: Mapping[str, str | None]) -> None:
        """Raises INVALID_CONFIG if the topic could not have these settings."""
        config = self._config.topic(_merged(topic.overrides, changes))
        if topic.is_internal and config.write_caching and "write.caching" in changes:
            message = f"{topic.name} is the broker's own, and always durable"
            raise KafkaError(ErrorCode.INVALID_CONFIG, message)

    async def configure(self, topic: Topic, change: Change) -> None:
        """Set (or, with None, unset) settings. They take effect when they are durable."""
        async with self._change(), self._changed(topic):
            changes = change()
            self.check_configs(topic, changes)
            apply = partial(self._override, topic, changes)
            await self.journal.topic_configured(topic, changes, apply)

    def add(self, topic: Topic, partitions: int) -> None:
        """Open a topic that the journal has, and let clients see it."""
        missing = topic.missing(partitions)
        self.partition_total += len(missing)
        restore = partial(self._storage.restore, is_state=topic.is_internal)
        self._show(topic, [restore(name, topic.id, topic.config) for name in missing])

    @asynccontextmanager
    async def _opened(
        self, topic: Topic, count: int, run: InSteps
    ) -> AsyncIterator[list[Partition]]:
        """New partitions, opened before they are journalled: what the journal names is there.

        If they cannot all be, or if the journal refuses them, nothing of them is left.
        """
        partitions: list[Partition] = []
        missing = topic.missing(count)
        self._storage.check_room(len(missing) + self._unopened)
        self.partition_total += len(missing)
        self._unopened += len(missing)
        try:
            await self._storage.forget(missing)
            await run(self._open(topic, missing, partitions))
            yield partitions
        except BaseException:
            self.partition_total -= len(missing)
            self._unopened -= len(missing) - len(partitions)
            await self._discard(partitions)
            raise

    def _open(
        self, topic: Topic, missing: Iterable[TopicPartition], opened: list[Partition]
    ) -> Generator[None, None, None]:
        """One by one: a directory and its files take milliseconds where many were made lately."""
        for name in missing:
            if opened:
                yield
            self._check_not_ending()
            opened.append(self._storage.open(name, topic.id, topic.config))
            self._unopened -= 1

    async def _discard(self, partitions: list[Partition]) -> None:
        """Remove partitions that nobody has seen. What is left, a namesake finds and removes."""
        for partition in partitions:
            partition.close()
        try:
            await self._storage.delete(partitions)
        except KafkaError as error:
            logger.error("new partitions could not be removed: %s", error.message)

    def _show(self, topic: Topic, partitions: Iterable[Partition]) -> None:
        """Let clients see a topic, with more partitions, as it is configured by now."""
        topic.partitions += partitions
        self._by_name[topic.name] = topic
        self._by_plain_name.setdefault(_plain(topic.name), set()).add(topic.name)
        self._by_id[topic.id.int] = topic
        self._configure(topic)

    def _override(self, topic: Topic, changes: Mapping[str, str | None]) -> None:
        topic.overrides = _merged(topic.overrides, changes)
        self._configure(topic)

    def refresh(self) -> None:
        """The broker's settings have changed, and with them the defaults of every topic's."""
        for topic in self:
            self._configure(topic)

    def _configure(self, topic: Topic) -> None:
        topic.config = self.effective(topic.name, topic.overrides)
        for partition in topic.partitions:
            partition.configure(topic.config)

    def effective(self, name: str, overrides: Mapping[str, str]) -> TopicConfig:
        """What a topic's settings come to."""
        return self._config.topic(self.in_force(name, overrides))

    def in_force(self, name: str, overrides: Mapping[str, str]) -> Mapping[str, str]:
        """The overrides that count. The broker's own promises do not follow a default that any
        client may change: its state is durable before it is told, whatever its size.
        """
        if name not in INTERNAL_TOPICS:
            return overrides
        size = self._config.topic(overrides).max_message_bytes
        pinned = {"max.message.bytes": str(max(size, MAX_MESSAGE_BYTES)), "write.caching": "false"}
        return {**overrides, **pinned}

    @asynccontextmanager
    async def _changed(self, topic: Topic) -> AsyncIterator[None]:
        """One change of a topic at a time, and none of one that was deleted meanwhile."""
        async with topic.changing:
            if self._by_id.get(topic.id.int) is not topic:
                message = f"topic {topic.name} has been deleted"
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
            yield

    def _check_collision(self, name: str) -> None:
        """`a.b` and `a_b` would have the same metrics in Kafka, which refuses the second."""
        plain = _plain(name)
        on_their_way = (other for other in self._creating if _plain(other) == plain)
        for other in (*self._by_plain_name.get(plain, ()), *on_their_way):
            message = f"Topic '{name}' collides with existing topics: {other}"
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)


def _plain(name: str) -> str:
    return name.replace(".", "_")


def _merged(overrides: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    merged = {**overrides, **changes}
    return {name: value for name, value in merged.items() if value is not None}


def check_topic_name(name: str) -> None:
    if name in (".", "..") or not _LEGAL.fullmatch(name):
        message = (
            f"Topic name is invalid: {name[:260]!r}: up to 249 letters, digits, '.', '_' and '-', "
            "and neither '.' nor '..'"
        )
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
