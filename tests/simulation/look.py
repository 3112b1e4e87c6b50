"""What a broker shows to a client that asks for everything it has."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.actors.actor import Actor
from tests.simulation.actors.batches import committed_labels, gaps, labels, next_offset
from tests.simulation.actors.consumer import fetch_request
from tests.simulation.model.groups import FoundGroups
from tests.simulation.model.offsets import Commit
from tests.simulation.model.records import FoundLog, Key
from tests.simulation.model.topics import FoundTopics

from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kafkaesque.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkaesque.protocol.messages.fetch import PartitionData
from kafkaesque.protocol.messages.init_producer_id import InitProducerIdRequest
from kafkaesque.protocol.messages.list_groups import ListGroupsRequest
from kafkaesque.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkaesque.protocol.messages.metadata import MetadataRequest
from kafkaesque.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

TOPIC_KEYS = (
    "cleanup.policy",
    "delete.retention.ms",
    "max.message.bytes",
    "min.cleanable.dirty.ratio",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "write.caching",
)
BROKER_KEYS = ("log.retention.bytes", "message.max.bytes", "write.caching.default")
_EARLIEST, _LATEST = -2, -1
_TOPIC, _BROKER = 2, 4
_OWN = {_TOPIC: (1,), _BROKER: (2, 3)}
"""Sources of a setting that somebody has set, on a topic and on the running broker."""


class RefusedError(Exception):
    """The broker does not show something that it has."""


@dataclass(slots=True)
class Found:
    topics: FoundTopics = field(default_factory=FoundTopics)
    logs: dict[Key, FoundLog] = field(default_factory=dict)
    committed: set[int] = field(default_factory=set)
    """Labels that a reader of committed records gets."""
    offsets: dict[Commit, int] = field(default_factory=dict)
    groups: FoundGroups = field(default_factory=FoundGroups)


class Looker(Actor):
    async def look(self, groups: Iterable[str]) -> Found:
        """All of it. Raises RefusedError."""
        found = Found()
        answer = await self.ask(MetadataRequest(topics=None), 12)
        for topic in answer.topics:
            if not topic.is_internal:
                self._check(topic.error_code)
                found.topics.topics[topic.name] = (topic.topic_id, len(topic.partitions))
        starts = await self._offsets(found, _EARLIEST)
        ends = await self._offsets(found, _LATEST)
        found.logs = {key: FoundLog(start, ends[key]) for key, start in starts.items()}
        await self._read(found, 0)
        await self._read(found, 1)
        await self._commits(found, groups)
        await self._groups(found.groups, groups)
        await self._settings(found)
        await self._new_producer_id()
        return found

    async def _offsets(self, found: Found, timestamp: int) -> dict[Key, int]:
        topics = [
            ListOffsetsTopic(
                name=name,
                partitions=[
                    ListOffsetsPartition(partition_index=index, timestamp=timestamp)
                    for index in range(count)
                ],
            )
            for name, (_, count) in found.topics.topics.items()
        ]
        answer = await self.ask(ListOffsetsRequest(replica_id=-1, topics=topics), 7)
        offsets = {}
        for topic in answer.topics:
            for partition in topic.partitions:
                self._check(partition.error_code)
                topic_id = found.topics.topics[topic.name][0]
                offsets[topic_id, partition.partition_index] = partition.offset
        return offsets

    async def _read(self, found: Found, isolation: int) -> None:
        positions = {key: log.start for key, log in found.logs.items() if log.start < log.end}
        while positions:
            answer = await self.ask(fetch_request(positions, isolation, 0), 16)
            after: dict[Key, int] = {}
            for topic in answer.responses:
                for partition in topic.partitions:
                    self._check(partition.error_code)
                    key = (topic.topic_id, partition.partition_index)
                    self._take(found, key, partition, isolation, positions[key])
                    data = bytes(partition.records or b"")
                    after[key] = next_offset(data, found.logs[key].end)
            positions = {key: at for key, at in after.items() if at < found.logs[key].end}

    def _take(
        self, found: Found, key: Key, answer: PartitionData, isolation: int, position: int
    ) -> None:
        log = found.logs[key]
        if isolation:
            found.committed.update(
                label for offset, label in committed_labels(answer) if offset >= log.start
            )
        else:
            data = bytes(answer.records or b"")
            read = labels(data)
            log.labels.update((offset, label) for offset, label in read if offset >= log.start)
            log.gaps += gaps(data, position)

    async def _commits(self, found: Found, groups: Iterable[str]) -> None:
        wanted = [OffsetFetchRequestGroup(group_id=group, topics=None) for group in groups]
        answer = await self.ask(OffsetFetchRequest(groups=wanted), 10)
        for group in answer.groups:
            self._check(group.error_code)
            for topic in group.topics:
                for partition in topic.partitions:
                    commit = (group.group_id, topic.topic_id, partition.partition_index)
                    if partition.committed_offset >= 0:
                        found.offsets[commit] = partition.committed_offset

    async def _groups(self, found: FoundGroups, groups: Iterable[str]) -> None:
        listed = await self.ask(ListGroupsRequest(), 5)
        self._check(listed.error_code)
        found.listed.update(group.group_id for group in listed.groups)
        answer = await self.ask(DescribeGroupsRequest(groups=list(groups)), 5)
        for group in answer.groups:
            self._check(group.error_code)
            found.states[group.group_id] = group.group_state
            found.members[group.group_id] = {member.member_id for member in group.members}

    async def _settings(self, found: Found) -> None:
        resources = [
            DescribeConfigsResource(
                resource_type=_TOPIC, resource_name=name, configuration_keys=list(TOPIC_KEYS)
            )
            for name in found.topics.topics
        ]
        resources.append(
            DescribeConfigsResource(
                resource_type=_BROKER, resource_name="0", configuration_keys=list(BROKER_KEYS)
            )
        )
        answer = await self.ask(DescribeConfigsRequest(resources=resources), 4)
        for result in answer.results:
            self._check(result.error_code)
            name = result.resource_name if result.resource_type == _TOPIC else ""
            for config in result.configs:
                value = config.value if _is_own(result.resource_type, config) else None
                found.topics.settings[name, config.name] = value

    async def _new_producer_id(self) -> None:
        """One that was given out before would be noticed."""
        answer = await self.ask(InitProducerIdRequest(), 4)
        self._check(answer.error_code)
        self.world.given_producer_id(answer.producer_id, answer.producer_epoch)

    def _check(self, number: int) -> None:
        if code := self.code(number):
            raise RefusedError(ErrorCode(code).name)


def _is_own(kind: int, config: Any) -> bool:
    return config.config_source in _OWN[kind]
