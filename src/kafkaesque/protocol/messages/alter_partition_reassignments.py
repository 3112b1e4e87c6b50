"""AlterPartitionReassignments (key 45), versions 0–1: give partitions other replicas (KIP-455).

replicas=None cancels a reassignment that is going on. Flexible from the start.

v1  allow_replication_factor_change (KIP-860)
"""

from kafkaesque.protocol.schema import boolean, field, int16, int32, message, string, struct


@struct
class ReassignablePartition:
    partition_index: int32 = 0
    replicas: list[int32] | None = None


@struct
class ReassignableTopic:
    name: string = ""
    partitions: list[ReassignablePartition] = field(default_factory=list)


@message(api_key=45, versions=(0, 1), flexible=0)
class AlterPartitionReassignmentsRequest:
    timeout_ms: int32 = 60_000
    allow_replication_factor_change: boolean = field(since=1, default=True)
    topics: list[ReassignableTopic] = field(default_factory=list)


@struct
class ReassignablePartitionResponse:
    partition_index: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None


@struct
class ReassignableTopicResponse:
    name: string = ""
    partitions: list[ReassignablePartitionResponse] = field(default_factory=list)


@message(api_key=45, versions=(0, 1), flexible=0)
class AlterPartitionReassignmentsResponse:
    throttle_time_ms: int32 = 0
    allow_replication_factor_change: boolean = field(since=1, default=True)
    error_code: int16 = 0
    error_message: string | None = None
    responses: list[ReassignableTopicResponse] = field(default_factory=list)
