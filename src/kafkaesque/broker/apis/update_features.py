"""UpdateFeatures (57), versions 0–2. The highest level of each feature is in force, and stays.

Asking for that level succeeds. Anything else is refused with INVALID_UPDATE_VERSION: a higher level
and an unknown feature as by Kafka, a downgrade because nothing here works by an older level. All or
none; up to version 1 a success names every feature.
"""

from kafkaesque.broker.apis.api_versions import FEATURES
from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.config import NODE_ID
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

_LEVELS = {feature.name: feature for feature in FEATURES}
_UPGRADE = 1
_UPGRADE_TYPES = frozenset({_UPGRADE, 2, 3})
"""The other two are a safe and an unsafe downgrade."""


async def update_features(ctx: Context, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    async for update in ctx.broker.slices.paced(request.feature_updates):
        if reason := _refusal(update):
            return UpdateFeaturesResponse(
                error_code=ErrorCode.INVALID_UPDATE_VERSION,
                error_message="The update failed for all features since the following feature had "
                f"an error: Invalid update version {update.max_version_level} for feature "
                f"{update.feature}. {reason}",
            )
    names = {update.feature for update in request.feature_updates}
    return UpdateFeaturesResponse(results=[UpdatableFeatureResult(feature=name) for name in names])


def _refusal(update: FeatureUpdateKey) -> str | None:
    level, feature = update.max_version_level, _LEVELS.get(update.feature)
    if level < 0:
        return "A feature version cannot be less than 0."
    if feature is None and level == 0:
        return f"Feature {update.feature} not found."
    if feature is None:
        return f"Local controller {NODE_ID} does not support this feature."
    if level > feature.max_level:
        return (
            f"Local controller {NODE_ID} only supports versions "
            f"{feature.min_level}-{feature.max_level}"
        )
    if update.upgrade_type not in _UPGRADE_TYPES:
        return "The controller does not support the given upgrade type."
    if level == feature.max_level:
        return None
    if update.upgrade_type == _UPGRADE:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to "
            "either safe or unsafe downgrade."
        )
    return f"This broker works by level {feature.max_level} alone."
