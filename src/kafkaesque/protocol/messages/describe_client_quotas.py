"""DescribeClientQuotas (key 48), versions 0–1: the quotas of the entities that match (KIP-546).

match_type: 0 this name, 1 the default, 2 any. entries=None where there is an error.

v1  flexible
"""

from kafkaesque.protocol.schema import (
    boolean,
    field,
    float64,
    int8,
    int16,
    int32,
    message,
    string,
    struct,
)


@struct
class ComponentData:
    entity_type: string = ""
    match_type: int8 = 0
    match: string | None = None


@message(api_key=48, versions=(0, 1), flexible=1)
class DescribeClientQuotasRequest:
    components: list[ComponentData] = field(default_factory=list)
    strict: boolean = False


@struct
class EntityData:
    entity_type: string = ""
    entity_name: string | None = None


@struct
class ValueData:
    key: string = ""
    value: float64 = 0.0


@struct
class EntryData:
    entity: list[EntityData] = field(default_factory=list)
    values: list[ValueData] = field(default_factory=list)


@message(api_key=48, versions=(0, 1), flexible=1)
class DescribeClientQuotasResponse:
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    entries: list[EntryData] | None = field(default_factory=list)
