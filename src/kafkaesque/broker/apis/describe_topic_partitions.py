"""DescribeTopicPartitions (75), version 0. Topics in order of their names, a page at a time
(KIP-966).

Java's admin client asks this before it falls back to Metadata.
"""

from collections.abc import Iterable
from heapq import merge
from itertools import islice

from kafkaesque.broker.apis.authorized_operations import TOPIC_OPERATIONS
from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.config import NODE_ID
from kafkaesque.broker.partition import LEADER_EPOCH
from kafkaesque.broker.topics import check_topic_name
from kafkaesque.errors import KafkaError
from kafkaesque.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

_MAX_PARTITIONS = 2000
_SORTED_AT_ONCE = 1000


async def describe_topic_partitions(
    ctx: Context, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    cursor = request.cursor or Cursor()
    room = max(1, min(request.response_partition_limit, _MAX_PARTITIONS))
    response = DescribeTopicPartitionsResponse()
    async for name in ctx.broker.slices.paced(await _sorted_names(ctx, request)):
        if name < cursor.topic_name:
            continue
        first = cursor.partition_index if name == cursor.topic_name else 0
        if room == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=first)
            break
        topic, more = _describe(ctx, name, first, room)
        response.topics.append(topic)
        room -= len(topic.partitions)
        if more:
            response.next_cursor = Cursor(topic_name=name, partition_index=more)
            break
    return response


async def _sorted_names(ctx: Context, request: DescribeTopicPartitionsRequest) -> Iterable[str]:
    """Each once. Sorted in parts: a hundred thousand at once would take too long."""
    paced = ctx.broker.slices.paced
    names = dict.fromkeys([topic.name async for topic in paced(request.topics)])
    if not names:
        names = dict.fromkeys([topic.name async for topic in paced(list(ctx.broker.topics))])
    left = iter(names)
    starts = paced(range(0, len(names), _SORTED_AT_ONCE))
    parts = [sorted(islice(left, _SORTED_AT_ONCE)) async for _ in starts]
    return merge(*parts)


def _describe(
    ctx: Context, name: str, first: int, room: int
) -> tuple[DescribeTopicPartitionsResponseTopic, int]:
    """One topic's partitions from `first` on, and the index to go on from (0: that was all)."""
    try:
        check_topic_name(name)
        topic = ctx.broker.topics.named(name)
    except KafkaError as error:
        return DescribeTopicPartitionsResponseTopic(
            name=name,
            error_code=error.code,
            topic_authorized_operations=TOPIC_OPERATIONS,
        ), 0
    end = min(first + room, len(topic.partitions))
    described = DescribeTopicPartitionsResponseTopic(
        name=name,
        topic_id=topic.id,
        is_internal=topic.is_internal,
        partitions=[
            DescribeTopicPartitionsResponsePartition(
                partition_index=index,
                leader_id=NODE_ID,
                leader_epoch=LEADER_EPOCH,
                replica_nodes=[NODE_ID],
                isr_nodes=[NODE_ID],
                eligible_leader_replicas=[],
                last_known_elr=[],
            )
            for index in range(first, end)
        ],
        topic_authorized_operations=TOPIC_OPERATIONS,
    )
    return described, end if end < len(topic.partitions) else 0
