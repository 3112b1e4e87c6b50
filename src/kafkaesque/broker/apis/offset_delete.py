"""OffsetDelete (47), version 0. Forget a group's offsets of topics that nobody in it reads any more
(KIP-496).
"""

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode, KafkaError
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
    deleted = []
    for topic in request.topics:
        answered = OffsetDeleteResponseTopic(name=topic.name)
        response.topics.append(answered)
        for partition in topic.partitions:
            code = ErrorCode.NONE
            if group.is_subscribed_to(topic.name):
                code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            elif not _exists(ctx, topic.name, partition.partition_index):
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                deleted.append(TopicPartition(topic.name, partition.partition_index))
            answered.partitions.append(
                OffsetDeleteResponsePartition(
                    partition_index=partition.partition_index, error_code=code
                )
            )
    try:
        await ctx.broker.coordinator.delete_offsets(request.group_id, deleted)
    except KafkaError:
        return OffsetDeleteResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return response


def _exists(ctx: Context, topic: str, index: int) -> bool:
    topics = ctx.broker.topics
    return topic in topics and 0 <= index < len(topics.named(topic).partitions)
