"""DescribeProducers (key 61), version 0: who writes to a partition, and since where (KIP-664).

current_txn_start_offset is -1 for a producer without an open transaction. Flexible from the start.
"""

from kafkaesque.protocol.schema import field, int16, int32, int64, message, string, struct


@struct
class TopicRequest:
    name: string = ""
    partition_indexes: list[int32] = field(default_factory=list)


@message(api_key=61, versions=(0, 0), flexible=0)
class DescribeProducersRequest:
    topics: list[TopicRequest] = field(default_factory=list)


@struct
class ProducerState:
    """Its epoch is an int32 here, and an int16 everywhere else."""

    producer_id: int64 = 0
    producer_epoch: int32 = 0
    last_sequence: int32 = -1
    last_timestamp: int64 = -1
    coordinator_epoch: int32 = 0
    current_txn_start_offset: int64 = -1


@struct
class PartitionResponse:
    partition_index: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    active_producers: list[ProducerState] = field(default_factory=list)


@struct
class TopicResponse:
    name: string = ""
    partitions: list[PartitionResponse] = field(default_factory=list)


@message(api_key=61, versions=(0, 0), flexible=0)
class DescribeProducersResponse:
    throttle_time_ms: int32 = 0
    topics: list[TopicResponse] = field(default_factory=list)
