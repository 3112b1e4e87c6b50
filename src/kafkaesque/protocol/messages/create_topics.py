"""CreateTopics (key 19), versions 2–7.

A num_partitions or replication_factor of -1 asks for the broker's default (v4, KIP-464), or stands
beside explicit assignments.

v5  flexible; the response tells the topic's configs (KIP-525)
v6  THROTTLING_QUOTA_EXCEEDED (KIP-599)
v7  topic_id (KIP-516)
"""

from kafkaesque.protocol.schema import (
    ZERO_UUID,
    boolean,
    field,
    int8,
    int16,
    int32,
    message,
    string,
    struct,
    uuid,
)


@struct
class CreatableReplicaAssignment:
    partition_index: int32 = 0
    broker_ids: list[int32] = field(default_factory=list)


@struct
class CreatableTopicConfig:
    name: string = ""
    value: string | None = None


@struct
class CreatableTopic:
    name: string = ""
    num_partitions: int32 = 0
    replication_factor: int16 = 0
    assignments: list[CreatableReplicaAssignment] = field(default_factory=list)
    configs: list[CreatableTopicConfig] = field(default_factory=list)


@message(api_key=19, versions=(2, 7), flexible=5)
class CreateTopicsRequest:
    topics: list[CreatableTopic] = field(default_factory=list)
    timeout_ms: int32 = 60_000
    validate_only: boolean = False


@struct
class CreatableTopicConfigs:
    name: string = ""
    value: string | None = None
    read_only: boolean = False
    config_source: int8 = -1
    is_sensitive: boolean = False


@struct
class CreatableTopicResult:
    name: string = ""
    topic_id: uuid = field(since=7, default=ZERO_UUID)
    error_code: int16 = 0
    error_message: string | None = None
    topic_config_error_code: int16 = field(since=5, tag=0, default=0)
    num_partitions: int32 = field(since=5, default=-1)
    replication_factor: int16 = field(since=5, default=-1)
    configs: list[CreatableTopicConfigs] | None = field(since=5, default_factory=list)


@message(api_key=19, versions=(2, 7), flexible=5)
class CreateTopicsResponse:
    throttle_time_ms: int32 = 0
    topics: list[CreatableTopicResult] = field(default_factory=list)
