"""ApiVersions (18), versions 0–4. Computed from THE table in apis/__init__.py.

The response keeps header version 0 even where it is flexible, and an unknown version is answered
with version 0 and UNSUPPORTED_VERSION, so that a client can find out how to ask (KIP-511).

From v3 on it tells features, too (KIP-584). transaction.version 2 is what makes clients leave out
AddPartitionsToTxn and take the epoch that EndTxn 5 gives them (KIP-890); librdkafka looks at no
feature and goes on as before. Java's clients break on a supported level of 0 before v4
(KAFKA-17492): such a feature is told there only as the level that is in force.
"""

from typing import Final, NamedTuple

from kafkaesque.broker import apis
from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)


class Feature(NamedTuple):
    """The levels that the broker knows. The highest is in force: nobody else has to know it."""

    name: str
    min_level: int
    max_level: int


FEATURES: Final = (Feature("transaction.version", 0, 2),)

_FEATURES_EPOCH: Final = 0
"""Clients that run believe only a higher one: raise it whenever a level changes."""

_LEVEL_0_SINCE: Final = 4


def api_versions(ctx: Context, request: ApiVersionsRequest) -> ApiVersionsResponse:
    return _versions(ErrorCode.NONE, ctx.version)


def unsupported_api_versions() -> ApiVersionsResponse:
    return _versions(ErrorCode.UNSUPPORTED_VERSION, 0)


def _versions(error: ErrorCode, version: int) -> ApiVersionsResponse:
    return ApiVersionsResponse(
        error_code=error,
        api_keys=[
            ApiVersion(api_key=api.key, min_version=api.min_version, max_version=api.max_version)
            for api in apis.APIS.values()
        ],
        supported_features=_supported(version),
        finalized_features_epoch=_FEATURES_EPOCH,
        finalized_features=_finalized(),
    )


def _supported(version: int) -> list[SupportedFeatureKey]:
    return [
        SupportedFeatureKey(
            name=feature.name, min_version=feature.min_level, max_version=feature.max_level
        )
        for feature in FEATURES
        if feature.min_level > 0 or version >= _LEVEL_0_SINCE
    ]


def _finalized() -> list[FinalizedFeatureKey]:
    return [
        FinalizedFeatureKey(
            name=feature.name,
            max_version_level=feature.max_level,
            min_version_level=feature.max_level,
        )
        for feature in FEATURES
    ]
