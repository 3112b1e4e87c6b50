"""ListOffsets (key 2), versions 1–11: the first, the last, or the offset at a timestamp.

`timestamp` is a time, or: -1 latest, -2 earliest, -3 that of the largest timestamp.

v2  isolation_level
v4  leader epochs, to fence a stale client (KIP-320)
v6  flexible
v7  timestamp -3 (KIP-734); v8, v9 and v11: -4, -5 and -6 about tiered storage (KIP-405, 1005, 1023)
v10 timeout_ms, for offsets that lie in remote storage (KIP-1075)
"""

from kafkaesque.protocol.schema import field, int8, int16, int32, int64, message, string, struct


@struct
class ListOffsetsPartition:
    partition_index: int32 = 0
    current_leader_epoch: int32 = field(since=4, default=-1)
    timestamp: int64 = 0


@struct
class ListOffsetsTopic:
    name: string = ""
    partitions: list[ListOffsetsPartition] = field(default_factory=list)


@message(api_key=2, versions=(1, 11), flexible=6)
class ListOffsetsRequest:
    replica_id: int32 = 0
    isolation_level: int8 = field(since=2, default=0)
    topics: list[ListOffsetsTopic] = field(default_factory=list)
    timeout_ms: int32 = field(since=10, default=0)


@struct
class ListOffsetsPartitionResponse:
    partition_index: int32 = 0
    error_code: int16 = 0
    timestamp: int64 = -1
    offset: int64 = -1
    leader_epoch: int32 = field(since=4, default=-1)


@struct
class ListOffsetsTopicResponse:
    name: string = ""
    partitions: list[ListOffsetsPartitionResponse] = field(default_factory=list)


@message(api_key=2, versions=(1, 11), flexible=6)
class ListOffsetsResponse:
    throttle_time_ms: int32 = field(since=2, default=0)
    topics: list[ListOffsetsTopicResponse] = field(default_factory=list)
