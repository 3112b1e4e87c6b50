"""OffsetForLeaderEpoch (key 23), versions 2–4: where a leader epoch ends, to detect truncation.

v2  current_leader_epoch fences a stale client (KIP-320); librdkafka uses exactly this version
v3  replica_id: -1 is a consumer, -2 may look past the high watermark
v4  flexible
"""

from kafkaesque.protocol.schema import field, int16, int32, int64, message, string, struct


@struct
class OffsetForLeaderPartition:
    partition: int32 = 0
    current_leader_epoch: int32 = -1
    leader_epoch: int32 = 0


@struct
class OffsetForLeaderTopic:
    topic: string = ""
    partitions: list[OffsetForLeaderPartition] = field(default_factory=list)


@message(api_key=23, versions=(2, 4), flexible=4)
class OffsetForLeaderEpochRequest:
    replica_id: int32 = field(since=3, default=-2)
    topics: list[OffsetForLeaderTopic] = field(default_factory=list)


@struct
class EpochEndOffset:
    error_code: int16 = 0
    partition: int32 = 0
    leader_epoch: int32 = -1
    end_offset: int64 = -1


@struct
class OffsetForLeaderTopicResult:
    topic: string = ""
    partitions: list[EpochEndOffset] = field(default_factory=list)


@message(api_key=23, versions=(2, 4), flexible=4)
class OffsetForLeaderEpochResponse:
    throttle_time_ms: int32 = 0
    topics: list[OffsetForLeaderTopicResult] = field(default_factory=list)
