"""AlterPartitionReassignments (45), versions 0–1. Every partition is on the one node there is.

So a reassignment to that node is done at once, one to another is refused with
INVALID_REPLICA_ASSIGNMENT, and there is never one to cancel.
"""

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.config import NODE_ID
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopic,
    ReassignableTopicResponse,
)


async def alter_partition_reassignments(
    ctx: Context, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        responses=[
            await _reassign_topic(ctx, topic)
            async for topic in ctx.broker.slices.paced(request.topics)
        ],
    )


async def _reassign_topic(ctx: Context, topic: ReassignableTopic) -> ReassignableTopicResponse:
    return ReassignableTopicResponse(
        name=topic.name,
        partitions=[
            _reassign(ctx, topic.name, partition)
            async for partition in ctx.broker.slices.paced(topic.partitions)
        ],
    )


def _reassign(
    ctx: Context, topic: str, wanted: ReassignablePartition
) -> ReassignablePartitionResponse:
    response = ReassignablePartitionResponse(partition_index=wanted.partition_index)
    try:
        ctx.broker.topics.named(topic).partition(wanted.partition_index)
        if wanted.replicas is None:
            raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "nothing is being reassigned")
        _check_replicas(wanted.replicas)
    except KafkaError as error:
        response.error_code, response.error_message = error.code, error.message
    return response


def _check_replicas(replicas: list[int]) -> None:
    reason = None
    if not replicas:
        reason = "an empty replica list"
    elif strangers := [replica for replica in replicas if replica != NODE_ID]:
        reason = f"broker {min(strangers)}, but no such broker is registered"
    elif len(replicas) > 1:
        reason = f"the broker {NODE_ID} more than once"
    if reason:
        message = f"The manual partition assignment includes {reason}."
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
