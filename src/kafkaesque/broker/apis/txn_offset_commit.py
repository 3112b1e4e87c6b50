"""TxnOffsetCommit (28), versions 0–5. A group's offsets that count if the transaction is committed
(KIP-98). Answered when they are durable in `__consumer_offsets`; until the transaction has ended
they are pending there.

Version 3 says which member the consumer is: who is not in the group any more is refused (KIP-447).
Up to version 4 the offsets were added to the transaction before; version 5 does it by itself, and 4
knows an error that only aborts the transaction (KIP-890).
"""

from collections.abc import Iterator
from functools import partial

from kafkaesque.broker.apis.commits import Commit, Commits, Place
from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.topics import OFFSETS_PARTITION
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.groups.offsets import CommittedOffset, metadata_error
from kafkaesque.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

_ABORTABLE_FROM = 4
_ADDS_FROM = 5


async def txn_offset_commit(
    ctx: Context, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse:
    error = await _check(ctx, request)
    producer = request.producer_id, request.producer_epoch
    write = partial(ctx.broker.coordinator.commit_soon, request.group_id, producer=producer)
    commits = Commits(lambda: error or _admit(ctx, request), write)
    response = TxnOffsetCommitResponse()
    await commits.write(ctx.broker.slices, _commits(ctx, request, response))
    return response


def _commits(
    ctx: Context, request: TxnOffsetCommitRequest, response: TxnOffsetCommitResponse
) -> Iterator[Commit | None]:
    for topic in request.topics:
        answered = TxnOffsetCommitResponseTopic(name=topic.name)
        response.topics.append(answered)
        for partition in topic.partitions:
            answer = TxnOffsetCommitResponsePartition(partition_index=partition.partition_index)
            answered.partitions.append(answer)
            yield answer, partial(_place, ctx, topic.name, partition)
        yield None


async def _check(ctx: Context, request: TxnOffsetCommitRequest) -> ErrorCode:
    """Whether these offsets may become part of the transaction, which they may begin."""
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    producer = (request.transactional_id, request.producer_id, request.producer_epoch)
    adds = ctx.version >= _ADDS_FROM
    try:
        await ctx.broker.transactions.check(*producer, {OFFSETS_PARTITION}, adds=adds)
    except KafkaError as refused:
        return _as_told(ctx.version, refused.code)
    return ErrorCode.NONE


def _admit(ctx: Context, request: TxnOffsetCommitRequest) -> ErrorCode:
    """In the moment that offsets are appended: it may have ended since the answer was given."""
    producer = (request.transactional_id, request.producer_id, request.producer_epoch)
    try:
        ctx.broker.transactions.admit(*producer, OFFSETS_PARTITION, adds=False)
    except KafkaError as refused:
        return _as_told(ctx.version, refused.code)
    return _member_error(ctx, request)


def _as_told(version: int, error: ErrorCode) -> ErrorCode:
    """What the transaction says, in the words that producers know here."""
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error is ErrorCode.INVALID_TXN_STATE and version >= _ABORTABLE_FROM:
        return ErrorCode.TRANSACTION_ABORTABLE
    if error is ErrorCode.CONCURRENT_TRANSACTIONS and version < _ADDS_FROM:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return error


def _member_error(ctx: Context, request: TxnOffsetCommitRequest) -> ErrorCode:
    group = ctx.broker.coordinator.table.group(request.group_id)
    if group is None:
        is_member = request.generation_id >= 0
        return ErrorCode.ILLEGAL_GENERATION if is_member else ErrorCode.NONE
    return group.transactional_commit_error(
        request.generation_id, request.member_id, request.group_instance_id
    )


def _place(ctx: Context, topic: str, partition: TxnOffsetCommitRequestPartition) -> Place:
    name = ctx.broker.topics.named(topic).partition(partition.partition_index).name
    limit = ctx.broker.config["offset.metadata.max.bytes"]
    if error := metadata_error(partition.committed_metadata, limit):
        raise KafkaError(error)
    return name, CommittedOffset(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp_ms=ctx.broker.clock(),
    )
