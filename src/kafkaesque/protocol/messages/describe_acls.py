"""DescribeAcls (key 29), versions 1–3: the access control lists that match a filter.

A filter's null matches anything; its types and operations are Kafka's numbers, 1 for any.

v1  pattern types (KIP-290)
v2  flexible
v3  user resource type (KIP-373)
"""

from kafkaesque.protocol.schema import field, int8, int16, int32, message, string, struct


@message(api_key=29, versions=(1, 3), flexible=2)
class DescribeAclsRequest:
    resource_type_filter: int8 = 0
    resource_name_filter: string | None = None
    pattern_type_filter: int8 = 3
    principal_filter: string | None = None
    host_filter: string | None = None
    operation: int8 = 0
    permission_type: int8 = 0


@struct
class AclDescription:
    principal: string = ""
    host: string = ""
    operation: int8 = 0
    permission_type: int8 = 0


@struct
class DescribeAclsResource:
    resource_type: int8 = 0
    resource_name: string = ""
    pattern_type: int8 = 3
    acls: list[AclDescription] = field(default_factory=list)


@message(api_key=29, versions=(1, 3), flexible=2)
class DescribeAclsResponse:
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    resources: list[DescribeAclsResource] = field(default_factory=list)
