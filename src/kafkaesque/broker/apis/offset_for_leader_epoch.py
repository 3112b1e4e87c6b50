"""OffsetForLeaderEpoch (23), versions 2–4. Where an epoch ended: ours, the only one, ends at the
high watermark.

Clients ask after a reconnect to learn whether what they have read was truncated (KIP-320). It never
is. A partition that could not be opened does not know its end, and must not say 0.
"""

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.partition import LEADER_EPOCH, check_leader_epoch
from kafkaesque.errors import KafkaError
from kafkaesque.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


async def offset_for_leader_epoch(
    ctx: Context, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    paced = ctx.broker.slices.paced
    response = OffsetForLeaderEpochResponse()
    async for topic in paced(request.topics):
        ends = [_end(ctx, topic.topic, wanted) async for wanted in paced(topic.partitions)]
        response.topics.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=ends))
    return response


def _end(ctx: Context, topic: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
    answer = EpochEndOffset(partition=wanted.partition)
    try:
        partition = ctx.broker.topics.named(topic).partition(wanted.partition)
        check_leader_epoch(wanted.current_leader_epoch)
        partition.check_online()
        if wanted.leader_epoch == LEADER_EPOCH:
            answer.leader_epoch, answer.end_offset = LEADER_EPOCH, partition.high_watermark
    except KafkaError as error:
        answer.error_code = error.code
    return answer
