"""EndTxn (26), versions 0–5. Commit or abort: answered when readers of committed records see it.

Version 2 brings PRODUCER_FENCED (KIP-588). From version 5 on each end raises the producer's epoch,
which is in the answer: a request that comes late can never touch the next transaction (KIP-890).
For producers of before, an end that comes over an older connection than the transaction's own is
known as late.
"""

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.apis.init_producer_id import fenced_before
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse

_BUMPS_FROM = 5


async def end_txn(ctx: Context, request: EndTxnRequest) -> EndTxnResponse:
    try:
        reply = await ctx.broker.transactions.end(
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            commit=request.committed,
            bumps=ctx.version >= _BUMPS_FROM,
            connection=ctx.connection,
        )
    except KafkaError as error:
        return EndTxnResponse(error_code=error.code)
    if reply.error is not ErrorCode.NONE:
        return EndTxnResponse(error_code=fenced_before(2, ctx.version, reply.error))
    return EndTxnResponse(producer_id=reply.producer_id, producer_epoch=reply.producer_epoch)
