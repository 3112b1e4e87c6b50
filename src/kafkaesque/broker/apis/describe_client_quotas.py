"""DescribeClientQuotas (48), versions 0–1. There are none; a filter that Kafka refuses is refused
with Kafka's error (KIP-546, KIP-612).
"""

from enum import IntEnum

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)


class Match(IntEnum):
    EXACT = 0
    DEFAULT = 1
    SPECIFIED = 2


def describe_client_quotas(
    ctx: Context, request: DescribeClientQuotasRequest
) -> DescribeClientQuotasResponse:
    try:
        _check(request.components)
    except KafkaError as error:
        return DescribeClientQuotasResponse(
            error_code=error.code, error_message=error.message, entries=None
        )
    return DescribeClientQuotasResponse()


def _check(components: list[ComponentData]) -> None:
    """Three types, none twice: whatever comes, this looks at four components at most."""
    types: set[str] = set()
    for component in components:
        _check_match(component)
        _check_type(component.entity_type, types)
        types.add(component.entity_type)
    if "ip" in types and len(types) > 1:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "Invalid entity filter component combination. IP filter component should not be used "
            "with user or clientId filter component.",
        )


def _check_type(entity_type: str, before: set[str]) -> None:
    if not entity_type:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Invalid empty entity type.")
    if entity_type in before:
        message = f"Entity type {entity_type} cannot appear more than once in the filter."
        raise KafkaError(ErrorCode.INVALID_REQUEST, message)
    if entity_type not in ("user", "client-id", "ip"):
        message = f"Unsupported entity type {entity_type}"
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, message)


def _check_match(component: ComponentData) -> None:
    reason = None
    if component.match_type not in set(Match):
        reason = f"Unknown match type {component.match_type}"
    elif component.match_type == Match.EXACT and component.match is None:
        reason = "Request specified MATCH_TYPE_EXACT, but set match string to null."
    elif component.match_type != Match.EXACT and component.match is not None:
        name = Match(component.match_type).name
        reason = f"Request specified MATCH_TYPE_{name}, but also specified a match string."
    if reason:
        raise KafkaError(ErrorCode.INVALID_REQUEST, reason)
