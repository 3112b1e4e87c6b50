"""DeleteGroups (42), versions 0–2. An empty group and its offsets; one with members is
NON_EMPTY_GROUP.
"""

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
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=name, error_code=await _delete(ctx, name))
            for name in request.groups_names
        ]
    )


async def _delete(ctx: Context, group_id: str) -> ErrorCode:
    if ctx.broker.coordinator.table.group(group_id) is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    reply = ctx.broker.coordinator.future()
    ctx.broker.coordinator.ask(group_id, Delete(reply))
    return cast(Reply, await reply).error
