"""SyncGroup (key 14), versions 0–5: the leader hands in assignments, each member gets its own.

v1  throttle_time_ms
v3  group_instance_id (KIP-345)
v4  flexible
v5  protocol_type and protocol_name, checked against the group's (KIP-559)
"""

from kafkaesque.protocol.schema import bytes_, field, int16, int32, message, string, struct


@struct
class SyncGroupRequestAssignment:
    member_id: string = ""
    assignment: bytes_ = b""


@message(api_key=14, versions=(0, 5), flexible=4)
class SyncGroupRequest:
    group_id: string = ""
    generation_id: int32 = 0
    member_id: string = ""
    group_instance_id: string | None = field(since=3, default=None)
    protocol_type: string | None = field(since=5, default=None)
    protocol_name: string | None = field(since=5, default=None)
    assignments: list[SyncGroupRequestAssignment] = field(default_factory=list)


@message(api_key=14, versions=(0, 5), flexible=4)
class SyncGroupResponse:
    throttle_time_ms: int32 = field(since=1, default=0)
    error_code: int16 = 0
    protocol_type: string | None = field(since=5, default=None)
    protocol_name: string | None = field(since=5, default=None)
    assignment: bytes_ = b""
