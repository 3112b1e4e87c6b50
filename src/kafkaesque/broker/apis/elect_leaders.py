"""ElectLeaders (43), versions 0–2. This node leads everything: ELECTION_NOT_NEEDED.

Asked about all partitions, Kafka names every topic and only those partitions that an election was
held for: none.
"""

from collections.abc import Callable
from typing import TypeAlias

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
    TopicPartitions,
)

_PREFERRED, _UNCLEAN = 0, 1

Elect: TypeAlias = Callable[[Context, str, int], PartitionResult]


async def elect_leaders(ctx: Context, request: ElectLeadersRequest) -> ElectLeadersResponse:
    response = ElectLeadersResponse()
    elect: Elect = _elect
    if request.election_type not in (_PREFERRED, _UNCLEAN):
        response.error_code = ErrorCode.INVALID_REQUEST
        elect = _unknown_type(request.election_type)
    elif request.topic_partitions is None:
        response.replica_election_results = [
            ReplicaElectionResult(topic=topic.name)
            for topic in ctx.broker.topics
            if not topic.is_unused
        ]
    async for topic in ctx.broker.slices.paced(request.topic_partitions or ()):
        response.replica_election_results.append(await _results(ctx, topic, elect))
    return response


async def _results(ctx: Context, wanted: TopicPartitions, elect: Elect) -> ReplicaElectionResult:
    paced = ctx.broker.slices.paced
    partitions = [elect(ctx, wanted.topic, i) async for i in paced(wanted.partitions)]
    return ReplicaElectionResult(topic=wanted.topic, partition_result=partitions)


def _elect(ctx: Context, topic: str, index: int) -> PartitionResult:
    result = PartitionResult(
        partition_id=index,
        error_code=ErrorCode.ELECTION_NOT_NEEDED,
        error_message="Leader election not needed for topic partition.",
    )
    try:
        ctx.broker.topics.named(topic).partition(index)
    except KafkaError as error:
        result.error_code, result.error_message = error.code, error.message
    return result


def _unknown_type(election_type: int) -> Elect:
    return lambda ctx, topic, index: PartitionResult(
        partition_id=index,
        error_code=ErrorCode.INVALID_REQUEST,
        error_message=f"Unknown election type {election_type}",
    )
