"""AddPartitionsToTxn (24), versions 0–5. These partitions are part of the transaction from now on.

Up to version 3 a producer asks for one transaction; from version 4 on brokers ask for several, and
may only want to know (`verify_only`, KIP-890). If one partition is unknown, none is added: the
others are answered OPERATION_NOT_ATTEMPTED. Version 2 brings PRODUCER_FENCED (KIP-588).
"""

from collections.abc import Callable, Iterable

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


async def add_partitions_to_txn(
    ctx: Context, request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse:
    if ctx.version >= 4:
        response = AddPartitionsToTxnResponse()
        async for each in ctx.broker.slices.paced(request.transactions):
            result = AddPartitionsToTxnResult(transactional_id=each.transactional_id)
            response.results_by_transaction.append(result)
            result.topic_results = await _add(ctx, each)
        return response
    only = AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=await _add(ctx, only))


async def _add(
    ctx: Context, asked: AddPartitionsToTxnTransaction
) -> list[AddPartitionsToTxnTopicResult]:
    errors: dict[TopicPartition, ErrorCode] = {}
    paced = ctx.broker.slices.paced
    async for topic in paced(asked.topics):
        async for number in paced(topic.partitions):
            name = TopicPartition(topic.name, number)
            errors[name] = _unusable(ctx, name)
    if any(errors.values()):
        other = ErrorCode.OPERATION_NOT_ATTEMPTED
        return await _results(ctx, asked.topics, lambda name: errors[name] or other)
    transactions = ctx.broker.transactions
    whose = (asked.transactional_id, asked.producer_id, asked.producer_epoch)
    if asked.verify_only:
        error = await transactions.verify(*whose, errors)
    else:
        error = await transactions.add(*whose, errors, ctx.connection)
    told = fenced_before(2, ctx.version, error)
    return await _results(ctx, asked.topics, lambda name: told)


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
