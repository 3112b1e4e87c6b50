"""OffsetCommit (key 8), versions 2–10: store a group's position.

v5  retention_time_ms is gone: the broker decides
v6  committed_leader_epoch (KIP-320)
v7  group_instance_id (KIP-345)
v8  flexible
v9  the next generation of groups, whose epoch stands where the generation was (KIP-848)
v10 topic ids in place of names
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
    uuid,
)


@struct
class OffsetCommitRequestPartition:
    partition_index: int32 = 0
    committed_offset: int64 = 0
    committed_leader_epoch: int32 = field(since=6, default=-1)
    committed_metadata: string | None = ""


@struct
class OffsetCommitRequestTopic:
    name: string = field(until=9, default="")
    topic_id: uuid = field(since=10, default=ZERO_UUID)
    partitions: list[OffsetCommitRequestPartition] = field(default_factory=list)


@message(api_key=8, versions=(2, 10), flexible=8)
class OffsetCommitRequest:
    group_id: string = ""
    generation_id_or_member_epoch: int32 = -1
    member_id: string = ""
    group_instance_id: string | None = field(since=7, default=None)
    retention_time_ms: int64 = field(until=4, default=-1)
    topics: list[OffsetCommitRequestTopic] = field(default_factory=list)


@struct
class OffsetCommitResponsePartition:
    partition_index: int32 = 0
    error_code: int16 = 0


@struct
class OffsetCommitResponseTopic:
    name: string = field(until=9, default="")
    topic_id: uuid = field(since=10, default=ZERO_UUID)
    partitions: list[OffsetCommitResponsePartition] = field(default_factory=list)


@message(api_key=8, versions=(2, 10), flexible=8)
class OffsetCommitResponse:
    throttle_time_ms: int32 = field(since=3, default=0)
    topics: list[OffsetCommitResponseTopic] = field(default_factory=list)
