"""DeleteGroups (42), versions 0–2. An empty group and its offsets; one with members is
NON_EMPTY_GROUP.
"""

from collections.abc import Awaitable
from typing import cast

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.in_turns import Pace
from kafkaesque.errors import ErrorCode
from kafkaesque.groups.events import Delete, Reply
from kafkaesque.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)

_PER_TURN = 50
"""Each deletion appends tombstones."""


async def delete_groups(ctx: Context, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    response = DeleteGroupsResponse()
    replies: list[tuple[DeletableGroupResult, Awaitable[object]]] = []
    asking, looking = Pace(_PER_TURN), Pace()
    for name in request.groups_names:
        result = DeletableGroupResult(group_id=name)
        response.results.append(result)
        if ctx.broker.coordinator.table.group(name) is None:
            result.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            await looking.step()
        else:
            reply = ctx.broker.coordinator.future()
            ctx.broker.coordinator.ask(name, Delete(reply))
            replies.append((result, reply))
            await asking.step()
    for result, answer in replies:
        result.error_code = cast(Reply, await answer).error
    return response
