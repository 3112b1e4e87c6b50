"""DescribeUserScramCredentials (50), version 0. Nobody logs in: no user has any (KIP-554)."""

from collections import Counter

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)


async def describe_user_scram_credentials(
    ctx: Context, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    paced = ctx.broker.slices.paced
    times: Counter[str] = Counter()
    async for user in paced(request.users or ()):
        times[user.name] += 1
    return DescribeUserScramCredentialsResponse(
        results=[_describe(name, times[name]) async for name in paced(times)]
    )


def _describe(user: str, times: int) -> DescribeUserScramCredentialsResult:
    result = DescribeUserScramCredentialsResult(
        user=user,
        error_code=ErrorCode.RESOURCE_NOT_FOUND,
        error_message=f"Attempt to describe a user credential that does not exist: {user}",
    )
    if times > 1:
        result.error_code = ErrorCode.DUPLICATE_RESOURCE
        result.error_message = (
            f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
        )
    return result
