"""DescribeTransactions (key 65), version 0: the state of transactional ids (KIP-664).

`topics` are the partitions of the open transaction, or those that still lack its marker. Flexible
from the start.
"""

from kafkaesque.protocol.schema import field, int16, int32, int64, message, string, struct


@message(api_key=65, versions=(0, 0), flexible=0)
class DescribeTransactionsRequest:
    transactional_ids: list[string] = field(default_factory=list)


@struct
class TopicData:
    topic: string = ""
    partitions: list[int32] = field(default_factory=list)


@struct
class TransactionState:
    error_code: int16 = 0
    transactional_id: string = ""
    transaction_state: string = ""
    transaction_timeout_ms: int32 = 0
    transaction_start_time_ms: int64 = 0
    producer_id: int64 = 0
    producer_epoch: int16 = 0
    topics: list[TopicData] = field(default_factory=list)


@message(api_key=65, versions=(0, 0), flexible=0)
class DescribeTransactionsResponse:
    throttle_time_ms: int32 = 0
    transaction_states: list[TransactionState] = field(default_factory=list)
