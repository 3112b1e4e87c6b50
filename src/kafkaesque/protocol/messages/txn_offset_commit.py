"""TxnOffsetCommit (key 28), versions 0–5: a group's position, if the transaction commits (KIP-98).

v2  committed_leader_epoch (KIP-320)
v3  flexible; generation_id, member_id and group_instance_id fence a former member (KIP-447)
v4  TRANSACTION_ABORTABLE (KIP-890)
v5  adds the group's offsets to the transaction by itself (KIP-890)
"""

from kafkaesque.protocol.schema import field, int16, int32, int64, message, string, struct


@struct
class TxnOffsetCommitRequestPartition:
    partition_index: int32 = 0
    committed_offset: int64 = 0
    committed_leader_epoch: int32 = field(since=2, default=-1)
    committed_metadata: string | None = ""


@struct
class TxnOffsetCommitRequestTopic:
    name: string = ""
    partitions: list[TxnOffsetCommitRequestPartition] = field(default_factory=list)


@message(api_key=28, versions=(0, 5), flexible=3)
class TxnOffsetCommitRequest:
    transactional_id: string = ""
    group_id: string = ""
    producer_id: int64 = 0
    producer_epoch: int16 = 0
    generation_id: int32 = field(since=3, default=-1)
    member_id: string = field(since=3, default="")
    group_instance_id: string | None = field(since=3, default=None)
    topics: list[TxnOffsetCommitRequestTopic] = field(default_factory=list)


@struct
class TxnOffsetCommitResponsePartition:
    partition_index: int32 = 0
    error_code: int16 = 0


@struct
class TxnOffsetCommitResponseTopic:
    name: string = ""
    partitions: list[TxnOffsetCommitResponsePartition] = field(default_factory=list)


@message(api_key=28, versions=(0, 5), flexible=3)
class TxnOffsetCommitResponse:
    throttle_time_ms: int32 = 0
    topics: list[TxnOffsetCommitResponseTopic] = field(default_factory=list)
