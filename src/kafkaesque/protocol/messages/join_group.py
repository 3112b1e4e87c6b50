"""JoinGroup (key 11), versions 0–9: enter a group, or a new generation of it.

v1  rebalance_timeout_ms (before, the session timeout served for both)
v4  MEMBER_ID_REQUIRED: a new member joins a second time, with the id it was given (KIP-394)
v5  group_instance_id (KIP-345)
v6  flexible
v7  protocol_type in the response; protocol_name may be null (KIP-559)
v8  reason (KIP-800)
v9  skip_assignment: a static leader that comes back need not assign again (KIP-814)
"""

from kafkaesque.protocol.schema import boolean, bytes_, field, int16, int32, message, string, struct


@struct
class JoinGroupRequestProtocol:
    name: string = ""
    metadata: bytes_ = b""


@message(api_key=11, versions=(0, 9), flexible=6)
class JoinGroupRequest:
    group_id: string = ""
    session_timeout_ms: int32 = 0
    rebalance_timeout_ms: int32 = field(since=1, default=-1)
    member_id: string = ""
    group_instance_id: string | None = field(since=5, default=None)
    protocol_type: string = ""
    protocols: list[JoinGroupRequestProtocol] = field(default_factory=list)
    reason: string | None = field(since=8, default=None)


@struct
class JoinGroupResponseMember:
    member_id: string = ""
    group_instance_id: string | None = field(since=5, default=None)
    metadata: bytes_ = b""


@message(api_key=11, versions=(0, 9), flexible=6)
class JoinGroupResponse:
    throttle_time_ms: int32 = field(since=2, default=0)
    error_code: int16 = 0
    generation_id: int32 = -1
    protocol_type: string | None = field(since=7, default=None)
    protocol_name: string | None = field(nullable_since=7, default="")
    leader: string = ""
    skip_assignment: boolean = field(since=9, default=False)
    member_id: string = ""
    members: list[JoinGroupResponseMember] = field(default_factory=list)
