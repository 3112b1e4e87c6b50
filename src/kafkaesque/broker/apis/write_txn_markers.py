"""WriteTxnMarkers (27), versions 1–2. End transactions in partitions, whatever their state is.

Between Kafka's brokers this is how a transaction ends. Here that is a call, and this API is for
administrators: `kafka-transactions.sh abort` ends by it what hangs.
"""

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafkaesque.types import TopicPartition


async def write_txn_markers(
    ctx: Context, request: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse:
    response = WriteTxnMarkersResponse()
    async for marker in ctx.broker.slices.paced(request.markers):
        response.markers.append(await _write(ctx, marker))
    return response


async def _write(ctx: Context, marker: WritableTxnMarker) -> WritableTxnMarkerResult:
    result = WritableTxnMarkerResult(producer_id=marker.producer_id)
    paced = ctx.broker.slices.paced
    async for topic in paced(marker.topics):
        answer = WritableTxnMarkerTopicResult(name=topic.name)
        result.topics.append(answer)
        async for number in paced(topic.partition_indexes):
            error = await _end(ctx, marker, TopicPartition(topic.name, number))
            answer.partitions.append(
                WritableTxnMarkerPartitionResult(partition_index=number, error_code=error)
            )
    return result


async def _end(ctx: Context, marker: WritableTxnMarker, name: TopicPartition) -> ErrorCode:
    try:
        await ctx.broker.transactions.end_in(
            name, marker.producer_id, marker.producer_epoch, marker.transaction_result
        )
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE
