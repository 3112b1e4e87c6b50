"""DescribeCluster (60), versions 0–2. One node, which is also the controller (KIP-700)."""

from kafkaesque.broker.apis.authorized_operations import CLUSTER_OPERATIONS
from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.config import NODE_ID
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

_BROKERS = 1


def describe_cluster(ctx: Context, request: DescribeClusterRequest) -> DescribeClusterResponse:
    if request.endpoint_type != _BROKERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message="this address is a broker's, not a controller's",
            endpoint_type=_BROKERS,
        )
    node_id, host, port = ctx.advertised
    response = DescribeClusterResponse(
        cluster_id=ctx.broker.cluster_id,
        controller_id=NODE_ID,
        brokers=[DescribeClusterBroker(broker_id=node_id, host=host, port=port)],
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response
