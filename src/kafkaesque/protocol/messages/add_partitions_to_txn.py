"""AddPartitionsToTxn (key 24), versions 0–5: these partitions are part of the transaction (KIP-98).

Clients stop at v3, which is about one transaction, at the top level. Brokers among themselves go on
with v4: many transactions at once, and verify_only, which asks and changes nothing.

v2  PRODUCER_FENCED (KIP-588)
v3  flexible
v4  transactions, verify_only, error_code of the whole response (KIP-890)
v5  TRANSACTION_ABORTABLE (KIP-890)
"""

from kafkaesque.protocol.schema import boolean, field, int16, int32, int64, message, string, struct


@struct
class AddPartitionsToTxnTopic:
    name: string = ""
    partitions: list[int32] = field(default_factory=list)


@struct
class AddPartitionsToTxnTransaction:
    transactional_id: string = ""
    producer_id: int64 = 0
    producer_epoch: int16 = 0
    verify_only: boolean = False
    topics: list[AddPartitionsToTxnTopic] = field(default_factory=list)


@message(api_key=24, versions=(0, 5), flexible=3)
class AddPartitionsToTxnRequest:
    transactions: list[AddPartitionsToTxnTransaction] = field(since=4, default_factory=list)
    v3_and_below_transactional_id: string = field(until=3, default="")
    v3_and_below_producer_id: int64 = field(until=3, default=0)
    v3_and_below_producer_epoch: int16 = field(until=3, default=0)
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = field(until=3, default_factory=list)


@struct
class AddPartitionsToTxnPartitionResult:
    partition_index: int32 = 0
    partition_error_code: int16 = 0


@struct
class AddPartitionsToTxnTopicResult:
    name: string = ""
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = field(default_factory=list)


@struct
class AddPartitionsToTxnResult:
    transactional_id: string = ""
    topic_results: list[AddPartitionsToTxnTopicResult] = field(default_factory=list)


@message(api_key=24, versions=(0, 5), flexible=3)
class AddPartitionsToTxnResponse:
    throttle_time_ms: int32 = 0
    error_code: int16 = field(since=4, default=0)
    results_by_transaction: list[AddPartitionsToTxnResult] = field(since=4, default_factory=list)
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = field(
        until=3, default_factory=list
    )
