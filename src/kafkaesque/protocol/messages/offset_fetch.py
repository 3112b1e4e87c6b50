"""OffsetFetch (key 9), versions 1–10: a group's committed positions.

Up to v7 a request names one group, at its top level; from v8 it has a list of groups. A partition
where nothing is committed answers offset -1 and no error.

v2  topics=None asks for all; error_code of the whole response
v5  committed_leader_epoch (KIP-320)
v6  flexible
v7  require_stable: UNSTABLE_OFFSET_COMMIT while a transaction is open (KIP-447)
v8  many groups at once (KIP-709)
v9  member_id and member_epoch (KIP-848)
v10 topic ids in place of names
"""

from kafkaesque.protocol.schema import (
    ZERO_UUID,
    boolean,
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
class OffsetFetchRequestTopic:
    name: string = ""
    partition_indexes: list[int32] = field(default_factory=list)


@struct
class OffsetFetchRequestTopics:
    name: string = field(until=9, default="")
    topic_id: uuid = field(since=10, default=ZERO_UUID)
    partition_indexes: list[int32] = field(default_factory=list)


@struct
class OffsetFetchRequestGroup:
    group_id: string = ""
    member_id: string | None = field(since=9, default=None)
    member_epoch: int32 = field(since=9, default=-1)
    topics: list[OffsetFetchRequestTopics] | None = field(default_factory=list)


@message(api_key=9, versions=(1, 10), flexible=6)
class OffsetFetchRequest:
    group_id: string = field(until=7, default="")
    topics: list[OffsetFetchRequestTopic] | None = field(
        until=7, nullable_since=2, default_factory=list
    )
    groups: list[OffsetFetchRequestGroup] = field(since=8, default_factory=list)
    require_stable: boolean = field(since=7, default=False)


@struct
class OffsetFetchResponsePartition:
    partition_index: int32 = 0
    committed_offset: int64 = 0
    committed_leader_epoch: int32 = field(since=5, default=-1)
    metadata: string | None = ""
    error_code: int16 = 0


@struct
class OffsetFetchResponseTopic:
    name: string = ""
    partitions: list[OffsetFetchResponsePartition] = field(default_factory=list)


@struct
class OffsetFetchResponsePartitions:
    partition_index: int32 = 0
    committed_offset: int64 = 0
    committed_leader_epoch: int32 = -1
    metadata: string | None = ""
    error_code: int16 = 0


@struct
class OffsetFetchResponseTopics:
    name: string = field(until=9, default="")
    topic_id: uuid = field(since=10, default=ZERO_UUID)
    partitions: list[OffsetFetchResponsePartitions] = field(default_factory=list)


@struct
class OffsetFetchResponseGroup:
    group_id: string = ""
    topics: list[OffsetFetchResponseTopics] = field(default_factory=list)
    error_code: int16 = 0


@message(api_key=9, versions=(1, 10), flexible=6)
class OffsetFetchResponse:
    throttle_time_ms: int32 = field(since=3, default=0)
    topics: list[OffsetFetchResponseTopic] = field(until=7, default_factory=list)
    error_code: int16 = field(since=2, until=7, default=0)
    groups: list[OffsetFetchResponseGroup] = field(since=8, default_factory=list)
