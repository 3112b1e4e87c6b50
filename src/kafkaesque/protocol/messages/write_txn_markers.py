"""WriteTxnMarkers (key 27), versions 1–2: write the markers that end a transaction (KIP-98).

A coordinator sends it to other brokers, an administrator to end a transaction that hangs (KIP-664).
transaction_result is True for a commit.

v1  flexible
v2  transaction_version: from 2 on, the marker's epoch is above that of its records (KIP-1228)
"""

from kafkaesque.protocol.schema import (
    boolean,
    field,
    int8,
    int16,
    int32,
    int64,
    message,
    string,
    struct,
)


@struct
class WritableTxnMarkerTopic:
    name: string = ""
    partition_indexes: list[int32] = field(default_factory=list)


@struct
class WritableTxnMarker:
    producer_id: int64 = 0
    producer_epoch: int16 = 0
    transaction_result: boolean = False
    topics: list[WritableTxnMarkerTopic] = field(default_factory=list)
    coordinator_epoch: int32 = 0
    transaction_version: int8 = field(since=2, default=0)


@message(api_key=27, versions=(1, 2), flexible=1)
class WriteTxnMarkersRequest:
    markers: list[WritableTxnMarker] = field(default_factory=list)


@struct
class WritableTxnMarkerPartitionResult:
    partition_index: int32 = 0
    error_code: int16 = 0


@struct
class WritableTxnMarkerTopicResult:
    name: string = ""
    partitions: list[WritableTxnMarkerPartitionResult] = field(default_factory=list)


@struct
class WritableTxnMarkerResult:
    producer_id: int64 = 0
    topics: list[WritableTxnMarkerTopicResult] = field(default_factory=list)


@message(api_key=27, versions=(1, 2), flexible=1)
class WriteTxnMarkersResponse:
    markers: list[WritableTxnMarkerResult] = field(default_factory=list)
