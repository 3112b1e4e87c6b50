"""DescribeGroups (15), versions 0–6. A group that is not there is "Dead"; from version 6 on it is
an error (KIP-1043).
"""

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)


def describe_groups(ctx: Context, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(groups=[_describe(ctx, name) for name in request.groups])


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
