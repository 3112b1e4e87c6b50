"""AddOffsetsToTxn (key 25), versions 0–4: a group's offsets are part of the transaction (KIP-98).

It announces them; TxnOffsetCommit brings them.

v2  PRODUCER_FENCED (KIP-588)
v3  flexible
v4  TRANSACTION_ABORTABLE (KIP-890)
"""

from kafkaesque.protocol.schema import int16, int32, int64, message, string


@message(api_key=25, versions=(0, 4), flexible=3)
class AddOffsetsToTxnRequest:
    transactional_id: string = ""
    producer_id: int64 = 0
    producer_epoch: int16 = 0
    group_id: string = ""


@message(api_key=25, versions=(0, 4), flexible=3)
class AddOffsetsToTxnResponse:
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
