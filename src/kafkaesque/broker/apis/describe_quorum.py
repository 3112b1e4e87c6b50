"""DescribeQuorum (55), versions 0–2. One voter, this node, and no observers.

Only `__cluster_metadata` has a quorum. As in Kafka it has to be asked for alone: beside anything
else every partition is unknown. The voter is reached where clients are, for there is no listener
of a controller's own.
"""

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.config import NODE_ID
from kafkaesque.broker.partition import LEADER_EPOCH
from kafkaesque.broker.topics import METADATA_TOPIC
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionData,
    ReplicaState,
    RequestPartitionData,
    RequestTopicData,
    TopicData,
)

_ASKED = [
    RequestTopicData(
        topic_name=METADATA_TOPIC, partitions=[RequestPartitionData(partition_index=0)]
    )
]


async def describe_quorum(ctx: Context, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    if request.topics == _ASKED:
        return _quorum(ctx)
    paced = ctx.broker.slices.paced
    return DescribeQuorumResponse(
        topics=[await _unknown(ctx, topic) async for topic in paced(request.topics)]
    )


async def _unknown(ctx: Context, topic: RequestTopicData) -> TopicData:
    return TopicData(
        topic_name=topic.topic_name,
        partitions=[
            PartitionData(
                partition_index=partition.partition_index,
                error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                error_message="This server does not host this topic-partition.",
            )
            async for partition in ctx.broker.slices.paced(topic.partitions)
        ],
    )


def _quorum(ctx: Context) -> DescribeQuorumResponse:
    partition = ctx.broker.metadata.partition
    now_ms = ctx.broker.clock()
    voter = ReplicaState(
        replica_id=NODE_ID,
        log_end_offset=partition.log.end_offset,
        last_fetch_timestamp=now_ms,
        last_caught_up_timestamp=now_ms,
    )
    answer = PartitionData(
        leader_id=NODE_ID,
        leader_epoch=LEADER_EPOCH,
        high_watermark=partition.high_watermark,
        current_voters=[voter],
    )
    node_id, host, port = ctx.advertised
    listener = Listener(name=ctx.listener.name, host=host, port=port)
    return DescribeQuorumResponse(
        topics=[TopicData(topic_name=METADATA_TOPIC, partitions=[answer])],
        nodes=[Node(node_id=node_id, listeners=[listener])],
    )
