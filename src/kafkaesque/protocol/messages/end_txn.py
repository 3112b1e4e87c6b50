"""EndTxn (key 26), versions 0–5: commit or abort the transaction (KIP-98).

v2  PRODUCER_FENCED (KIP-588)
v3  flexible
v4  TRANSACTION_ABORTABLE (KIP-890)
v5  each end raises the epoch; producer_id and producer_epoch are those to go on with (KIP-890)
"""

from kafkaesque.protocol.schema import boolean, field, int16, int32, int64, message, string


@message(api_key=26, versions=(0, 5), flexible=3)
class EndTxnRequest:
    transactional_id: string = ""
    producer_id: int64 = 0
    producer_epoch: int16 = 0
    committed: boolean = False


@message(api_key=26, versions=(0, 5), flexible=3)
class EndTxnResponse:
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    producer_id: int64 = field(since=5, default=-1)
    producer_epoch: int16 = field(since=5, default=-1)
