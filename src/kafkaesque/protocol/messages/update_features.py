"""UpdateFeatures (key 57), versions 0–2: change the levels that are in force (KIP-584).

upgrade_type: 1 upgrade, 2 safe downgrade, 3 unsafe downgrade. Flexible from the start.

v1  upgrade_type in place of allow_downgrade; validate_only (KIP-778)
v2  no results by feature: all are updated, or none (KIP-1022)
"""

from kafkaesque.protocol.schema import boolean, field, int8, int16, int32, message, string, struct


@struct
class FeatureUpdateKey:
    feature: string = ""
    max_version_level: int16 = 0
    allow_downgrade: boolean = field(until=0, default=False)
    upgrade_type: int8 = field(since=1, default=1)


@message(api_key=57, versions=(0, 2), flexible=0)
class UpdateFeaturesRequest:
    timeout_ms: int32 = 60_000
    feature_updates: list[FeatureUpdateKey] = field(default_factory=list)
    validate_only: boolean = field(since=1, default=False)


@struct
class UpdatableFeatureResult:
    feature: string = ""
    error_code: int16 = 0
    error_message: string | None = None


@message(api_key=57, versions=(0, 2), flexible=0)
class UpdateFeaturesResponse:
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    results: list[UpdatableFeatureResult] = field(until=1, default_factory=list)
