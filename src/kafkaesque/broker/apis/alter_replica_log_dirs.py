"""AlterReplicaLogDirs (34), versions 1–2. One directory: every replica is there already.

So a move to it succeeds, and one to anywhere else is refused with LOG_DIR_NOT_FOUND (KIP-113). As
in Kafka, the last directory that a partition is sent to counts.
"""

from collections.abc import Iterator

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from kafkaesque.types import TopicPartition


async def alter_replica_log_dirs(
    ctx: Context, request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse:
    paced = ctx.broker.slices.paced
    targets = {name: path async for name, path in paced(_moves(request))}
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    async for name, path in paced(targets.items()):
        result = results.get(name.topic)
        if result is None:
            result = results[name.topic] = AlterReplicaLogDirTopicResult(topic_name=name.topic)
        result.partitions.append(
            AlterReplicaLogDirPartitionResult(
                partition_index=name.partition, error_code=_move(ctx, name, path)
            )
        )
    return AlterReplicaLogDirsResponse(results=list(results.values()))


def _moves(request: AlterReplicaLogDirsRequest) -> Iterator[tuple[TopicPartition, str]]:
    for directory in request.dirs:
        for topic in directory.topics:
            for index in topic.partitions:
                yield TopicPartition(topic.name, index), directory.path


def _move(ctx: Context, name: TopicPartition, path: str) -> ErrorCode:
    if path != ctx.broker.storage.path:
        return ErrorCode.LOG_DIR_NOT_FOUND
    try:
        ctx.broker.topics.named(name.topic).partition(name.partition).check_online()
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE
