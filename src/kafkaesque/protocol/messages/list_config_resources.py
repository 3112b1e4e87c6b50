"""ListConfigResources (key 74), versions 0–1: what has settings of its own (KIP-1142).

Version 0, once called ListClientMetricsResources (KIP-1000), lists client metrics alone.
resource_types empty asks for all types. Flexible from the start.

v1  resource types
"""

from kafkaesque.protocol.schema import field, int8, int16, int32, message, string, struct


@message(api_key=74, versions=(0, 1), flexible=0)
class ListConfigResourcesRequest:
    resource_types: list[int8] = field(since=1, default_factory=list)


@struct
class ConfigResource:
    resource_name: string = ""
    resource_type: int8 = field(since=1, default=16)


@message(api_key=74, versions=(0, 1), flexible=0)
class ListConfigResourcesResponse:
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    config_resources: list[ConfigResource] = field(default_factory=list)
