"""InitProducerId (22), versions 0–5. A producer id and an epoch, never given out twice.

Without a transactional id: for idempotence alone. A producer that brings its id and epoch (version
3, KIP-360) gets the next epoch of it, or, at the last one, a new id.
With one: the id belongs to that name; a new producer of the same name fences the one before it, and
what that one left open is aborted first. Version 4 tells a fenced producer so by PRODUCER_FENCED
(KIP-588).
"""

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.groups.bounds import fits_a_name
from kafkaesque.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)

_LAST_EPOCH = 0x7FFF


async def init_producer_id(ctx: Context, request: InitProducerIdRequest) -> InitProducerIdResponse:
    try:
        if request.transactional_id is not None:
            return await _transactional(ctx, request, request.transactional_id)
        if request.producer_id >= 0 and 0 <= request.producer_epoch < _LAST_EPOCH - 1:
            return InitProducerIdResponse(
                producer_id=request.producer_id, producer_epoch=request.producer_epoch + 1
            )
        return InitProducerIdResponse(producer_id=await ctx.broker.metadata.new_producer_id())
    except KafkaError as error:
        return InitProducerIdResponse(error_code=error.code, producer_epoch=-1)


async def _transactional(
    ctx: Context, request: InitProducerIdRequest, transactional_id: str
) -> InitProducerIdResponse:
    if not fits_a_name(transactional_id):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if not transactional_id or (request.producer_id < 0) != (request.producer_epoch < 0):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    reply = await ctx.broker.transactions.init(
        transactional_id,
        request.transaction_timeout_ms,
        request.producer_id,
        request.producer_epoch,
    )
    if reply.error is not ErrorCode.NONE:
        raise KafkaError(fenced_before(4, ctx.version, reply.error))
    return InitProducerIdResponse(
        producer_id=reply.producer_id, producer_epoch=reply.producer_epoch
    )


def fenced_before(version: int, asked: int, error: ErrorCode) -> ErrorCode:
    """PRODUCER_FENCED is newer than these APIs: earlier versions say INVALID_PRODUCER_EPOCH."""
    is_unknown = error is ErrorCode.PRODUCER_FENCED and asked < version
    return ErrorCode.INVALID_PRODUCER_EPOCH if is_unknown else error
