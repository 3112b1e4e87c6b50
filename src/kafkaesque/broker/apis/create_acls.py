"""CreateAcls (30), versions 1–3. Each is refused with SECURITY_DISABLED, as by a Kafka without an
authorizer: an entry that nobody obeys must not look as if it were kept.
"""

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.create_acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)


async def create_acls(ctx: Context, request: CreateAclsRequest) -> CreateAclsResponse:
    return CreateAclsResponse(
        results=[
            AclCreationResult(
                error_code=ErrorCode.SECURITY_DISABLED,
                error_message="No Authorizer is configured.",
            )
            async for _ in ctx.broker.slices.paced(request.creations)
        ]
    )
