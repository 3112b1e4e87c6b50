"""ListGroups (16), versions 0–5. Version 4 filters by state (KIP-518), 5 by type (KIP-848); names
are case-insensitive.
"""

from kafkaesque.broker.apis.context import Context
from kafkaesque.protocol.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)


def list_groups(ctx: Context, request: ListGroupsRequest) -> ListGroupsResponse:
    states = {state.lower() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    described = [group.describe() for group in ctx.broker.coordinator.table.groups.values()]
    return ListGroupsResponse(
        groups=[
            ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type,
                group_state=group.state.value,
                group_type=group.group_type,
            )
            for group in described
            if (not states or group.state.value.lower() in states)
            and (not types or group.group_type.lower() in types)
        ]
    )
