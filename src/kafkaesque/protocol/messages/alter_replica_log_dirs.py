"""AlterReplicaLogDirs (key 34), versions 1–2: move replicas to other directories (KIP-113).

v2  flexible
"""

from kafkaesque.protocol.schema import field, int16, int32, message, string, struct


@struct
class AlterReplicaLogDirTopic:
    name: string = ""
    partitions: list[int32] = field(default_factory=list)


@struct
class AlterReplicaLogDir:
    path: string = ""
    topics: list[AlterReplicaLogDirTopic] = field(default_factory=list)


@message(api_key=34, versions=(1, 2), flexible=2)
class AlterReplicaLogDirsRequest:
    dirs: list[AlterReplicaLogDir] = field(default_factory=list)


@struct
class AlterReplicaLogDirPartitionResult:
    partition_index: int32 = 0
    error_code: int16 = 0


@struct
class AlterReplicaLogDirTopicResult:
    topic_name: string = ""
    partitions: list[AlterReplicaLogDirPartitionResult] = field(default_factory=list)


@message(api_key=34, versions=(1, 2), flexible=2)
class AlterReplicaLogDirsResponse:
    throttle_time_ms: int32 = 0
    results: list[AlterReplicaLogDirTopicResult] = field(default_factory=list)
