"""DescribeConfigs (key 32), versions 1–4: configs of topics and brokers, and where each comes from.

configuration_keys=None asks for all. config_source: 1 topic, 4 the broker's file, 5 default.

v1  synonyms and config_source (KIP-226)
v3  config_type and documentation (KIP-569)
v4  flexible
"""

from kafkaesque.protocol.schema import boolean, field, int8, int16, int32, message, string, struct


@struct
class DescribeConfigsResource:
    resource_type: int8 = 0
    resource_name: string = ""
    configuration_keys: list[string] | None = None


@message(api_key=32, versions=(1, 4), flexible=4)
class DescribeConfigsRequest:
    resources: list[DescribeConfigsResource] = field(default_factory=list)
    include_synonyms: boolean = False
    include_documentation: boolean = field(since=3, default=False)


@struct
class DescribeConfigsSynonym:
    name: string = ""
    value: string | None = None
    source: int8 = 0


@struct
class DescribeConfigsResourceResult:
    name: string = ""
    value: string | None = None
    read_only: boolean = False
    config_source: int8 = -1
    is_sensitive: boolean = False
    synonyms: list[DescribeConfigsSynonym] = field(default_factory=list)
    config_type: int8 = field(since=3, default=0)
    documentation: string | None = field(since=3, default=None)


@struct
class DescribeConfigsResult:
    error_code: int16 = 0
    error_message: string | None = None
    resource_type: int8 = 0
    resource_name: string = ""
    configs: list[DescribeConfigsResourceResult] = field(default_factory=list)


@message(api_key=32, versions=(1, 4), flexible=4)
class DescribeConfigsResponse:
    throttle_time_ms: int32 = 0
    results: list[DescribeConfigsResult] = field(default_factory=list)
