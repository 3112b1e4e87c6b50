"""ListGroups (16), versions 0–5. Version 4 filters by state (KIP-518), 5 by type (KIP-848); names
are case-insensitive.
"""

from kafkaesque.broker.apis.context import Context
from kafkaesque.groups.views import GROUP_TYPE
from kafkaesque.protocol.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)


async def list_groups(ctx: Context, request: ListGroupsRequest) -> ListGroupsResponse:
    states = {state.lower() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    response = ListGroupsResponse()
    if types and GROUP_TYPE not in types:
        return response
    groups = list(ctx.broker.coordinator.table.groups.values())
    async for group in ctx.broker.slices.paced(groups):
        if not states or group.state.value.lower() in states:
            response.groups.append(
                ListedGroup(
                    group_id=group.group_id,
                    protocol_type=group.protocol_type or "",
                    group_state=group.state.value,
                    group_type=GROUP_TYPE,
                )
            )
    return response
