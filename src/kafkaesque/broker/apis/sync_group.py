"""SyncGroup (14), versions 0–5. The leader brings the assignment; everyone gets their share of it.

Answered when the assignment is durable in `__consumer_offsets`. Version 3 brings static members, 5
checks the protocol.
"""

from collections.abc import Awaitable
from typing import cast

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode
from kafkaesque.groups.events import Sync, SyncReply
from kafkaesque.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_AT_ONCE = 10_000
"""Assignments that are taken in at once."""


def sync_group(
    ctx: Context, request: SyncGroupRequest
) -> SyncGroupResponse | Awaitable[SyncGroupResponse]:
    if not request.group_id:
        return SyncGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    if len(request.assignments) > _AT_ONCE:
        return _sync_large(ctx, request)
    if not _is_leader(ctx, request):
        return _follow(ctx, request)
    return _sync(ctx, request, {each.member_id: each.assignment for each in request.assignments})


def _is_leader(ctx: Context, request: SyncGroupRequest) -> bool:
    group = ctx.broker.coordinator.table.group(request.group_id)
    return group is not None and group.leader == request.member_id


async def _sync_large(ctx: Context, request: SyncGroupRequest) -> SyncGroupResponse:
    paced = ctx.broker.slices.paced
    if not _is_leader(ctx, request):
        async for _ in paced(range(len(request.assignments) - 1)):
            request.assignments.pop()
        return await _follow(ctx, request)
    assignments = {}
    async for each in paced(request.assignments):
        assignments[each.member_id] = each.assignment
    return await _sync(ctx, request, assignments)


def _follow(ctx: Context, request: SyncGroupRequest) -> Awaitable[SyncGroupResponse]:
    """Nobody needs what assignments it has, and it may wait for its leader for long."""
    request.assignments.clear()
    ctx.only_waits()
    return _sync(ctx, request, {})


def _sync(
    ctx: Context, request: SyncGroupRequest, assignments: dict[str, bytes]
) -> Awaitable[SyncGroupResponse]:
    reply = ctx.broker.coordinator.future()
    sync = Sync(
        token=reply,
        generation=request.generation_id,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignments=assignments,
    )
    ctx.broker.coordinator.ask(request.group_id, sync)
    return _answer(reply)


async def _answer(reply: Awaitable[object]) -> SyncGroupResponse:
    synced = cast(SyncReply, await reply)
    return SyncGroupResponse(
        error_code=synced.error,
        protocol_type=synced.protocol_type,
        protocol_name=synced.protocol_name,
        assignment=synced.assignment,
    )
