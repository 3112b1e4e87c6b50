"""Heartbeat (key 12), versions 0–4: a member of a group is alive.

v1  throttle_time_ms
v3  group_instance_id (KIP-345)
v4  flexible
"""

from kafkaesque.protocol.schema import field, int16, int32, message, string


@message(api_key=12, versions=(0, 4), flexible=4)
class HeartbeatRequest:
    group_id: string = ""
    generation_id: int32 = 0
    member_id: string = ""
    group_instance_id: string | None = field(since=3, default=None)


@message(api_key=12, versions=(0, 4), flexible=4)
class HeartbeatResponse:
    throttle_time_ms: int32 = field(since=1, default=0)
    error_code: int16 = 0
