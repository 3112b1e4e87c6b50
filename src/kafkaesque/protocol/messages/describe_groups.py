"""DescribeGroups (key 15), versions 0–6: state and members of groups.

authorized_operations is a bit field; -2**31 says that it was not asked for.

v1  throttle_time_ms
v3  authorized operations (KIP-430)
v4  group_instance_id (KIP-345)
v5  flexible
v6  error_message, and GROUP_ID_NOT_FOUND rather than a dead group (KIP-1043)
"""

from kafkaesque.protocol.schema import boolean, bytes_, field, int16, int32, message, string, struct


@message(api_key=15, versions=(0, 6), flexible=5)
class DescribeGroupsRequest:
    groups: list[string] = field(default_factory=list)
    include_authorized_operations: boolean = field(since=3, default=False)


@struct
class DescribedGroupMember:
    member_id: string = ""
    group_instance_id: string | None = field(since=4, default=None)
    client_id: string = ""
    client_host: string = ""
    member_metadata: bytes_ = b""
    member_assignment: bytes_ = b""


@struct
class DescribedGroup:
    error_code: int16 = 0
    error_message: string | None = field(since=6, default=None)
    group_id: string = ""
    group_state: string = ""
    protocol_type: string = ""
    protocol_data: string = ""
    members: list[DescribedGroupMember] = field(default_factory=list)
    authorized_operations: int32 = field(since=3, default=-(2**31))


@message(api_key=15, versions=(0, 6), flexible=5)
class DescribeGroupsResponse:
    throttle_time_ms: int32 = field(since=1, default=0)
    groups: list[DescribedGroup] = field(default_factory=list)
