"""FindCoordinator (key 10), versions 0–6: which broker looks after a group or a transaction.

Up to v3 a request has one key, and the answer stands at the top level; from v4 both are lists
(KIP-699). key_type is 0 for a group, 1 for a transaction, 2 for a share group.

v1  key_type, throttle_time_ms, error_message
v3  flexible
v5  TRANSACTION_ABORTABLE (KIP-890)
v6  share groups (KIP-932)
"""

from kafkaesque.protocol.schema import field, int8, int16, int32, message, string, struct


@message(api_key=10, versions=(0, 6), flexible=3)
class FindCoordinatorRequest:
    key: string = field(until=3, default="")
    key_type: int8 = field(since=1, default=0)
    coordinator_keys: list[string] = field(since=4, default_factory=list)


@struct
class Coordinator:
    key: string = ""
    node_id: int32 = 0
    host: string = ""
    port: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None


@message(api_key=10, versions=(0, 6), flexible=3)
class FindCoordinatorResponse:
    throttle_time_ms: int32 = field(since=1, default=0)
    error_code: int16 = field(until=3, default=0)
    error_message: string | None = field(since=1, until=3, default=None)
    node_id: int32 = field(until=3, default=0)
    host: string = field(until=3, default="")
    port: int32 = field(until=3, default=0)
    coordinators: list[Coordinator] = field(since=4, default_factory=list)
