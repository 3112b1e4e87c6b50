"""OffsetDelete (key 47), version 0: forget a group's offsets of some partitions (KIP-496).

It is not flexible, and there is no later version.
"""

from kafkaesque.protocol.schema import field, int16, int32, message, string, struct


@struct
class OffsetDeleteRequestPartition:
    partition_index: int32 = 0


@struct
class OffsetDeleteRequestTopic:
    name: string = ""
    partitions: list[OffsetDeleteRequestPartition] = field(default_factory=list)


@message(api_key=47, versions=(0, 0), flexible=None)
class OffsetDeleteRequest:
    group_id: string = ""
    topics: list[OffsetDeleteRequestTopic] = field(default_factory=list)


@struct
class OffsetDeleteResponsePartition:
    partition_index: int32 = 0
    error_code: int16 = 0


@struct
class OffsetDeleteResponseTopic:
    name: string = ""
    partitions: list[OffsetDeleteResponsePartition] = field(default_factory=list)


@message(api_key=47, versions=(0, 0), flexible=None)
class OffsetDeleteResponse:
    error_code: int16 = 0
    throttle_time_ms: int32 = 0
    topics: list[OffsetDeleteResponseTopic] = field(default_factory=list)
