"""DeleteRecords (key 21), versions 0–2: move a partition's log start offset forward (KIP-107).

An offset of -1 stands for the high watermark.

v2  flexible
"""

from kafkaesque.protocol.schema import field, int16, int32, int64, message, string, struct


@struct
class DeleteRecordsPartition:
    partition_index: int32 = 0
    offset: int64 = 0


@struct
class DeleteRecordsTopic:
    name: string = ""
    partitions: list[DeleteRecordsPartition] = field(default_factory=list)


@message(api_key=21, versions=(0, 2), flexible=2)
class DeleteRecordsRequest:
    topics: list[DeleteRecordsTopic] = field(default_factory=list)
    timeout_ms: int32 = 0


@struct
class DeleteRecordsPartitionResult:
    partition_index: int32 = 0
    low_watermark: int64 = 0
    error_code: int16 = 0


@struct
class DeleteRecordsTopicResult:
    name: string = ""
    partitions: list[DeleteRecordsPartitionResult] = field(default_factory=list)


@message(api_key=21, versions=(0, 2), flexible=2)
class DeleteRecordsResponse:
    throttle_time_ms: int32 = 0
    topics: list[DeleteRecordsTopicResult] = field(default_factory=list)
