"""DescribeTransactions (65), version 0. A transactional id: its state, producer, partitions."""

from functools import partial

from kafkaesque.broker.apis.answer_size import answer_size
from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)

_NUMBER_BYTES = 16
"""Of a partition, in a list and encoded."""


async def describe_transactions(
    ctx: Context, request: DescribeTransactionsRequest
) -> DescribeTransactionsResponse:
    """Each id once, however often it is named: it may have many partitions."""
    response = DescribeTransactionsResponse()
    names = {name: None async for name in ctx.broker.slices.paced(request.transactional_ids)}
    states = response.transaction_states
    async for transactional_id in ctx.with_room(names, partial(_size, ctx), states):
        states.append(_describe(ctx, transactional_id))
    return response


def _size(ctx: Context, transactional_id: str) -> int:
    transaction = ctx.broker.transactions.table.get(transactional_id)
    if transaction is None:
        return answer_size(1, transactional_id)
    partitions = transaction.partitions
    elements = answer_size(1 + len(partitions.topics), transactional_id, *partitions.topics)
    return elements + _NUMBER_BYTES * len(partitions)


def _describe(ctx: Context, transactional_id: str) -> TransactionState:
    transaction = ctx.broker.transactions.table.get(transactional_id)
    if not transactional_id or transaction is None:
        unknown = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        return TransactionState(
            error_code=ErrorCode.INVALID_REQUEST if not transactional_id else unknown,
            transactional_id=transactional_id,
        )
    topics: dict[str, list[int]] = {}
    for name in sorted(transaction.partitions):
        topics.setdefault(name.topic, []).append(name.partition)
    return TransactionState(
        transactional_id=transactional_id,
        transaction_state=transaction.state.value,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.started_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=[TopicData(topic=name, partitions=numbers) for name, numbers in topics.items()],
    )
