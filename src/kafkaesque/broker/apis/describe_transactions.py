"""DescribeTransactions (65), version 0. A transactional id: its state, producer, partitions."""

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)


async def describe_transactions(
    ctx: Context, request: DescribeTransactionsRequest
) -> DescribeTransactionsResponse:
    """Each id once, however often it is named: it may have many partitions."""
    response = DescribeTransactionsResponse()
    seen: set[str] = set()
    async for transactional_id in ctx.broker.slices.paced(request.transactional_ids):
        if transactional_id not in seen:
            seen.add(transactional_id)
            response.transaction_states.append(_describe(ctx, transactional_id))
    return response


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
