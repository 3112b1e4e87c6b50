"""DeleteGroups (42), versions 0–2. An empty group and its offsets; one with members is
NON_EMPTY_GROUP.
"""

from collections.abc import Awaitable
from typing import cast

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode
from kafkaesque.groups.events import Delete, Reply
from kafkaesque.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)


async def delete_groups(ctx: Context, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    response = DeleteGroupsResponse()
    replies: list[tuple[DeletableGroupResult, Awaitable[object]]] = []
    async for name in ctx.broker.slices.paced(request.groups_names):
        result = DeletableGroupResult(group_id=name)
        response.results.append(result)
        if ctx.broker.coordinator.table.group(name) is None:
            result.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        else:
            reply = ctx.broker.coordinator.future()
            ctx.broker.coordinator.ask(name, Delete(reply))
            replies.append((result, reply))
    for result, answer in replies:
        result.error_code = cast(Reply, await answer).error
    return response
