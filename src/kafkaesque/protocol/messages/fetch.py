"""Fetch (key 1), versions 4–18: read record batches, waiting for them if need be.

v4  isolation_level, last_stable_offset and aborted_transactions (KIP-98)
v5  log_start_offset
v7  fetch sessions: session_id, session_epoch, forgotten_topics_data (KIP-227)
v9  current_leader_epoch fences a stale consumer (KIP-320)
v10 zstd is allowed (KIP-110)
v11 rack_id and preferred_read_replica: reading from a follower (KIP-392)
v12 flexible; last_fetched_epoch and diverging_epoch (KIP-595)
v13 topic ids in place of names (KIP-516)
v15 replica_state in place of replica_id (KIP-903)
v16 node_endpoints point to the new leader (KIP-951)
v17 replica_directory_id (KIP-853); v18 high_watermark of the follower (KIP-1166)
"""

from kafkaesque.protocol.schema import (
    ZERO_UUID,
    field,
    int8,
    int16,
    int32,
    int64,
    message,
    records_,
    string,
    struct,
    uuid,
)


@struct
class ReplicaState:
    replica_id: int32 = -1
    replica_epoch: int64 = -1


@struct
class FetchPartition:
    partition: int32 = 0
    current_leader_epoch: int32 = field(since=9, default=-1)
    fetch_offset: int64 = 0
    last_fetched_epoch: int32 = field(since=12, default=-1)
    log_start_offset: int64 = field(since=5, default=-1)
    partition_max_bytes: int32 = 0
    replica_directory_id: uuid = field(since=17, tag=0, default=ZERO_UUID)
    high_watermark: int64 = field(since=18, tag=1, default=2**63 - 1)


@struct
class FetchTopic:
    topic: string = field(until=12, default="")
    topic_id: uuid = field(since=13, default=ZERO_UUID)
    partitions: list[FetchPartition] = field(default_factory=list)


@struct
class ForgottenTopic:
    topic: string = field(until=12, default="")
    topic_id: uuid = field(since=13, default=ZERO_UUID)
    partitions: list[int32] = field(default_factory=list)


@message(api_key=1, versions=(4, 18), flexible=12)
class FetchRequest:
    cluster_id: string | None = field(since=12, tag=0, default=None)
    replica_id: int32 = field(until=14, default=-1)
    replica_state: ReplicaState | None = field(since=15, tag=1, default=None)
    max_wait_ms: int32 = 0
    min_bytes: int32 = 0
    max_bytes: int32 = 2**31 - 1
    isolation_level: int8 = 0
    session_id: int32 = field(since=7, default=0)
    session_epoch: int32 = field(since=7, default=-1)
    topics: list[FetchTopic] = field(default_factory=list)
    forgotten_topics_data: list[ForgottenTopic] = field(since=7, default_factory=list)
    rack_id: string = field(since=11, default="")


@struct
class EpochEndOffset:
    epoch: int32 = -1
    end_offset: int64 = -1


@struct
class LeaderIdAndEpoch:
    leader_id: int32 = -1
    leader_epoch: int32 = -1


@struct
class SnapshotId:
    end_offset: int64 = -1
    epoch: int32 = -1


@struct
class AbortedTransaction:
    producer_id: int64 = 0
    first_offset: int64 = 0


@struct
class PartitionData:
    partition_index: int32 = 0
    error_code: int16 = 0
    high_watermark: int64 = 0
    last_stable_offset: int64 = -1
    log_start_offset: int64 = field(since=5, default=-1)
    diverging_epoch: EpochEndOffset | None = field(since=12, tag=0, default=None)
    current_leader: LeaderIdAndEpoch | None = field(since=12, tag=1, default=None)
    snapshot_id: SnapshotId | None = field(since=12, tag=2, default=None)
    aborted_transactions: list[AbortedTransaction] | None = None
    preferred_read_replica: int32 = field(since=11, default=-1)
    records: records_ = None


@struct
class FetchableTopicResponse:
    topic: string = field(until=12, default="")
    topic_id: uuid = field(since=13, default=ZERO_UUID)
    partitions: list[PartitionData] = field(default_factory=list)


@struct
class NodeEndpoint:
    node_id: int32 = 0
    host: string = ""
    port: int32 = 0
    rack: string | None = None


@message(api_key=1, versions=(4, 18), flexible=12)
class FetchResponse:
    throttle_time_ms: int32 = 0
    error_code: int16 = field(since=7, default=0)
    session_id: int32 = field(since=7, default=0)
    responses: list[FetchableTopicResponse] = field(default_factory=list)
    node_endpoints: list[NodeEndpoint] = field(since=16, tag=0, default_factory=list)
