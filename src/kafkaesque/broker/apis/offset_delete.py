"""OffsetDelete (47), version 0. Forget a group's offsets of topics that nobody in it reads any more
(KIP-496).
"""

from collections.abc import Mapping

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.groups.group import Group
from kafkaesque.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from kafkaesque.types import TopicPartition


async def offset_delete(ctx: Context, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    group = ctx.broker.coordinator.table.group(request.group_id)
    error = group.offset_delete_error() if group else ErrorCode.GROUP_ID_NOT_FOUND
    if group is None or error:
        return OffsetDeleteResponse(error_code=error)
    response = OffsetDeleteResponse()
    deleted: set[TopicPartition] = set()
    paced = ctx.broker.slices.paced
    async for topic in paced(request.topics):
        answered = OffsetDeleteResponseTopic(name=topic.name)
        response.topics.append(answered)
        async for partition in paced(topic.partitions):
            name = TopicPartition(topic.name, partition.partition_index)
            code = _error(ctx, group, name)
            if not code:
                deleted.add(name)
            answered.partitions.append(
                OffsetDeleteResponsePartition(partition_index=name.partition, error_code=code)
            )
    try:
        kept = await ctx.broker.coordinator.delete_offsets(request.group_id, deleted)
    except KafkaError:
        return OffsetDeleteResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if kept:
        await _refuse(ctx, response, kept)
    return response


async def _refuse(
    ctx: Context, response: OffsetDeleteResponse, kept: Mapping[TopicPartition, ErrorCode]
) -> None:
    """Meanwhile, the group has come to need these."""
    paced = ctx.broker.slices.paced
    async for topic in paced(response.topics):
        async for answer in paced(topic.partitions):
            name = TopicPartition(topic.name, answer.partition_index)
            answer.error_code = kept.get(name, answer.error_code)


def _error(ctx: Context, group: Group, name: TopicPartition) -> ErrorCode:
    if error := group.offset_delete_error(name.topic):
        return error
    exists = _exists(ctx, name.topic, name.partition)
    return ErrorCode.NONE if exists else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _exists(ctx: Context, topic: str, index: int) -> bool:
    topics = ctx.broker.topics
    return topic in topics and 0 <= index < len(topics.named(topic).partitions)
