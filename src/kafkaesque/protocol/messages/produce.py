"""Produce (key 0), versions 0–13: append record batches to partitions.

v0  message formats older than record batches: declared so that the refusal can be said
v3  transactional_id, and record batches of format v2 only (KIP-98)
v5  log_start_offset in the response
v7  zstd is allowed (KIP-110)
v8  record_errors and error_message name the records that were refused (KIP-467)
v9  flexible
v10 current_leader and node_endpoints point to the new leader (KIP-951)
v11 TRANSACTION_ABORTABLE; v12 adds the partition to the transaction by itself (KIP-890)
v13 topic ids in place of names (KIP-516)

acks=0 has no response at all. Brokers list versions 0–2 and refuse them: without them, many
librdkafka versions switch compression off.
"""

from kafkaesque.protocol.schema import (
    ZERO_UUID,
    field,
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
class PartitionProduceData:
    index: int32 = 0
    records: records_ = None


@struct
class TopicProduceData:
    name: string = field(until=12, default="")
    topic_id: uuid = field(since=13, default=ZERO_UUID)
    partition_data: list[PartitionProduceData] = field(default_factory=list)


@message(api_key=0, versions=(0, 13), flexible=9)
class ProduceRequest:
    transactional_id: string | None = field(since=3, default=None)
    acks: int16 = 0
    timeout_ms: int32 = 0
    topic_data: list[TopicProduceData] = field(default_factory=list)


@struct
class BatchIndexAndErrorMessage:
    batch_index: int32 = 0
    batch_index_error_message: string | None = None


@struct
class LeaderIdAndEpoch:
    leader_id: int32 = -1
    leader_epoch: int32 = -1


@struct
class PartitionProduceResponse:
    index: int32 = 0
    error_code: int16 = 0
    base_offset: int64 = 0
    log_append_time_ms: int64 = field(since=2, default=-1)
    log_start_offset: int64 = field(since=5, default=-1)
    record_errors: list[BatchIndexAndErrorMessage] = field(since=8, default_factory=list)
    error_message: string | None = field(since=8, default=None)
    current_leader: LeaderIdAndEpoch | None = field(since=10, tag=0, default=None)


@struct
class TopicProduceResponse:
    name: string = field(until=12, default="")
    topic_id: uuid = field(since=13, default=ZERO_UUID)
    partition_responses: list[PartitionProduceResponse] = field(default_factory=list)


@struct
class NodeEndpoint:
    node_id: int32 = 0
    host: string = ""
    port: int32 = 0
    rack: string | None = None


@message(api_key=0, versions=(0, 13), flexible=9)
class ProduceResponse:
    responses: list[TopicProduceResponse] = field(default_factory=list)
    throttle_time_ms: int32 = field(since=1, default=0)
    node_endpoints: list[NodeEndpoint] = field(since=10, tag=0, default_factory=list)
