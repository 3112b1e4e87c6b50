"""DescribeCluster (key 60), versions 0–2: cluster id, controller and brokers (KIP-700).

Flexible from the start. endpoint_type: 1 brokers, 2 controllers.
cluster_authorized_operations is a bit field; -2**31 says that it was not asked for.

v1  endpoint_type (KIP-919)
v2  fenced brokers (KIP-1073)
"""

from kafkaesque.protocol.schema import boolean, field, int8, int16, int32, message, string, struct


@message(api_key=60, versions=(0, 2), flexible=0)
class DescribeClusterRequest:
    include_cluster_authorized_operations: boolean = False
    endpoint_type: int8 = field(since=1, default=1)
    include_fenced_brokers: boolean = field(since=2, default=False)


@struct
class DescribeClusterBroker:
    broker_id: int32 = 0
    host: string = ""
    port: int32 = 0
    rack: string | None = None
    is_fenced: boolean = field(since=2, default=False)


@message(api_key=60, versions=(0, 2), flexible=0)
class DescribeClusterResponse:
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    endpoint_type: int8 = field(since=1, default=1)
    cluster_id: string = ""
    controller_id: int32 = -1
    brokers: list[DescribeClusterBroker] = field(default_factory=list)
    cluster_authorized_operations: int32 = -(2**31)
