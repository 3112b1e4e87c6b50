"""Metadata (key 3), versions 0–13: brokers, topics, partitions and their leaders.

topics=None asks for all topics, an empty list for none; in v0 the empty list asks for all.

v1  rack, controller_id, is_internal; topics may be null
v2  cluster_id
v4  allow_auto_topic_creation
v5  offline_replicas
v7  leader_epoch (KIP-320)
v8  authorized operations (KIP-430); those of the cluster moved to DescribeCluster in v11 (KIP-700)
v9  flexible
v10 topic ids in the response; v12 in the request too, with a null name (KIP-516)
v13 error_code of the whole response
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
class MetadataRequestTopic:
    topic_id: uuid = field(since=10, default=ZERO_UUID)
    name: string | None = field(nullable_since=10, default="")


@message(api_key=3, versions=(0, 13), flexible=9)
class MetadataRequest:
    topics: list[MetadataRequestTopic] | None = field(nullable_since=1, default_factory=list)
    allow_auto_topic_creation: boolean = field(since=4, default=True)
    include_cluster_authorized_operations: boolean = field(since=8, until=10, default=False)
    include_topic_authorized_operations: boolean = field(since=8, default=False)


@struct
class MetadataResponseBroker:
    node_id: int32 = 0
    host: string = ""
    port: int32 = 0
    rack: string | None = field(since=1, default=None)


@struct
class MetadataResponsePartition:
    error_code: int16 = 0
    partition_index: int32 = 0
    leader_id: int32 = 0
    leader_epoch: int32 = field(since=7, default=-1)
    replica_nodes: list[int32] = field(default_factory=list)
    isr_nodes: list[int32] = field(default_factory=list)
    offline_replicas: list[int32] = field(since=5, default_factory=list)


@struct
class MetadataResponseTopic:
    error_code: int16 = 0
    name: string | None = field(nullable_since=12, default="")
    topic_id: uuid = field(since=10, default=ZERO_UUID)
    is_internal: boolean = field(since=1, default=False)
    partitions: list[MetadataResponsePartition] = field(default_factory=list)
    topic_authorized_operations: int32 = field(since=8, default=-(2**31))


@message(api_key=3, versions=(0, 13), flexible=9)
class MetadataResponse:
    throttle_time_ms: int32 = field(since=3, default=0)
    brokers: list[MetadataResponseBroker] = field(default_factory=list)
    cluster_id: string | None = field(since=2, default=None)
    controller_id: int32 = field(since=1, default=-1)
    topics: list[MetadataResponseTopic] = field(default_factory=list)
    cluster_authorized_operations: int32 = field(since=8, until=10, default=-(2**31))
    error_code: int16 = field(since=13, default=0)
