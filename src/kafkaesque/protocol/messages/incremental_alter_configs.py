"""IncrementalAlterConfigs (key 44), versions 0–1: change only the configs that are named (KIP-339).

config_operation: 0 set, 1 delete, 2 append, 3 subtract (of a list).

v1  flexible
"""

from kafkaesque.protocol.schema import boolean, field, int8, int16, int32, message, string, struct


@struct
class AlterableConfig:
    name: string = ""
    config_operation: int8 = 0
    value: string | None = None


@struct
class AlterConfigsResource:
    resource_type: int8 = 0
    resource_name: string = ""
    configs: list[AlterableConfig] = field(default_factory=list)


@message(api_key=44, versions=(0, 1), flexible=1)
class IncrementalAlterConfigsRequest:
    resources: list[AlterConfigsResource] = field(default_factory=list)
    validate_only: boolean = False


@struct
class AlterConfigsResourceResponse:
    error_code: int16 = 0
    error_message: string | None = None
    resource_type: int8 = 0
    resource_name: string = ""


@message(api_key=44, versions=(0, 1), flexible=1)
class IncrementalAlterConfigsResponse:
    throttle_time_ms: int32 = 0
    responses: list[AlterConfigsResourceResponse] = field(default_factory=list)
