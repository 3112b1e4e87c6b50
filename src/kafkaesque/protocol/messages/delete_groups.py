"""DeleteGroups (key 42), versions 0–2: forget empty groups and their offsets (KIP-229).

v2  flexible
"""

from kafkaesque.protocol.schema import field, int16, int32, message, string, struct


@message(api_key=42, versions=(0, 2), flexible=2)
class DeleteGroupsRequest:
    groups_names: list[string] = field(default_factory=list)


@struct
class DeletableGroupResult:
    group_id: string = ""
    error_code: int16 = 0


@message(api_key=42, versions=(0, 2), flexible=2)
class DeleteGroupsResponse:
    throttle_time_ms: int32 = 0
    results: list[DeletableGroupResult] = field(default_factory=list)
