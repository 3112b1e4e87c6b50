"""LeaveGroup (key 13), versions 0–5: members go away.

Up to v2 a request names one member, at its top level; from v3 it has a list of them (KIP-345).

v1  throttle_time_ms
v4  flexible
v5  reason (KIP-800)
"""

from kafkaesque.protocol.schema import field, int16, int32, message, string, struct


@struct
class MemberIdentity:
    member_id: string = ""
    group_instance_id: string | None = None
    reason: string | None = field(since=5, default=None)


@message(api_key=13, versions=(0, 5), flexible=4)
class LeaveGroupRequest:
    group_id: string = ""
    member_id: string = field(until=2, default="")
    members: list[MemberIdentity] = field(since=3, default_factory=list)


@struct
class MemberResponse:
    member_id: string = ""
    group_instance_id: string | None = None
    error_code: int16 = 0


@message(api_key=13, versions=(0, 5), flexible=4)
class LeaveGroupResponse:
    throttle_time_ms: int32 = field(since=1, default=0)
    error_code: int16 = 0
    members: list[MemberResponse] = field(since=3, default_factory=list)
