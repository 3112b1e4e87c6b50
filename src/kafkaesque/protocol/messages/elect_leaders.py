"""ElectLeaders (key 43), versions 0–2: elect the preferred leader, or any (KIP-460).

election_type: 0 preferred, 1 unclean. topic_partitions=None asks for every partition.

v1  election_type; error_code of the whole
v2  flexible
"""

from kafkaesque.protocol.schema import field, int8, int16, int32, message, string, struct


@struct
class TopicPartitions:
    topic: string = ""
    partitions: list[int32] = field(default_factory=list)


@message(api_key=43, versions=(0, 2), flexible=2)
class ElectLeadersRequest:
    election_type: int8 = field(since=1, default=0)
    topic_partitions: list[TopicPartitions] | None = field(default_factory=list)
    timeout_ms: int32 = 60_000


@struct
class PartitionResult:
    partition_id: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None


@struct
class ReplicaElectionResult:
    topic: string = ""
    partition_result: list[PartitionResult] = field(default_factory=list)


@message(api_key=43, versions=(0, 2), flexible=2)
class ElectLeadersResponse:
    throttle_time_ms: int32 = 0
    error_code: int16 = field(since=1, default=0)
    replica_election_results: list[ReplicaElectionResult] = field(default_factory=list)
