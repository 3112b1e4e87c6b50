"""OffsetFetch (9), versions 1–10. What a group has committed: −1, and no error, where it has not.

Null topics ask for all (version 2). Version 7 may require stable offsets: UNSTABLE_OFFSET_COMMIT
where a transaction that is going on can still change them (KIP-447). Version 8 asks for several
groups at once (KIP-709), 10 names topics by id.
"""

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
        stable = request.require_stable
        return OffsetFetchResponse(groups=[_fetch(ctx, group, stable) for group in request.groups])
    wanted = OffsetFetchRequestGroup(group_id=request.group_id, topics=None)
    if request.topics is not None:
        wanted.topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    group = _fetch(ctx, wanted, request.require_stable)
    return OffsetFetchResponse(topics=[_as_before_version_8(topic) for topic in group.topics])


def _fetch(ctx: Context, wanted: OffsetFetchRequestGroup, stable: bool) -> OffsetFetchResponseGroup:
    topics = _everything(ctx, wanted.group_id) if wanted.topics is None else wanted.topics
    return OffsetFetchResponseGroup(
        group_id=wanted.group_id,
        topics=[_topic(ctx, wanted.group_id, topic, stable) for topic in topics],
    )


def _everything(ctx: Context, group_id: str) -> list[OffsetFetchRequestTopics]:
    """As if all that the group has committed had been asked for by name."""
    topics: dict[str, OffsetFetchRequestTopics] = {}
    for name, index in ctx.broker.coordinator.table.offsets.partitions(group_id):
        if name not in topics and name in ctx.broker.topics:
            topic_id = ctx.broker.topics.named(name).id
            topics[name] = OffsetFetchRequestTopics(name=name, topic_id=topic_id)
        if name in topics:
            topics[name].partition_indexes.append(index)
    return list(topics.values())


def _topic(
    ctx: Context, group_id: str, wanted: OffsetFetchRequestTopics, stable: bool
) -> OffsetFetchResponseTopics:
    name, error = wanted.name, ErrorCode.NONE
    if ctx.version >= 10:
        try:
            name = ctx.broker.topics.find(name, wanted.topic_id).name
        except KafkaError as unknown:
            error = unknown.code
    answered = OffsetFetchResponseTopics(name=name, topic_id=wanted.topic_id)
    for index in wanted.partition_indexes:
        found, code = _offset(ctx, group_id, TopicPartition(name, index), stable)
        answered.partitions.append(
            OffsetFetchResponsePartitions(
                partition_index=index,
                committed_offset=found.offset,
                committed_leader_epoch=found.leader_epoch,
                metadata=found.metadata,
                error_code=error or code,
            )
        )
    return answered


def _offset(
    ctx: Context, group_id: str, name: TopicPartition, stable: bool
) -> tuple[CommittedOffset, ErrorCode]:
    offsets = ctx.broker.coordinator.table.offsets
    if stable and offsets.is_pending(group_id, name):
        return _NOTHING, ErrorCode.UNSTABLE_OFFSET_COMMIT
    return offsets.fetch(group_id, name) or _NOTHING, ErrorCode.NONE


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
