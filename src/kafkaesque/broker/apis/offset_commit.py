"""OffsetCommit (8), versions 2–10. Answered when the offsets are durable in `__consumer_offsets`.

A member's commit is checked against its generation; a client without a group's protocol (generation
−1, no member id) may commit while the group is empty. Version 2–4 carry a retention time; 7 brings
static members, 10 topic ids.
"""

from collections.abc import Iterator
from functools import partial
from typing import cast

from kafkaesque.broker.apis.commits import Commit, Commits, Place
from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.groups.events import CheckCommit, Reply
from kafkaesque.groups.offsets import CommittedOffset, metadata_error
from kafkaesque.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

_FOREVER_MS = 2**63 - 1


async def offset_commit(ctx: Context, request: OffsetCommitRequest) -> OffsetCommitResponse:
    error = await _check(ctx, request)
    write = partial(ctx.broker.coordinator.commit_soon, request.group_id)
    commits = Commits(lambda: error or _member_error(ctx, request), write)
    response = OffsetCommitResponse()
    await commits.write(ctx.broker.slices, _commits(ctx, request, response))
    return response


def _commits(
    ctx: Context, request: OffsetCommitRequest, response: OffsetCommitResponse
) -> Iterator[Commit | None]:
    for topic in request.topics:
        answered = OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id)
        response.topics.append(answered)
        for partition in topic.partitions:
            answer = OffsetCommitResponsePartition(partition_index=partition.partition_index)
            answered.partitions.append(answer)
            yield answer, partial(_place, ctx, request, topic, partition)
        yield None


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


def _member_error(ctx: Context, request: OffsetCommitRequest) -> ErrorCode:
    """The same as `_check` has found, in the moment that offsets are appended."""
    group = ctx.broker.coordinator.table.group(request.group_id)
    generation = request.generation_id_or_member_epoch
    if group is None:
        return ErrorCode.NONE if generation < 0 else ErrorCode.ILLEGAL_GENERATION
    return group.commit_error(generation, request.member_id, request.group_instance_id)


def _place(
    ctx: Context,
    request: OffsetCommitRequest,
    topic: OffsetCommitRequestTopic,
    partition: OffsetCommitRequestPartition,
) -> Place:
    found = ctx.broker.topics.find(topic.name, topic.topic_id)
    name = found.partition(partition.partition_index).name
    limit = ctx.broker.config["offset.metadata.max.bytes"]
    if error := metadata_error(partition.committed_metadata, limit):
        raise KafkaError(error)
    now_ms = ctx.broker.clock()
    retention_ms = request.retention_time_ms
    return name, CommittedOffset(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp_ms=now_ms,
        expire_timestamp_ms=None if retention_ms < 0 else min(now_ms + retention_ms, _FOREVER_MS),
    )
