"""CreatePartitions (key 37), versions 0–3: raise a topic's number of partitions (KIP-195).

`count` is the new total. assignments=None leaves the placement to the broker.

v2  flexible
v3  THROTTLING_QUOTA_EXCEEDED (KIP-599)
"""

from kafkaesque.protocol.schema import boolean, field, int16, int32, message, string, struct


@struct
class CreatePartitionsAssignment:
    broker_ids: list[int32] = field(default_factory=list)


@struct
class CreatePartitionsTopic:
    name: string = ""
    count: int32 = 0
    assignments: list[CreatePartitionsAssignment] | None = None


@message(api_key=37, versions=(0, 3), flexible=2)
class CreatePartitionsRequest:
    topics: list[CreatePartitionsTopic] = field(default_factory=list)
    timeout_ms: int32 = 0
    validate_only: boolean = False


@struct
class CreatePartitionsTopicResult:
    name: string = ""
    error_code: int16 = 0
    error_message: string | None = None


@message(api_key=37, versions=(0, 3), flexible=2)
class CreatePartitionsResponse:
    throttle_time_ms: int32 = 0
    results: list[CreatePartitionsTopicResult] = field(default_factory=list)
