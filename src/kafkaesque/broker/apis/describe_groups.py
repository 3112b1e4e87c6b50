"""DescribeGroups (15), versions 0–6. A group that is not there is "Dead"; from version 6 on it is
an error (KIP-1043). Version 3 may ask what the client may do with it (KIP-430): without an
authorizer all that there is, as in Kafka.
"""

from functools import partial

from kafkaesque.broker.apis.answer_size import answer_size
from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

_READ, _DELETE, _DESCRIBE, _DESCRIBE_CONFIGS, _ALTER_CONFIGS = 3, 6, 8, 10, 11
_OPERATIONS = sum(
    1 << code for code in (_READ, _DELETE, _DESCRIBE, _DESCRIBE_CONFIGS, _ALTER_CONFIGS)
)
"""Those that Kafka has for a group, as bits by their codes."""
_ELEMENTS_PER_MEMBER = 2
"""It is as long as that, beside its names, metadata and assignment."""


async def describe_groups(ctx: Context, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    """Each group once, however often it is named: a small request must not have a huge answer."""
    response = DescribeGroupsResponse()
    names = {name: None async for name in ctx.broker.slices.paced(request.groups)}
    async for name in ctx.with_room(names, partial(_size, ctx), response.groups):
        group = _describe(ctx, name)
        if request.include_authorized_operations and not group.error_code:
            group.authorized_operations = _OPERATIONS
        response.groups.append(group)
    return response


def _size(ctx: Context, group_id: str) -> int:
    group = ctx.broker.coordinator.table.group(group_id)
    if group is None:
        return answer_size(1, group_id, group_id)  # It is an error that names it.
    roster = group.roster
    elements = 1 + _ELEMENTS_PER_MEMBER * len(roster.members)
    size = answer_size(elements, group_id, group.protocol_type, group.protocol_name)
    return size + roster.stored_bytes + roster.name_bytes


def _describe(ctx: Context, group_id: str) -> DescribedGroup:
    group = ctx.broker.coordinator.table.group(group_id)
    if group is None:
        unknown = DescribedGroup(group_id=group_id, group_state="Dead")
        if ctx.version >= 6:
            unknown.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            unknown.error_message = f"Group {group_id} not found."
        return unknown
    described = group.describe()
    return DescribedGroup(
        group_id=group_id,
        group_state=described.state.value,
        protocol_type=described.protocol_type,
        protocol_data=described.protocol_name,
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata,
                member_assignment=member.assignment,
            )
            for member in described.members
        ],
    )
