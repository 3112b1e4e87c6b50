"""What is stored rather than sent: the records of Kafka's internal topics, in Kafka's own formats.

    __consumer_offsets    key and value each:  version int16 | fields
    __transaction_state   key and value each:  version int16 | fields
    control records       key and value each:  version int16 | fields
    __cluster_metadata    value only:          frame version 1 | record key | version | fields
                                               (the first three are unsigned varints)

A key of __consumer_offsets says by its version what it is: 0 and 1 an offset, 2 a group. A null
value deletes; v4 of its values and v1 of a transaction's are the first flexible ones (KIP-915).
KRaft's records are flexible from their first version. The control records are those that end a
transaction in a partition; records/control.py writes them.
Above: groups/, transactions/ and the broker's metadata.
"""

from struct import Struct
from struct import error as struct_error
from typing import Final, TypeAlias, TypeVar

from kafkaesque.errors import DecodeError
from kafkaesque.protocol.codec import decode, encode
from kafkaesque.protocol.schema import (
    ZERO_UUID,
    bytes_,
    field,
    int8,
    int16,
    int32,
    int64,
    message,
    schema_of,
    string,
    struct,
    uuid,
)
from kafkaesque.protocol.wire import decode_uvarint, encode_uvarint
from kafkaesque.types import Buffer

M = TypeVar("M")

_VERSION: Final = Struct(">h")
_FRAME_VERSION: Final = 1


@message(versions=(0, 1), flexible=None)
class OffsetCommitKey:
    group: string = ""
    topic: string = ""
    partition: int32 = 0


@message(versions=(0, 4), flexible=4)
class OffsetCommitValue:
    offset: int64 = 0
    leader_epoch: int32 = field(since=3, default=-1)
    metadata: string = ""
    commit_timestamp: int64 = 0
    expire_timestamp: int64 = field(since=1, until=1, default=-1)
    topic_id: uuid = field(since=4, tag=0, default=ZERO_UUID)


@message(versions=(2, 2), flexible=None)
class GroupMetadataKey:
    group: string = ""


@struct
class MemberMetadata:
    member_id: string = ""
    group_instance_id: string | None = field(since=3, default=None)
    client_id: string = ""
    client_host: string = ""
    rebalance_timeout: int32 = field(since=1, default=-1)
    session_timeout: int32 = 0
    subscription: bytes_ = b""
    assignment: bytes_ = b""


@message(versions=(0, 4), flexible=4)
class GroupMetadataValue:
    protocol_type: string = ""
    generation: int32 = 0
    protocol: string | None = None
    leader: string | None = None
    current_state_timestamp: int64 = field(since=2, default=-1)
    members: list[MemberMetadata] = field(default_factory=list)


@message(versions=(0, 0), flexible=None)
class TransactionLogKey:
    transactional_id: string = ""


@struct
class PartitionsSchema:
    topic: string = ""
    partition_ids: list[int32] = field(default_factory=list)


@message(versions=(0, 1), flexible=1)
class TransactionLogValue:
    """transaction_status: 0 Empty, 1 Ongoing, 2 PrepareCommit, 3 PrepareAbort, 4 CompleteCommit,
    5 CompleteAbort, 6 Dead, 7 PrepareEpochFence. Of an Empty one the partitions are None.
    """

    producer_id: int64 = 0
    previous_producer_id: int64 = field(since=1, tag=0, default=-1)
    next_producer_id: int64 = field(since=1, tag=1, default=-1)
    producer_epoch: int16 = 0
    next_producer_epoch: int16 = field(since=1, tag=3, default=-1)
    transaction_timeout_ms: int32 = 0
    transaction_status: int8 = 0
    transaction_partitions: list[PartitionsSchema] | None = field(default_factory=list)
    transaction_last_update_timestamp_ms: int64 = 0
    transaction_start_timestamp_ms: int64 = 0
    client_transaction_version: int16 = field(since=1, tag=2, default=0)


@message(versions=(0, 0), flexible=None)
class ControlRecordKey:
    """type: 0 abort, 1 commit; from 2 on, what KRaft's own log uses."""

    type: int16 = 0


@message(versions=(0, 0), flexible=None)
class EndTxnMarker:
    coordinator_epoch: int32 = 0


@message(api_key=2, versions=(0, 0), flexible=0)
class TopicRecord:
    name: string = ""
    topic_id: uuid = ZERO_UUID


@message(api_key=3, versions=(0, 2), flexible=0)
class PartitionRecord:
    partition_id: int32 = -1
    topic_id: uuid = ZERO_UUID
    replicas: list[int32] = field(default_factory=list)
    isr: list[int32] = field(default_factory=list)
    removing_replicas: list[int32] = field(default_factory=list)
    adding_replicas: list[int32] = field(default_factory=list)
    leader: int32 = -1
    leader_recovery_state: int8 = field(tag=0, default=0)
    leader_epoch: int32 = -1
    partition_epoch: int32 = -1
    directories: list[uuid] = field(since=1, default_factory=list)
    eligible_leader_replicas: list[int32] | None = field(since=2, tag=1, default=None)
    last_known_elr: list[int32] | None = field(since=2, tag=2, default=None)


@message(api_key=4, versions=(0, 0), flexible=0)
class ConfigRecord:
    """value=None removes the config. resource_type: 2 topic, 4 broker."""

    resource_type: int8 = 0
    resource_name: string = ""
    name: string = ""
    value: string | None = None


@message(api_key=5, versions=(0, 2), flexible=0)
class PartitionChangeRecord:
    """What is not set has not changed."""

    partition_id: int32 = -1
    topic_id: uuid = ZERO_UUID
    isr: list[int32] | None = field(tag=0, default=None)
    leader: int32 = field(tag=1, default=-2)
    replicas: list[int32] | None = field(tag=2, default=None)
    removing_replicas: list[int32] | None = field(tag=3, default=None)
    adding_replicas: list[int32] | None = field(tag=4, default=None)
    leader_recovery_state: int8 = field(tag=5, default=-1)
    directories: list[uuid] | None = field(since=1, tag=8, default=None)
    eligible_leader_replicas: list[int32] | None = field(since=2, tag=6, default=None)
    last_known_elr: list[int32] | None = field(since=2, tag=7, default=None)


@message(api_key=9, versions=(0, 0), flexible=0)
class RemoveTopicRecord:
    topic_id: uuid = ZERO_UUID


@message(api_key=12, versions=(0, 0), flexible=0)
class FeatureLevelRecord:
    name: string = ""
    feature_level: int16 = 0


@message(api_key=15, versions=(0, 0), flexible=0)
class ProducerIdsRecord:
    """next_producer_id is the first id of the next block."""

    broker_id: int32 = 0
    broker_epoch: int64 = -1
    next_producer_id: int64 = 0


MetadataRecord: TypeAlias = (
    TopicRecord
    | PartitionRecord
    | ConfigRecord
    | PartitionChangeRecord
    | RemoveTopicRecord
    | FeatureLevelRecord
    | ProducerIdsRecord
)

_METADATA_RECORDS: Final[dict[int, type[MetadataRecord]]] = {
    2: TopicRecord,
    3: PartitionRecord,
    4: ConfigRecord,
    5: PartitionChangeRecord,
    9: RemoveTopicRecord,
    12: FeatureLevelRecord,
    15: ProducerIdsRecord,
}


def encode_versioned(value: object, version: int) -> bytes:
    """A key or value that begins with its version."""
    return b"".join((_VERSION.pack(version), *encode(value, version)))


def version_of(data: Buffer) -> int:
    """The version of a key or value; that of a key says which class it is."""
    try:
        version: int = _VERSION.unpack_from(data)[0]
    except struct_error as error:
        raise DecodeError("a record without a version") from error
    return version


def decode_versioned(cls: type[M], data: Buffer) -> M:
    return decode(cls, version_of(data), data, _VERSION.size)


def encode_metadata_record(record: MetadataRecord, version: int = 0) -> bytes:
    """The value of a record of __cluster_metadata."""
    key = schema_of(type(record)).api_key
    assert key is not None
    head = (encode_uvarint(_FRAME_VERSION), encode_uvarint(key), encode_uvarint(version))
    return b"".join((*head, *encode(record, version)))


def decode_metadata_record(data: Buffer) -> MetadataRecord:
    try:
        frame_version, position = decode_uvarint(data, 0)
        key, position = decode_uvarint(data, position)
        version, position = decode_uvarint(data, position)
    except IndexError as error:
        raise DecodeError("a metadata record without a head") from error
    if frame_version != _FRAME_VERSION:
        raise DecodeError(f"a metadata record in frame version {frame_version}")
    cls = _METADATA_RECORDS.get(key)
    if cls is None:
        raise DecodeError(f"a metadata record of unknown key {key}")
    return decode(cls, version, data, position)
