"""AddPartitionsToTxn (24), versions 0–5. These partitions are part of the transaction from now on.

Up to version 3 a producer asks for one transaction; from version 4 on brokers ask for several, and
may only want to know (`verify_only`, KIP-890). If one partition is unknown, none is added: the
others are answered OPERATION_NOT_ATTEMPTED. Version 2 brings PRODUCER_FENCED (KIP-588).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.apis.init_producer_id import fenced_before
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from kafkaesque.types import TopicPartition

Whose: TypeAlias = tuple[str, int, int]
"""A transactional id, and which producer asks."""


class _Claim(NamedTuple):
    """What is asked of one transaction, and which of its partitions cannot be added."""

    asked: AddPartitionsToTxnTransaction
    errors: dict[TopicPartition, ErrorCode]

    @property
    def whose(self) -> Whose:
        return self.asked.transactional_id, self.asked.producer_id, self.asked.producer_epoch

    @property
    def is_usable(self) -> bool:
        return not any(self.errors.values())


async def add_partitions_to_txn(
    ctx: Context, request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse:
    if ctx.version >= 4:
        results = await _add_to_all(ctx, request.transactions)
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    only = AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    (result,) = await _add_to_all(ctx, [only])
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=result.topic_results)


async def _add_to_all(
    ctx: Context, transactions: Iterable[AddPartitionsToTxnTransaction]
) -> list[AddPartitionsToTxnResult]:
    paced = ctx.broker.slices.paced
    claims = [await _claim(ctx, asked) async for asked in paced(transactions)]
    told = await _add_together(ctx, claims)
    results = []
    async for claim in paced(claims):
        result = AddPartitionsToTxnResult(transactional_id=claim.asked.transactional_id)
        result.topic_results = await _answer(ctx, claim, told)
        results.append(result)
    return results


async def _claim(ctx: Context, asked: AddPartitionsToTxnTransaction) -> _Claim:
    errors: dict[TopicPartition, ErrorCode] = {}
    paced = ctx.broker.slices.paced
    async for topic in paced(asked.topics):
        async for number in paced(topic.partitions):
            name = TopicPartition(topic.name, number)
            errors[name] = _unusable(ctx, name)
    return _Claim(asked, errors)


async def _add_together(ctx: Context, claims: Iterable[_Claim]) -> dict[Whose, ErrorCode]:
    """A transaction is stored whole when it gets more partitions. Of one that is named again and
    again, each entry by itself would store what those before it have stored.
    """
    paced = ctx.broker.slices.paced
    added: dict[Whose, set[TopicPartition]] = {}
    async for claim in paced(claims):
        if claim.is_usable and not claim.asked.verify_only:
            added.setdefault(claim.whose, set()).update(claim.errors)
    add, connection = ctx.broker.transactions.add, ctx.connection
    return {
        whose: await add(*whose, partitions, connection)
        async for whose, partitions in paced(added.items())
    }


async def _answer(
    ctx: Context, claim: _Claim, told: Mapping[Whose, ErrorCode]
) -> list[AddPartitionsToTxnTopicResult]:
    topics = claim.asked.topics
    if not claim.is_usable:
        other = ErrorCode.OPERATION_NOT_ATTEMPTED
        return await _results(ctx, topics, lambda name: claim.errors[name] or other)
    if claim.asked.verify_only:
        error = await ctx.broker.transactions.verify(*claim.whose, claim.errors)
    else:
        error = told[claim.whose]
    error = fenced_before(2, ctx.version, error)
    return await _results(ctx, topics, lambda name: error)


def _unusable(ctx: Context, name: TopicPartition) -> ErrorCode:
    try:
        topic = ctx.broker.topics.named(name.topic)
        topic.partition(name.partition)
    except KafkaError as error:
        return error.code
    return ErrorCode.INVALID_TOPIC_EXCEPTION if topic.is_internal else ErrorCode.NONE


async def _results(
    ctx: Context,
    topics: Iterable[AddPartitionsToTxnTopic],
    error_of: Callable[[TopicPartition], ErrorCode],
) -> list[AddPartitionsToTxnTopicResult]:
    results = []
    paced = ctx.broker.slices.paced
    async for topic in paced(topics):
        result = AddPartitionsToTxnTopicResult(name=topic.name)
        results.append(result)
        async for number in paced(topic.partitions):
            error = error_of(TopicPartition(topic.name, number))
            result.results_by_partition.append(
                AddPartitionsToTxnPartitionResult(
                    partition_index=number, partition_error_code=error
                )
            )
    return results
