"""ListGroups (key 16), versions 0–5: the groups of this broker.

v1  throttle_time_ms
v3  flexible
v4  states: states_filter and group_state (KIP-518)
v5  types: types_filter and group_type (KIP-848)
"""

from kafkaesque.protocol.schema import field, int16, int32, message, string, struct


@message(api_key=16, versions=(0, 5), flexible=3)
class ListGroupsRequest:
    states_filter: list[string] = field(since=4, default_factory=list)
    types_filter: list[string] = field(since=5, default_factory=list)


@struct
class ListedGroup:
    group_id: string = ""
    protocol_type: string = ""
    group_state: string = field(since=4, default="")
    group_type: string = field(since=5, default="")


@message(api_key=16, versions=(0, 5), flexible=3)
class ListGroupsResponse:
    throttle_time_ms: int32 = field(since=1, default=0)
    error_code: int16 = 0
    groups: list[ListedGroup] = field(default_factory=list)
