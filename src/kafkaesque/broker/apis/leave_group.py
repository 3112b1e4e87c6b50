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
    MemberIdentity,
    MemberResponse,
)

_AT_ONCE = 8
_BATCH = 500
"""Members that leave in one step, with one rebalance."""


def leave_group(
    ctx: Context, request: LeaveGroupRequest
) -> LeaveGroupResponse | Awaitable[LeaveGroupResponse]:
    if not request.group_id:
        return LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    if ctx.version < 3:
        return _leave_one(ctx, request)
    if len(request.members) <= _AT_ONCE:
        return _answer(ctx, [_ask(ctx, request.group_id, request.members)])
    ctx.alone = True
    return _leave_in_slices(ctx, request)


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


async def _leave_in_slices(ctx: Context, request: LeaveGroupRequest) -> LeaveGroupResponse:
    batches = ctx.broker.slices.batches(request.members, _BATCH)
    return await _answer(ctx, [_ask(ctx, request.group_id, batch) async for batch in batches])


async def _answer(ctx: Context, replies: list[Awaitable[object]]) -> LeaveGroupResponse:
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
            async for member in ctx.broker.slices.paced(left.members)
        ]
    return response
