"""InitProducerId (22), versions 0–5. A producer id for idempotence, never given out twice.

A producer that brings its id and epoch (version 3, KIP-360) gets the next epoch of it, or, at the
last one, a new id. A transactional id is refused: transactions are not implemented.
"""

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)

_LAST_EPOCH = 0x7FFF


async def init_producer_id(ctx: Context, request: InitProducerIdRequest) -> InitProducerIdResponse:
    if request.transactional_id is not None:
        code = ErrorCode.INVALID_REQUEST
        return InitProducerIdResponse(error_code=code, producer_epoch=-1)
    if request.producer_id >= 0 and 0 <= request.producer_epoch < _LAST_EPOCH - 1:
        return InitProducerIdResponse(
            producer_id=request.producer_id, producer_epoch=request.producer_epoch + 1
        )
    try:
        return InitProducerIdResponse(producer_id=await ctx.broker.metadata.new_producer_id())
    except KafkaError as error:
        return InitProducerIdResponse(error_code=error.code, producer_epoch=-1)
