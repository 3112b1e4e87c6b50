"""OffsetCommit (8), versions 2–10. Answered when the offsets are durable in `__consumer_offsets`.

A member's commit is checked against its generation; a client without a group's protocol (generation
−1, no member id) may commit while the group is empty. Version 2–4 carry a retention time; 7 brings
static members, 10 topic ids.
"""

from typing import cast

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.groups.events import CheckCommit, Reply
from kafkaesque.groups.offsets import CommittedOffset, metadata_error
from kafkaesque.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafkaesque.types import TopicPartition

_FOREVER_MS = 2**63 - 1


async def offset_commit(ctx: Context, request: OffsetCommitRequest) -> OffsetCommitResponse:
    error = await _check(ctx, request)
    accepted: dict[TopicPartition, CommittedOffset] = {}
    answers: dict[TopicPartition, OffsetCommitResponsePartition] = {}
    response = OffsetCommitResponse()
    for topic in request.topics:
        answered = OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id)
        response.topics.append(answered)
        for partition in topic.partitions:
            answer = OffsetCommitResponsePartition(
                partition_index=partition.partition_index, error_code=error
            )
            answered.partitions.append(answer)
            if error:
                continue
            try:
                found = ctx.broker.topics.find(topic.name, topic.topic_id)
                name = found.partition(partition.partition_index).name
                accepted[name] = _offset(ctx, request, partition)
                answers[name] = answer
            except KafkaError as refused:
                answer.error_code = refused.code
    try:
        await ctx.broker.coordinator.commit(request.group_id, accepted)
    except KafkaError as refused:
        for answer in answers.values():
            answer.error_code = commit_error(refused)
    return response


def commit_error(refused: KafkaError) -> ErrorCode:
    """Why offsets could not be written, as groups say it."""
    is_told = refused.code in (
        ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
    )
    return refused.code if is_told else ErrorCode.COORDINATOR_NOT_AVAILABLE


async def _check(ctx: Context, request: OffsetCommitRequest) -> ErrorCode:
    """Whether this member, in this generation, may commit."""
    group = ctx.broker.coordinator.table.group(request.group_id)
    if group is None and request.generation_id_or_member_epoch >= 0:
        return ErrorCode.GROUP_ID_NOT_FOUND if ctx.version >= 9 else ErrorCode.ILLEGAL_GENERATION
    reply = ctx.broker.coordinator.future()
    check = CheckCommit(
        reply,
        request.generation_id_or_member_epoch,
        request.member_id,
        request.group_instance_id,
    )
    ctx.broker.coordinator.ask(request.group_id, check)
    return cast(Reply, await reply).error


def _offset(
    ctx: Context, request: OffsetCommitRequest, partition: OffsetCommitRequestPartition
) -> CommittedOffset:
    limit = ctx.broker.config["offset.metadata.max.bytes"]
    if error := metadata_error(partition.committed_metadata, limit):
        raise KafkaError(error)
    now_ms = ctx.broker.clock()
    retention_ms = request.retention_time_ms
    return CommittedOffset(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp_ms=now_ms,
        expire_timestamp_ms=None if retention_ms < 0 else min(now_ms + retention_ms, _FOREVER_MS),
    )
