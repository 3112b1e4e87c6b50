"""FindCoordinator (10), versions 0–6. This node coordinates every group and every transaction.

Version 4 asks for several at once (KIP-699). Share groups have no coordinator yet: their clients
are refused with INVALID_REQUEST and a reason, since "not available" would make them ask for ever.
"""

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

_COORDINATED = (0, 1)  # groups, transactions
_KINDS = {2: "share groups"}


async def find_coordinator(
    ctx: Context, request: FindCoordinatorRequest
) -> FindCoordinatorResponse:
    if ctx.version >= 4:
        response = FindCoordinatorResponse()
        async for key in ctx.broker.slices.paced(request.coordinator_keys):
            response.coordinators.append(_find(ctx, key, request.key_type))
        return response
    only = _find(ctx, request.key, request.key_type)
    return FindCoordinatorResponse(
        error_code=only.error_code,
        error_message=only.error_message,
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )


def _find(ctx: Context, key: str, key_type: int) -> Coordinator:
    if key_type not in _COORDINATED:
        kind = _KINDS.get(key_type, f"coordinators of type {key_type}")
        return Coordinator(
            key=key,
            node_id=-1,
            port=-1,
            error_code=ErrorCode.INVALID_REQUEST,
            error_message=f"{kind} are not implemented (NOT_IMPLEMENTED.md)",
        )
    node_id, host, port = ctx.advertised
    return Coordinator(key=key, node_id=node_id, host=host, port=port, error_message=None)
