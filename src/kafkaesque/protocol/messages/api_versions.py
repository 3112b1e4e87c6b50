"""ApiVersions (key 18), versions 0–4: what the broker speaks. The first request of most clients.

The response always has header v0, even where it is flexible. A version that the broker does not
know is answered in v0, with UNSUPPORTED_VERSION and the range of this one API (KIP-511).

v1  throttle_time_ms
v3  flexible; the client's name and version (KIP-511); features, as tagged fields (KIP-584)
v4  the min_version of a feature may be 0
"""

from kafkaesque.protocol.schema import boolean, field, int16, int32, int64, message, string, struct


@message(api_key=18, versions=(0, 4), flexible=3)
class ApiVersionsRequest:
    client_software_name: string = field(since=3, default="")
    client_software_version: string = field(since=3, default="")


@struct
class ApiVersion:
    api_key: int16 = 0
    min_version: int16 = 0
    max_version: int16 = 0


@struct
class SupportedFeatureKey:
    name: string = ""
    min_version: int16 = 0
    max_version: int16 = 0


@struct
class FinalizedFeatureKey:
    name: string = ""
    max_version_level: int16 = 0
    min_version_level: int16 = 0


@message(api_key=18, versions=(0, 4), flexible=3)
class ApiVersionsResponse:
    error_code: int16 = 0
    api_keys: list[ApiVersion] = field(default_factory=list)
    throttle_time_ms: int32 = field(since=1, default=0)
    supported_features: list[SupportedFeatureKey] = field(since=3, tag=0, default_factory=list)
    finalized_features_epoch: int64 = field(since=3, tag=1, default=-1)
    finalized_features: list[FinalizedFeatureKey] = field(since=3, tag=2, default_factory=list)
    zk_migration_ready: boolean = field(since=3, tag=3, default=False)
