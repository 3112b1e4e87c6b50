"""DescribeQuorum (key 55), versions 0–2: who keeps the metadata log, and how far (KIP-595).

Flexible from the start. The leader's own last_caught_up_timestamp is now.

v1  timestamps of a replica's last fetch (KIP-836)
v2  error messages, directory ids, the nodes' listeners (KIP-853)
"""

from kafkaesque.protocol.schema import (
    ZERO_UUID,
    field,
    int16,
    int32,
    int64,
    message,
    string,
    struct,
    uint16,
    uuid,
)


@struct
class RequestPartitionData:
    partition_index: int32 = 0


@struct
class RequestTopicData:
    topic_name: string = ""
    partitions: list[RequestPartitionData] = field(default_factory=list)


@message(api_key=55, versions=(0, 2), flexible=0)
class DescribeQuorumRequest:
    topics: list[RequestTopicData] = field(default_factory=list)


@struct
class ReplicaState:
    replica_id: int32 = 0
    replica_directory_id: uuid = field(since=2, default=ZERO_UUID)
    log_end_offset: int64 = 0
    last_fetch_timestamp: int64 = field(since=1, default=-1)
    last_caught_up_timestamp: int64 = field(since=1, default=-1)


@struct
class PartitionData:
    partition_index: int32 = 0
    error_code: int16 = 0
    error_message: string | None = field(since=2, default=None)
    leader_id: int32 = 0
    leader_epoch: int32 = 0
    high_watermark: int64 = 0
    current_voters: list[ReplicaState] = field(default_factory=list)
    observers: list[ReplicaState] = field(default_factory=list)


@struct
class TopicData:
    topic_name: string = ""
    partitions: list[PartitionData] = field(default_factory=list)


@struct
class Listener:
    name: string = ""
    host: string = ""
    port: uint16 = 0


@struct
class Node:
    node_id: int32 = 0
    listeners: list[Listener] = field(default_factory=list)


@message(api_key=55, versions=(0, 2), flexible=0)
class DescribeQuorumResponse:
    error_code: int16 = 0
    error_message: string | None = field(since=2, default=None)
    topics: list[TopicData] = field(default_factory=list)
    nodes: list[Node] = field(since=2, default_factory=list)
