"""DescribeAcls (29), versions 1–3. There are none: SECURITY_DISABLED, as Kafka answers without an
authorizer.

MirrorMaker 2 asks this of its source, and takes that answer as "nothing to copy".
"""

from kafkaesque.broker.apis.context import Context
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse


def describe_acls(ctx: Context, request: DescribeAclsRequest) -> DescribeAclsResponse:
    return DescribeAclsResponse(
        error_code=ErrorCode.SECURITY_DISABLED,
        error_message="No Authorizer is configured on the broker",
    )
