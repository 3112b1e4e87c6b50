"""OffsetFetch (9), versions 1–10. What a group has committed: −1, and no error, where it has not.

Null topics ask for all (version 2). Version 8 asks for several groups at once (KIP-709), 10 names
topics by id.
"""

from collections.abc import Iterable
from uuid import UUID

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

_NOTHING = CommittedOffset(offset=-1, leader_epoch=-1, metadata="")


def offset_fetch(ctx: Context, request: OffsetFetchRequest) -> OffsetFetchResponse:
    if ctx.version >= 8:
        return OffsetFetchResponse(groups=[_fetch(ctx, group) for group in request.groups])
    wanted = OffsetFetchRequestGroup(group_id=request.group_id, topics=None)
    if request.topics is not None:
        wanted.topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    group = _fetch(ctx, wanted)
    return OffsetFetchResponse(topics=[_as_before_version_8(topic) for topic in group.topics])


def _fetch(ctx: Context, wanted: OffsetFetchRequestGroup) -> OffsetFetchResponseGroup:
    group_id = wanted.group_id
    if wanted.topics is None:
        return OffsetFetchResponseGroup(group_id=group_id, topics=_everything(ctx, group_id))
    return OffsetFetchResponseGroup(
        group_id=group_id,
        topics=[
            _topic(ctx, group_id, topic.name, topic.topic_id, topic.partition_indexes)
            for topic in wanted.topics
        ],
    )


def _everything(ctx: Context, group_id: str) -> list[OffsetFetchResponseTopics]:
    indexes: dict[str, list[int]] = {}
    for topic, partition in ctx.broker.coordinator.table.offsets.of_group(group_id):
        if topic in ctx.broker.topics:
            indexes.setdefault(topic, []).append(partition)
    return [
        _topic(ctx, group_id, name, ctx.broker.topics.named(name).id, partitions)
        for name, partitions in indexes.items()
    ]


def _topic(
    ctx: Context, group_id: str, name: str, topic_id: UUID, indexes: Iterable[int]
) -> OffsetFetchResponseTopics:
    error = ErrorCode.NONE
    if ctx.version >= 10:
        try:
            name = ctx.broker.topics.find(name, topic_id).name
        except KafkaError as unknown:
            error = unknown.code
    offsets = ctx.broker.coordinator.table.offsets
    partitions = []
    for index in indexes:
        found = offsets.fetch(group_id, TopicPartition(name, index)) or _NOTHING
        partitions.append(
            OffsetFetchResponsePartitions(
                partition_index=index,
                committed_offset=found.offset,
                committed_leader_epoch=found.leader_epoch,
                metadata=found.metadata,
                error_code=error,
            )
        )
    return OffsetFetchResponseTopics(name=name, topic_id=topic_id, partitions=partitions)


def _as_before_version_8(topic: OffsetFetchResponseTopics) -> OffsetFetchResponseTopic:
    return OffsetFetchResponseTopic(
        name=topic.name,
        partitions=[
            OffsetFetchResponsePartition(
                partition_index=partition.partition_index,
                committed_offset=partition.committed_offset,
                committed_leader_epoch=partition.committed_leader_epoch,
                metadata=partition.metadata,
                error_code=partition.error_code,
            )
            for partition in topic.partitions
        ],
    )
