"""CreateAcls (key 30), versions 1–3: add entries to access control lists. One result for each.

v1  pattern types (KIP-290)
v2  flexible
v3  user resource type (KIP-373)
"""

from kafkaesque.protocol.schema import field, int8, int16, int32, message, string, struct


@struct
class AclCreation:
    resource_type: int8 = 0
    resource_name: string = ""
    resource_pattern_type: int8 = 3
    principal: string = ""
    host: string = ""
    operation: int8 = 0
    permission_type: int8 = 0


@message(api_key=30, versions=(1, 3), flexible=2)
class CreateAclsRequest:
    creations: list[AclCreation] = field(default_factory=list)


@struct
class AclCreationResult:
    error_code: int16 = 0
    error_message: string | None = None


@message(api_key=30, versions=(1, 3), flexible=2)
class CreateAclsResponse:
    throttle_time_ms: int32 = 0
    results: list[AclCreationResult] = field(default_factory=list)
