"""DeleteAcls (31), versions 1–3. Each is refused with SECURITY_DISABLED, as by a Kafka without an
authorizer.
"""

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
)


async def delete_acls(ctx: Context, request: DeleteAclsRequest) -> DeleteAclsResponse:
    return DeleteAclsResponse(
        filter_results=[
            DeleteAclsFilterResult(
                error_code=ErrorCode.SECURITY_DISABLED,
                error_message="No Authorizer is configured.",
            )
            async for _ in ctx.broker.slices.paced(request.filters)
        ]
    )
