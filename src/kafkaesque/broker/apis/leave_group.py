"""LeaveGroup (13), versions 0–5. From version 3 on several members at once, static ones by instance
id (KIP-345).
"""

from collections.abc import Awaitable
from typing import cast

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode
from kafkaesque.groups.events import Leave, LeaveReply, Leaving
from kafkaesque.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
)


def leave_group(
    ctx: Context, request: LeaveGroupRequest
) -> LeaveGroupResponse | Awaitable[LeaveGroupResponse]:
    if not request.group_id:
        return LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    if ctx.version < 3:
        members: tuple[Leaving, ...] = (Leaving(request.member_id),)
    else:
        members = tuple(
            Leaving(member.member_id, member.group_instance_id, member.reason)
            for member in request.members
        )
    reply = ctx.broker.coordinator.future()
    ctx.broker.coordinator.ask(request.group_id, Leave(reply, members))
    return _answer(ctx.version, reply)


async def _answer(version: int, reply: Awaitable[object]) -> LeaveGroupResponse:
    left = cast(LeaveReply, await reply)
    if version < 3:
        error = left.error or (left.members[0].error if left.members else ErrorCode.NONE)
        return LeaveGroupResponse(error_code=error)
    return LeaveGroupResponse(
        error_code=left.error,
        members=[
            MemberResponse(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                error_code=member.error,
            )
            for member in left.members
        ],
    )
