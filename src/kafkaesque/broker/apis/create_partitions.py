"""CreatePartitions (37), versions 0–3. A topic grows; it never shrinks."""

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.config import NODE_ID
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)


async def create_partitions(
    ctx: Context, request: CreatePartitionsRequest
) -> CreatePartitionsResponse:
    wanted = ctx.broker.slices.paced(request.topics)
    return CreatePartitionsResponse(
        results=[await _grow(ctx, topic, request.validate_only) async for topic in wanted]
    )


async def _grow(
    ctx: Context, wanted: CreatePartitionsTopic, validate_only: bool
) -> CreatePartitionsTopicResult:
    result = CreatePartitionsTopicResult(name=wanted.name)
    try:
        topic = ctx.broker.topics.named(wanted.name)
        have = len(topic.partitions)
        if wanted.count <= have:
            message = f"{wanted.name} has {have} partitions already; {wanted.count} is not more"
            raise KafkaError(ErrorCode.INVALID_PARTITIONS, message)
        ctx.broker.topics.check_partitions(wanted.count, have)
        if wanted.assignments is not None and (
            len(wanted.assignments) != wanted.count - have
            or any(assignment.broker_ids != [NODE_ID] for assignment in wanted.assignments)
        ):
            message = f"each new partition must be assigned to node {NODE_ID}, the only one"
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        if not validate_only:
            await ctx.broker.topics.grow(topic, wanted.count, ctx.broker.slices.run)
    except KafkaError as error:
        result.error_code, result.error_message = error.code, error.message
    return result
