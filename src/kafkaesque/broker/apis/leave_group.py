"""LeaveGroup (13), versions 0–5. From version 3 on several members at once, static ones by instance
id (KIP-345).
"""

import asyncio
from collections.abc import Awaitable
from typing import cast

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode
from kafkaesque.groups.events import Leave, LeaveReply, Leaving
from kafkaesque.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)

_PER_TURN = 500


def leave_group(
    ctx: Context, request: LeaveGroupRequest
) -> LeaveGroupResponse | Awaitable[LeaveGroupResponse]:
    if not request.group_id:
        return LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    if ctx.version < 3:
        return _leave_one(ctx, request)
    first = _ask(ctx, request.group_id, request.members[:_PER_TURN])
    return _leave(ctx, request, first)


def _ask(ctx: Context, group_id: str, members: list[MemberIdentity]) -> Awaitable[object]:
    leaving = tuple(
        Leaving(member.member_id, member.group_instance_id, member.reason) for member in members
    )
    reply = ctx.broker.coordinator.future()
    ctx.broker.coordinator.ask(group_id, Leave(reply, leaving))
    return reply


async def _leave_one(ctx: Context, request: LeaveGroupRequest) -> LeaveGroupResponse:
    only = [MemberIdentity(member_id=request.member_id)]
    left = cast(LeaveReply, await _ask(ctx, request.group_id, only))
    error = left.error or (left.members[0].error if left.members else ErrorCode.NONE)
    return LeaveGroupResponse(error_code=error)


async def _leave(
    ctx: Context, request: LeaveGroupRequest, first: Awaitable[object]
) -> LeaveGroupResponse:
    """Many leave in slices."""
    replies = [first]
    for at in range(_PER_TURN, len(request.members), _PER_TURN):
        await asyncio.sleep(0)
        replies.append(_ask(ctx, request.group_id, request.members[at : at + _PER_TURN]))
    response = LeaveGroupResponse()
    for reply in replies:
        left = cast(LeaveReply, await reply)
        response.error_code = response.error_code or left.error
        response.members += [
            MemberResponse(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                error_code=member.error,
            )
            for member in left.members
        ]
        await asyncio.sleep(0)
    return response
