"""Records of internal topics against bytes that Apache Kafka 4.3's own classes wrote.

kio has almost no such records, so the vectors were printed by Kafka's serializers. Each must be
written and read back exactly; what cannot be read says why.
"""

from uuid import UUID

import pytest

from kafkaesque.errors import DecodeError, KafkaError
from kafkaesque.protocol.messages.internal import (
    ConfigRecord,
    ControlRecordKey,
    EndTxnMarker,
    FeatureLevelRecord,
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    MetadataRecord,
    OffsetCommitKey,
    OffsetCommitValue,
    PartitionChangeRecord,
    PartitionRecord,
    PartitionsSchema,
    ProducerIdsRecord,
    RemoveTopicRecord,
    TopicRecord,
    TransactionLogKey,
    TransactionLogValue,
    decode_metadata_record,
    decode_versioned,
    encode_metadata_record,
    encode_versioned,
    version_of,
)
from kafkaesque.records.batch import records
from kafkaesque.records.control import Marker, new_marker

TOPIC_ID = UUID("01020304-0506-0708-090a-0b0c0d0e0f10")
DIRECTORY = UUID("00000000-0000-0001-0000-000000000002")
TOPIC_ID_HEX = TOPIC_ID.hex
DIRECTORY_HEX = DIRECTORY.hex


def partition(**more: object) -> PartitionRecord:
    record = PartitionRecord(
        partition_id=3,
        topic_id=TOPIC_ID,
        replicas=[1, 2],
        isr=[1],
        leader=1,
        leader_recovery_state=1,
        leader_epoch=7,
        partition_epoch=8,
    )
    for name, value in more.items():
        setattr(record, name, value)
    return record


PARTITION_HEX = f"00000003{TOPIC_ID_HEX}03000000010000000202000000010101000000010000000700000008"
METADATA: list[tuple[MetadataRecord, int, str]] = [
    (TopicRecord(name="events", topic_id=TOPIC_ID), 0, f"010200076576656e7473{TOPIC_ID_HEX}00"),
    (partition(), 0, f"010300{PARTITION_HEX}01000101"),
    (partition(directories=[DIRECTORY]), 1, f"010301{PARTITION_HEX}02{DIRECTORY_HEX}01000101"),
    (
        partition(directories=[DIRECTORY], eligible_leader_replicas=[2], last_known_elr=[]),
        2,
        f"010302{PARTITION_HEX}02{DIRECTORY_HEX}0300010101050200000002020101",
    ),
    (
        ConfigRecord(resource_type=2, resource_name="events", name="retention.ms", value="1000"),
        0,
        "01040002076576656e74730d726574656e74696f6e2e6d73053130303000",
    ),
    (
        ConfigRecord(resource_type=2, resource_name="events", name="retention.ms", value=None),
        0,
        "01040002076576656e74730d726574656e74696f6e2e6d730000",
    ),
    (
        PartitionChangeRecord(partition_id=3, topic_id=TOPIC_ID, leader=2, isr=[2]),
        0,
        f"01050000000003{TOPIC_ID_HEX}0200050200000002010400000002",
    ),
    (
        PartitionChangeRecord(
            partition_id=3,
            topic_id=TOPIC_ID,
            isr=[2],
            leader=-1,
            replicas=[1, 2],
            removing_replicas=[],
            adding_replicas=[3],
            leader_recovery_state=0,
            directories=[DIRECTORY],
            eligible_leader_replicas=[1],
            last_known_elr=[9],
        ),
        2,
        f"01050200000003{TOPIC_ID_HEX}09000502000000020104ffffffff02090300000001000000020301010405"
        f"020000000305010006050200000001070502000000090811 02{DIRECTORY_HEX}",
    ),
    (RemoveTopicRecord(topic_id=TOPIC_ID), 0, f"010900{TOPIC_ID_HEX}00"),
    (
        FeatureLevelRecord(name="metadata.version", feature_level=25),
        0,
        "010c00116d657461646174612e76657273696f6e001900",
    ),
    (
        ProducerIdsRecord(broker_id=1, broker_epoch=5, next_producer_id=1000),
        0,
        "010f0000000001000000000000000500000000000003e800",
    ),
]

OFFSET = OffsetCommitValue(offset=42, metadata="m", commit_timestamp=1000)
EPOCH_OFFSET = OffsetCommitValue(offset=42, leader_epoch=7, metadata="m", commit_timestamp=1000)


def group(version: int) -> GroupMetadataValue:
    member = MemberMetadata(
        member_id="a",
        group_instance_id="i" if version >= 3 else None,
        client_id="c",
        client_host="/h",
        rebalance_timeout=300_000 if version >= 1 else -1,
        session_timeout=45_000,
        subscription=b"\x01\x02",
        assignment=b"\x03",
    )
    return GroupMetadataValue(
        protocol_type="consumer",
        generation=5,
        protocol="range",
        leader="a",
        current_state_timestamp=1000 if version >= 2 else -1,
        members=[member],
    )


VERSIONED: list[tuple[object, int, str]] = [
    (
        OffsetCommitKey(group="g", topic="events", partition=3),
        1,
        "000100016700066576656e747300000003",
    ),
    (GroupMetadataKey(group="g"), 2, "0002000167"),
    (OFFSET, 0, "0000000000000000002a00016d00000000000003e8"),
    (
        OffsetCommitValue(offset=42, metadata="m", commit_timestamp=1000, expire_timestamp=2000),
        1,
        "0001000000000000002a00016d00000000000003e800000000000007d0",
    ),
    (OFFSET, 2, "0002000000000000002a00016d00000000000003e8"),
    (EPOCH_OFFSET, 3, "0003000000000000002a0000000700016d00000000000003e8"),
    (
        OffsetCommitValue(
            offset=42, leader_epoch=7, metadata="m", commit_timestamp=1000, topic_id=TOPIC_ID
        ),
        4,
        f"0004000000000000002a00000007026d00000000000003e8010010{TOPIC_ID_HEX}",
    ),
    (
        group(0),
        0,
        "00000008636f6e73756d657200000005000572616e67650001610000000100016100016300022f680000afc8"
        "0000000201020000000103",
    ),
    (
        group(1),
        1,
        "00010008636f6e73756d657200000005000572616e67650001610000000100016100016300022f68000493e0"
        "0000afc80000000201020000000103",
    ),
    (
        group(2),
        2,
        "00020008636f6e73756d657200000005000572616e676500016100000000000003e800000001000161000163"
        "00022f68000493e00000afc80000000201020000000103",
    ),
    (
        group(3),
        3,
        "00030008636f6e73756d657200000005000572616e676500016100000000000003e800000001000161000169"
        "00016300022f68000493e00000afc80000000201020000000103",
    ),
    (
        group(4),
        4,
        "000409636f6e73756d6572000000050672616e6765026100000000000003e802026102690263032f68000493e0"
        "0000afc803010202030000",
    ),
    (
        GroupMetadataValue(protocol_type="consumer", generation=6, current_state_timestamp=1000),
        3,
        "00030008636f6e73756d657200000006ffffffff00000000000003e800000000",
    ),
]


def transaction(**more: object) -> TransactionLogValue:
    value = TransactionLogValue(
        producer_id=4000,
        producer_epoch=7,
        transaction_timeout_ms=60_000,
        transaction_status=1,
        transaction_partitions=[PartitionsSchema(topic="events", partition_ids=[0, 3])],
        transaction_last_update_timestamp_ms=2000,
        transaction_start_timestamp_ms=1000,
    )
    for name, new in more.items():
        setattr(value, name, new)
    return value


PRODUCER_HEX = "0000000000000fa000070000ea60"
TIMES_HEX = "00000000000007d000000000000003e8"
TRANSACTIONS: list[tuple[object, int, str]] = [
    (TransactionLogKey(transactional_id="tx"), 0, "000000027478"),
    (
        transaction(),
        0,
        f"0000{PRODUCER_HEX}010000000100066576656e7473000000020000000000000003{TIMES_HEX}",
    ),
    (
        transaction(transaction_status=0, transaction_partitions=None),
        0,
        f"0000{PRODUCER_HEX}00ffffffff{TIMES_HEX}",
    ),
    (
        transaction(),
        1,
        f"0001{PRODUCER_HEX}0102076576656e747303000000000000000300{TIMES_HEX}00",
    ),
    (
        transaction(
            transaction_status=0, transaction_partitions=None, client_transaction_version=2
        ),
        1,
        f"0001{PRODUCER_HEX}0000{TIMES_HEX}0102020002",
    ),
    (
        transaction(
            transaction_status=2,
            transaction_partitions=[],
            previous_producer_id=3999,
            next_producer_id=4001,
            client_transaction_version=2,
            next_producer_epoch=8,
        ),
        1,
        f"0001{PRODUCER_HEX}0201{TIMES_HEX}04"
        "00080000000000000f9f01080000000000000fa102020002"
        "03020008",
    ),
    (ControlRecordKey(type=0), 0, "00000000"),
    (ControlRecordKey(type=1), 0, "00000001"),
    (EndTxnMarker(coordinator_epoch=9), 0, "000000000009"),
]


def name_of(value: object) -> str | None:
    return None if isinstance(value, str) else getattr(type(value), "__name__", None)


@pytest.mark.parametrize(("record", "version", "kafkas"), METADATA, ids=name_of)
def test_metadata_records_have_kafkas_bytes(
    record: MetadataRecord, version: int, kafkas: str
) -> None:
    data = bytes.fromhex(kafkas)
    assert encode_metadata_record(record, version) == data
    assert decode_metadata_record(data) == record


@pytest.mark.parametrize(("value", "version", "kafkas"), VERSIONED + TRANSACTIONS, ids=name_of)
def test_versioned_keys_and_values_have_kafkas_bytes(
    value: object, version: int, kafkas: str
) -> None:
    data = bytes.fromhex(kafkas)
    assert encode_versioned(value, version) == data
    assert version_of(data) == version
    assert decode_versioned(type(value), data) == value


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "without a head"),
        (b"\x01\x02", "without a head"),
        (b"\x02\x02\x00", "frame version 2"),
        (b"\x01\x63\x00", "unknown key 99"),
        (b"\x01\x02\x00\x07ev", "TopicRecord v0"),
    ],
)
def test_metadata_records_that_cannot_be_read_say_why(data: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        decode_metadata_record(data)


def test_a_metadata_record_of_a_later_version_is_refused() -> None:
    with pytest.raises(KafkaError, match="TopicRecord has versions 0 to 0, not 1"):
        decode_metadata_record(b"\x01\x02\x01\x00")


@pytest.mark.parametrize("data", [b"", b"\x00"])
def test_a_value_without_a_version_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError, match="without a version"):
        version_of(data)


@pytest.mark.parametrize(("value", "version"), [(group(3), 3), (transaction(), 1)], ids=name_of)
def test_a_value_cut_at_any_byte_is_refused(value: object, version: int) -> None:
    data = encode_versioned(value, version)
    for size in range(len(data)):
        with pytest.raises(DecodeError):
            decode_versioned(type(value), data[:size])


def test_a_transaction_with_a_tag_of_a_later_kafka_is_still_read() -> None:
    data = encode_versioned(transaction(next_producer_id=4001), 1)
    tags = bytes.fromhex("0101080000000000000fa1")
    assert data.endswith(tags)
    later = data[: -len(tags)] + b"\x02" + tags[1:] + bytes.fromhex("2101ff")
    assert decode_versioned(TransactionLogValue, later) == transaction(next_producer_id=4001)


@pytest.mark.parametrize("marker", Marker)
def test_the_markers_that_we_write_are_these_control_records(marker: Marker) -> None:
    (record,) = records(new_marker(5, 4000, 7, marker, 1000, coordinator_epoch=9))
    assert record.key == encode_versioned(ControlRecordKey(type=marker.value), 0)
    assert record.value == encode_versioned(EndTxnMarker(coordinator_epoch=9), 0)
