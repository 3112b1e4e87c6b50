"""DescribeTopicPartitions (key 75), version 0: topics page by page (KIP-966).

Flexible. `cursor` is where the page starts and `next_cursor` where the next one does; each is a
nullable struct (KIP-893). Java's admin client tries this before Metadata.
"""

from kafkaesque.protocol.schema import (
    ZERO_UUID,
    boolean,
    field,
    int16,
    int32,
    message,
    string,
    struct,
    uuid,
)


@struct
class TopicRequest:
    name: string = ""


@struct
class Cursor:
    topic_name: string = ""
    partition_index: int32 = 0


@message(api_key=75, versions=(0, 0), flexible=0)
class DescribeTopicPartitionsRequest:
    topics: list[TopicRequest] = field(default_factory=list)
    response_partition_limit: int32 = 2000
    cursor: Cursor | None = None


@struct
class DescribeTopicPartitionsResponsePartition:
    error_code: int16 = 0
    partition_index: int32 = 0
    leader_id: int32 = 0
    leader_epoch: int32 = -1
    replica_nodes: list[int32] = field(default_factory=list)
    isr_nodes: list[int32] = field(default_factory=list)
    eligible_leader_replicas: list[int32] | None = None
    last_known_elr: list[int32] | None = None
    offline_replicas: list[int32] = field(default_factory=list)


@struct
class DescribeTopicPartitionsResponseTopic:
    error_code: int16 = 0
    name: string | None = ""
    topic_id: uuid = ZERO_UUID
    is_internal: boolean = False
    partitions: list[DescribeTopicPartitionsResponsePartition] = field(default_factory=list)
    topic_authorized_operations: int32 = -(2**31)


@message(api_key=75, versions=(0, 0), flexible=0)
class DescribeTopicPartitionsResponse:
    throttle_time_ms: int32 = 0
    topics: list[DescribeTopicPartitionsResponseTopic] = field(default_factory=list)
    next_cursor: Cursor | None = None
