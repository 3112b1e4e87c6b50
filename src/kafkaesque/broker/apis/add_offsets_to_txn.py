"""AddOffsetsToTxn (25), versions 0–4. A group's offsets will be committed in this transaction.

As in Kafka, what is added is the partition of `__consumer_offsets` that keeps them: here there is
one. Version 2 brings PRODUCER_FENCED (KIP-588).
"""

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.apis.init_producer_id import fenced_before
from kafkaesque.broker.topics import OFFSETS_PARTITION
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)


async def add_offsets_to_txn(
    ctx: Context, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse:
    if not request.group_id:
        return AddOffsetsToTxnResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    error = await ctx.broker.transactions.add(
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        [OFFSETS_PARTITION],
        ctx.connection,
    )
    return AddOffsetsToTxnResponse(error_code=fenced_before(2, ctx.version, error))
