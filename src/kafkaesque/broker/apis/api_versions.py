"""ApiVersions (18), versions 0–4. Computed from THE table in apis/__init__.py.

The response keeps header version 0 even where it is flexible, and an unknown version is answered
with version 0 and UNSUPPORTED_VERSION, so that a client can find out how to ask (KIP-511).
"""

from kafkaesque.broker import apis
from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)


def api_versions(ctx: Context, request: ApiVersionsRequest) -> ApiVersionsResponse:
    return _versions(ErrorCode.NONE)


def unsupported_api_versions() -> ApiVersionsResponse:
    return _versions(ErrorCode.UNSUPPORTED_VERSION)


def _versions(error: ErrorCode) -> ApiVersionsResponse:
    return ApiVersionsResponse(
        error_code=error,
        api_keys=[
            ApiVersion(api_key=api.key, min_version=api.min_version, max_version=api.max_version)
            for api in apis.APIS.values()
        ],
        finalized_features_epoch=0,
    )
