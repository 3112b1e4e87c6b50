"""AlterConfigs (key 33), versions 0–2: replace *all* configs of a resource (KIP-133).

Whatever the request leaves out goes back to its default, hence IncrementalAlterConfigs.

v2  flexible
"""

from kafkaesque.protocol.schema import boolean, field, int8, int16, int32, message, string, struct


@struct
class AlterableConfig:
    name: string = ""
    value: string | None = None


@struct
class AlterConfigsResource:
    resource_type: int8 = 0
    resource_name: string = ""
    configs: list[AlterableConfig] = field(default_factory=list)


@message(api_key=33, versions=(0, 2), flexible=2)
class AlterConfigsRequest:
    resources: list[AlterConfigsResource] = field(default_factory=list)
    validate_only: boolean = False


@struct
class AlterConfigsResourceResponse:
    error_code: int16 = 0
    error_message: string | None = None
    resource_type: int8 = 0
    resource_name: string = ""


@message(api_key=33, versions=(0, 2), flexible=2)
class AlterConfigsResponse:
    throttle_time_ms: int32 = 0
    responses: list[AlterConfigsResourceResponse] = field(default_factory=list)
