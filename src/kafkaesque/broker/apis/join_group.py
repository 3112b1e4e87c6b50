"""JoinGroup (11), versions 0–9. Answered when the whole group has joined, which may take a
rebalance timeout.

Version 1 has a rebalance timeout of its own, 4 tells a newcomer its member id first (KIP-394), 5
brings static members (KIP-345), 7 names the protocol type, 9 may tell a static leader to keep the
assignment (KIP-814).
"""

from collections.abc import Awaitable
from typing import cast

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode
from kafkaesque.groups.bounds import MAX_PROTOCOLS
from kafkaesque.groups.events import Join, JoinReply
from kafkaesque.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
)


def join_group(
    ctx: Context, request: JoinGroupRequest
) -> JoinGroupResponse | Awaitable[JoinGroupResponse]:
    if not request.group_id:
        return JoinGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID, member_id=request.member_id)
    if len(request.protocols) > MAX_PROTOCOLS:
        return JoinGroupResponse(error_code=ErrorCode.INVALID_REQUEST, member_id=request.member_id)
    rebalance_timeout_ms = request.rebalance_timeout_ms
    reply = ctx.broker.coordinator.future()
    join = Join(
        token=reply,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        client_id=ctx.header.client_id or "",
        client_host=f"/{ctx.client_host}",
        protocol_type=request.protocol_type,
        protocols=tuple((protocol.name, protocol.metadata) for protocol in request.protocols),
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.session_timeout_ms
        if ctx.version == 0
        else rebalance_timeout_ms,
        require_known_member_id=ctx.version >= 4,
        supports_skipping_assignment=ctx.version >= 9,
    )
    ctx.broker.coordinator.ask(request.group_id, join)
    ctx.only_waits()
    return _answer(ctx.version, reply)


async def _answer(version: int, reply: Awaitable[object]) -> JoinGroupResponse:
    joined = cast(JoinReply, await reply)
    return JoinGroupResponse(
        error_code=joined.error,
        generation_id=joined.generation,
        protocol_type=joined.protocol_type,
        protocol_name=joined.protocol_name if version >= 7 else joined.protocol_name or "",
        leader=joined.leader,
        skip_assignment=joined.skip_assignment,
        member_id=joined.member_id,
        members=[
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.metadata,
            )
            for member in joined.members
        ],
    )
