"""DeleteRecords (21), versions 0–2. The log start moves up; −1 means the high watermark.

Answered when the new start is durable: what was deleted stays deleted.
"""

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.partition import Partition
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

Deleted = list[tuple[Partition, DeleteRecordsPartitionResult]]


async def delete_records(ctx: Context, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    deleted: Deleted = []
    response = DeleteRecordsResponse()
    async for topic in ctx.broker.slices.paced(request.topics):
        results = [
            _delete(ctx, topic.name, wanted, deleted)
            async for wanted in ctx.broker.slices.paced(topic.partitions)
        ]
        response.topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=results))
    storage = ctx.broker.storage
    await storage.checkpoint_log_starts()
    for partition, result in deleted:
        if storage.durable_log_start(partition) < result.low_watermark:
            result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
            result.low_watermark = -1
    return response


def _delete(
    ctx: Context, name: str, wanted: DeleteRecordsPartition, deleted: Deleted
) -> DeleteRecordsPartitionResult:
    result = DeleteRecordsPartitionResult(partition_index=wanted.partition_index, low_watermark=-1)
    try:
        topic = ctx.broker.topics.named(name)
        if topic.is_internal or topic.config.cleanup_policy == ("compact",):
            raise KafkaError(ErrorCode.POLICY_VIOLATION)
        partition = topic.partition(wanted.partition_index)
        result.low_watermark = partition.delete_records(wanted.offset)
        deleted.append((partition, result))
    except KafkaError as error:
        result.error_code = error.code
    return result
