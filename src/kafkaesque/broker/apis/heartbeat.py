"""Heartbeat (12), versions 0–4. A member is alive, and learns here that a rebalance has begun."""

from collections.abc import Awaitable
from typing import cast

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode
from kafkaesque.groups.events import Heartbeat, Reply
from kafkaesque.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def heartbeat(
    ctx: Context, request: HeartbeatRequest
) -> HeartbeatResponse | Awaitable[HeartbeatResponse]:
    if not request.group_id:
        return HeartbeatResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    reply = ctx.broker.coordinator.future()
    beat = Heartbeat(reply, request.generation_id, request.member_id, request.group_instance_id)
    ctx.broker.coordinator.ask(request.group_id, beat)
    return _answer(reply)


async def _answer(reply: Awaitable[object]) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=cast(Reply, await reply).error)
