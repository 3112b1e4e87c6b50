"""AddPartitionsToTxn (24), versions 0–5. These partitions are part of the transaction from now on.

Up to version 3 a producer asks for one transaction; from version 4 on brokers ask for several, and
may only want to know (`verify_only`, KIP-890). If one partition is unknown, none is added: the
others are answered OPERATION_NOT_ATTEMPTED. Version 2 brings PRODUCER_FENCED (KIP-588).
"""

from collections.abc import Iterable

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
        return AddPartitionsToTxnResponse(
            results_by_transaction=[
                AddPartitionsToTxnResult(
                    transactional_id=each.transactional_id, topic_results=await _add(ctx, each)
                )
                for each in request.transactions
            ]
        )
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
    names = [TopicPartition(topic.name, n) for topic in asked.topics for n in topic.partitions]
    if unusable := {name: error for name in names if (error := _unusable(ctx, name))}:
        refused = dict.fromkeys(names, ErrorCode.OPERATION_NOT_ATTEMPTED)
        return _results(asked.topics, refused | unusable)
    transactions = ctx.broker.transactions
    whose = (asked.transactional_id, asked.producer_id, asked.producer_epoch)
    if asked.verify_only:
        error = await transactions.verify(*whose, names)
    else:
        error = await transactions.add(*whose, names, ctx.connection)
    return _results(asked.topics, dict.fromkeys(names, fenced_before(2, ctx.version, error)))


def _unusable(ctx: Context, name: TopicPartition) -> ErrorCode | None:
    try:
        topic = ctx.broker.topics.named(name.topic)
        topic.partition(name.partition)
    except KafkaError as error:
        return error.code
    return ErrorCode.INVALID_TOPIC_EXCEPTION if topic.is_internal else None


def _results(
    topics: Iterable[AddPartitionsToTxnTopic], errors: dict[TopicPartition, ErrorCode]
) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=number,
                    partition_error_code=errors[TopicPartition(topic.name, number)],
                )
                for number in topic.partitions
            ],
        )
        for topic in topics
    ]
