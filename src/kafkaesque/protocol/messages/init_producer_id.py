"""InitProducerId (key 22), versions 0–5: an id and an epoch for an idempotent producer (KIP-98).

v2  flexible
v3  producer_id and producer_epoch: a producer that was fenced tries to go on (KIP-360)
v4  PRODUCER_FENCED (KIP-588)
v5  TRANSACTION_ABORTABLE (KIP-890)
"""

from kafkaesque.protocol.schema import field, int16, int32, int64, message, string


@message(api_key=22, versions=(0, 5), flexible=2)
class InitProducerIdRequest:
    transactional_id: string | None = None
    transaction_timeout_ms: int32 = 0
    producer_id: int64 = field(since=3, default=-1)
    producer_epoch: int16 = field(since=3, default=-1)


@message(api_key=22, versions=(0, 5), flexible=2)
class InitProducerIdResponse:
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    producer_id: int64 = -1
    producer_epoch: int16 = 0
