"""ListGroups (16), versions 0–5. Version 4 filters by state (KIP-518), 5 by type (KIP-848); names
are case-insensitive.
"""

from collections.abc import Set

from kafkaesque.broker.apis.answer_size import answer_size
from kafkaesque.broker.apis.context import Context
from kafkaesque.groups.events import State
from kafkaesque.groups.group import Group
from kafkaesque.groups.views import GROUP_TYPE
from kafkaesque.protocol.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)

_STATES = frozenset(state.value.lower() for state in State)
_TYPES = frozenset((GROUP_TYPE,))


async def list_groups(ctx: Context, request: ListGroupsRequest) -> ListGroupsResponse:
    states = await _filter(ctx, request.states_filter, _STATES)
    types = await _filter(ctx, request.types_filter, _TYPES)
    response = ListGroupsResponse()
    if GROUP_TYPE not in types:
        return response

    groups = ctx.broker.coordinator.table.groups

    def wanted(group_id: str) -> Group | None:
        """None, too, if it has been deleted meanwhile."""
        group = groups.get(group_id)
        return group if group is not None and group.state.value.lower() in states else None

    def size(group_id: str) -> int:
        group = wanted(group_id)
        return answer_size(1, group_id, group.protocol_type) if group else 0

    async for group_id in ctx.with_room(groups, size, response.groups):
        if group := wanted(group_id):
            response.groups.append(
                ListedGroup(
                    group_id=group_id,
                    protocol_type=group.protocol_type or "",
                    group_state=group.state.value,
                    group_type=GROUP_TYPE,
                )
            )
    return response


async def _filter(ctx: Context, names: list[str], known: Set[str]) -> Set[str]:
    """Those of the known names that are asked for: all, if none is named."""
    if not names:
        return known
    lower = (name.lower() for name in names)
    return {name async for name in ctx.broker.slices.paced(lower) if name in known}
