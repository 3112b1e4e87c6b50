"""OffsetFetch (9), versions 1–10. What a group has committed: −1, and no error, where it has not.

Null topics ask for all (version 2). Version 7 may require stable offsets: UNSTABLE_OFFSET_COMMIT
where a transaction that is going on can still change them (KIP-447). Version 8 asks for several
groups at once (KIP-709), 10 names topics by id.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from kafkaesque.types import TopicPartition

_FEW_PARTITIONS = 4
"""So many offsets with the longest metadata come to no more than a little: each of its characters
may be four bytes.
"""
_BATCH = 1000
_TIMES_KEPT = 3
"""As much of what is kept of an offset it takes in a response, and encoded."""
_NOTHING = CommittedOffset(offset=-1, leader_epoch=-1, metadata="")


async def offset_fetch(ctx: Context, request: OffsetFetchRequest) -> OffsetFetchResponse:
    asked = _Asked(ctx, request.require_stable)
    if ctx.version >= 8:
        await asked.take_room(request.groups)
        paced = ctx.broker.slices.paced(request.groups)
        return OffsetFetchResponse(groups=[await asked.group(each) async for each in paced])
    wanted = OffsetFetchRequestGroup(group_id=request.group_id, topics=None)
    if request.topics is not None:
        wanted.topics = []
        async for topic in ctx.broker.slices.paced(request.topics):
            wanted.topics.append(
                OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            )
    await asked.take_room([wanted])
    group = await asked.group(wanted)
    response = OffsetFetchResponse()
    async for answered in ctx.broker.slices.paced(group.topics):
        response.topics.append(await _as_before_version_8(ctx, answered))
    return response


class _Asked:
    """One request. What it names twice is answered once: metadata may be long."""

    def __init__(self, ctx: Context, stable: bool) -> None:
        self._ctx = ctx
        self._stable = stable
        self._paced = ctx.broker.slices.paced
        # Numbers, by group and topic: to free as many names at once would hold the loop.
        self._seen: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        self._whole: set[str] = set()

    async def take_room(self, groups: Sequence[OffsetFetchRequestGroup]) -> None:
        """For what has been committed of all that is asked for: metadata may be long."""
        named, asks_for_all = 0, False
        async for wanted in self._paced(groups):
            asks_for_all |= wanted.topics is None
            async for topic in self._paced(wanted.topics or ()):
                named += len(topic.partition_indexes)
        if not asks_for_all and named <= _FEW_PARTITIONS:
            return
        size, whole = 0, set[str]()
        async for wanted in self._paced(groups):
            if wanted.topics is not None:
                size += await self._kept_of_topics(wanted.group_id, wanted.topics)
            elif wanted.group_id not in whole:
                whole.add(wanted.group_id)
                size += await self._kept(wanted.group_id)
        await self._ctx.take_room(_TIMES_KEPT * size)

    async def _kept(self, group_id: str) -> int:
        offsets, size = self._ctx.broker.coordinator.table.offsets, 0
        async for name in self._paced(offsets.topics(group_id)):
            size += offsets.kept_bytes(group_id, name, offsets.indexes(group_id, name))
        return size

    async def _kept_of_topics(self, group_id: str, topics: list[OffsetFetchRequestTopics]) -> int:
        offsets, size = self._ctx.broker.coordinator.table.offsets, 0
        async for topic in self._paced(topics):
            name = self._name(topic)
            async for some in self._ctx.broker.slices.batches(topic.partition_indexes, _BATCH):
                size += offsets.kept_bytes(group_id, name, set(some))
        return size

    def _name(self, topic: OffsetFetchRequestTopics) -> str:
        """Empty where its id is unknown."""
        if self._ctx.version < 10:
            return topic.name
        try:
            return self._ctx.broker.topics.find(topic.name, topic.topic_id).name
        except KafkaError:
            return ""

    async def group(self, wanted: OffsetFetchRequestGroup) -> OffsetFetchResponseGroup:
        group_id = wanted.group_id
        answer = OffsetFetchResponseGroup(group_id=group_id)
        topics = self._topics(group_id) if wanted.topics is None else wanted.topics
        async for topic in self._paced(topics):
            answer.topics.append(await self._topic(group_id, topic))
        return answer

    def _topics(self, group_id: str) -> Iterator[OffsetFetchRequestTopics]:
        """As if all that the group has committed had been asked for by name."""
        if group_id in self._whole:
            return
        self._whole.add(group_id)
        offsets, topics = self._ctx.broker.coordinator.table.offsets, self._ctx.broker.topics
        for name in offsets.topics(group_id):
            if name in topics:
                yield OffsetFetchRequestTopics(
                    name=name,
                    topic_id=topics.named(name).id,
                    partition_indexes=offsets.indexes(group_id, name),
                )

    async def _topic(
        self, group_id: str, wanted: OffsetFetchRequestTopics
    ) -> OffsetFetchResponseTopics:
        name, error = wanted.name, ErrorCode.NONE
        if self._ctx.version >= 10:
            try:
                name = self._ctx.broker.topics.find(name, wanted.topic_id).name
            except KafkaError as unknown:
                error = unknown.code
        answer = OffsetFetchResponseTopics(name=name, topic_id=wanted.topic_id)
        seen = self._seen[group_id, name]
        async for index in self._paced(wanted.partition_indexes):
            if error or index not in seen:
                seen.add(index)
                partition = TopicPartition(name, index)
                answer.partitions.append(self._partition(group_id, partition, error))
        return answer

    def _partition(
        self, group_id: str, name: TopicPartition, error: ErrorCode
    ) -> OffsetFetchResponsePartitions:
        offsets = self._ctx.broker.coordinator.table.offsets
        found: CommittedOffset | None = None
        if not error and self._stable and offsets.is_pending(group_id, name):
            error = ErrorCode.UNSTABLE_OFFSET_COMMIT
        elif not error:
            found = offsets.fetch(group_id, name)
        found = found or _NOTHING
        return OffsetFetchResponsePartitions(
            partition_index=name.partition,
            committed_offset=found.offset,
            committed_leader_epoch=found.leader_epoch,
            metadata=found.metadata,
            error_code=error,
        )


async def _as_before_version_8(
    ctx: Context, topic: OffsetFetchResponseTopics
) -> OffsetFetchResponseTopic:
    answer = OffsetFetchResponseTopic(name=topic.name)
    async for partition in ctx.broker.slices.paced(topic.partitions):
        answer.partitions.append(
            OffsetFetchResponsePartition(
                partition_index=partition.partition_index,
                committed_offset=partition.committed_offset,
                committed_leader_epoch=partition.committed_leader_epoch,
                metadata=partition.metadata,
                error_code=partition.error_code,
            )
        )
    return answer
