"""Administrators: each owns a few topic names, which it creates, grows, configures and deletes."""

import asyncio
from uuid import UUID

from tests.simulation.actors.actor import Actor
from tests.simulation.model.topics import ABSENT, TopicState

from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafkaesque.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafkaesque.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkaesque.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkaesque.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafkaesque.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

_SET, _DELETE = 0, 1
_TOPIC, _BROKER = 2, 4
_ANYWHERE = 1 << 62
"""−1 is the high watermark, wherever that is by then."""


class Admin(Actor):
    async def create(
        self, name: str, partitions: int, settings: tuple[tuple[str, str], ...]
    ) -> None:
        topics = self.world.topics
        if not topics.is_absent(name):
            await self._resolve(name)
        if not topics.is_absent(name):
            return
        topics.creating(name, partitions, dict(settings))
        self.note(f"create {name[:9]} with {partitions} partitions {dict(settings)}")
        wanted = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in settings],
        )
        answer = await self.ask(CreateTopicsRequest(topics=[wanted]), 7)
        code = self.code(answer.topics[0].error_code)
        topic_id = answer.topics[0].topic_id
        self.note(f"create {name[:9]}: {code.name} {str(topic_id)[:8]}")
        if code is ErrorCode.NONE:
            topics.created(name, TopicState(partitions, topic_id), dict(settings))

    async def _resolve(self, name: str) -> None:
        """A topic in doubt that is shown is there; one that is shown no more is deleted. Unless the
        metadata log is offline: a deletion that was refused may be on its disk, and be found there
        by a start, until it has been cut off.
        """
        topics = self.world.topics
        if name in topics.certain():
            return
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False
        )
        found = (await self.ask(request, 12)).topics[0]
        code = self.code(found.error_code)
        self.note(f"look for {name[:9]}: {code.name} {str(found.topic_id)[:8]}")
        if code is ErrorCode.NONE:
            if self.world.server.broker.metadata.partition.offline is None:
                self._found(name, found.topic_id, len(found.partitions))
        elif topics.was_there(name):
            topics.deleted(name)

    def _found(self, name: str, topic_id: UUID, partitions: int) -> None:
        for problem in self.world.topics.found(name, topic_id, partitions):
            self.world.fail(problem)

    async def grow(self, name: str) -> None:
        state = self.world.topics.certain().get(name)
        if state is None or state.partitions > 3:
            return
        grown = TopicState(state.partitions + 1, state.id)
        self.world.topics.asked_for(name, grown)
        wanted = CreatePartitionsTopic(name=name, count=grown.partitions, assignments=None)
        answer = await self.ask(CreatePartitionsRequest(topics=[wanted], timeout_ms=1000), 3)
        code = self.code(answer.results[0].error_code)
        self.note(f"grow {name[:9]} to {grown.partitions}: {code.name}")
        if code is ErrorCode.NONE:
            self.world.topics.grown(name, grown)

    async def delete(self, name: str) -> None:
        if self.world.topics.is_absent(name):
            return
        self.world.topics.asked_for(name, ABSENT)
        self.note(f"delete {name[:9]}")
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=1000)
        answer = await self.ask(request, 6)
        code = self.code(answer.responses[0].error_code)
        self.note(f"delete {name[:9]}: {code.name}")
        is_gone = code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if code is ErrorCode.NONE or (is_gone and self.world.topics.was_there(name)):
            self.world.topics.deleted(name)

    async def configure(self, name: str, key: str, value: str | None) -> None:
        """The topic of that name, or, without one, the broker."""
        if name and name not in self.world.topics.certain():
            return
        self.world.topics.configuring(name, key, value)
        code = await self._alter(name, key, value)
        if code is ErrorCode.NONE:
            self.world.topics.configured(name, key, value)

    async def _alter(self, name: str, key: str, value: str | None) -> ErrorCode:
        config = AlterableConfig(
            name=key, config_operation=_DELETE if value is None else _SET, value=value
        )
        kind = _TOPIC if name else _BROKER
        resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=[config])
        self.note(f"configure {name[:9] or 'the broker'}: {key}={value}")
        client = self.connect()
        answer = await self.ask_over(
            client, IncrementalAlterConfigsRequest(resources=[resource]), 1
        )
        client.close()
        code = self.code(answer.responses[0].error_code)
        self.note(f"configure {name[:9] or 'the broker'}: {key}={value}: {code.name}")
        return code

    async def delete_while_configuring(self, name: str, key: str, value: str) -> None:
        """Two administrators at once. Whatever becomes of the setting goes with the topic."""
        if name not in self.world.topics.certain():
            return
        self.world.topics.configuring(name, key, value)
        both = self._alter(name, key, value), self.delete(name)
        for result in await asyncio.gather(*both, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result

    async def delete_records(self, name: str, index: int, share: float) -> None:
        place = self.partition(name, index)
        if place is None:
            return
        records = self.world.records
        log = records.log(place)
        is_all = share == 1.0
        offset = -1 if is_all else int(log.start + (max(log.end, log.start) - log.start) * share)
        records.deleting_before(place, _ANYWHERE if is_all else offset)
        self.note(f"delete records of {name[:9]}-{place[1]} before {offset}")
        wanted = DeleteRecordsPartition(partition_index=place[1], offset=offset)
        topic = DeleteRecordsTopic(name=name, partitions=[wanted])
        answer = await self.ask(DeleteRecordsRequest(topics=[topic], timeout_ms=1000), 2)
        found = answer.topics[0].partitions[0]
        code = self.code(found.error_code)
        self.note(f"delete records of {name[:9]}-{place[1]}: {code.name} {found.low_watermark}")
        self.world.check_storage_error(code, name, place)
        if code is ErrorCode.NONE and self.partition(name, index) == place:
            records.deleted_before(place, found.low_watermark)
            log.latest_start = log.start


class Clock(Actor):
    async def step(self, ms: int) -> None:
        """The wall's clock is set, forward or back."""
        self.world.clock_offset_ms += ms
        self.note(f"the clock is set by {ms} ms")
