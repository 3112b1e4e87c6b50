"""DeleteAcls (key 31), versions 1–3: remove what matches each filter. One result for each.

v1  pattern types (KIP-290)
v2  flexible
v3  user resource type (KIP-373)
"""

from kafkaesque.protocol.schema import field, int8, int16, int32, message, string, struct


@struct
class DeleteAclsFilter:
    resource_type_filter: int8 = 0
    resource_name_filter: string | None = None
    pattern_type_filter: int8 = 3
    principal_filter: string | None = None
    host_filter: string | None = None
    operation: int8 = 0
    permission_type: int8 = 0


@message(api_key=31, versions=(1, 3), flexible=2)
class DeleteAclsRequest:
    filters: list[DeleteAclsFilter] = field(default_factory=list)


@struct
class DeleteAclsMatchingAcl:
    error_code: int16 = 0
    error_message: string | None = None
    resource_type: int8 = 0
    resource_name: string = ""
    pattern_type: int8 = 3
    principal: string = ""
    host: string = ""
    operation: int8 = 0
    permission_type: int8 = 0


@struct
class DeleteAclsFilterResult:
    error_code: int16 = 0
    error_message: string | None = None
    matching_acls: list[DeleteAclsMatchingAcl] = field(default_factory=list)


@message(api_key=31, versions=(1, 3), flexible=2)
class DeleteAclsResponse:
    throttle_time_ms: int32 = 0
    filter_results: list[DeleteAclsFilterResult] = field(default_factory=list)
