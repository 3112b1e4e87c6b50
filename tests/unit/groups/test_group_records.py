"""Records of `__consumer_offsets`: Kafka's bytes, and all of what they mean."""

import struct
from uuid import UUID

import pytest

from kafkaesque.errors import DecodeError, ErrorCode, KafkaError
from kafkaesque.groups.events import StoredGroup, StoredMember
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.groups.records import (
    GroupRecord,
    decode_group,
    decode_offset,
    decode_place,
    group_record,
    group_tombstone,
    offset_record,
    offset_tombstone,
)
from kafkaesque.protocol.messages.internal import (
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
    encode_versioned,
)
from kafkaesque.types import TopicPartition

ORDERS = TopicPartition("orders", 7)
STATIC = StoredMember("i-1", "i", "c", "/h", 300_000, 45_000, b"sub", b"assigned")
DYNAMIC = StoredMember("c-2", None, "c", "/h", 300_000, 45_000, b"", b"")
GROUP = StoredGroup(4, "consumer", "range", "i-1", 1234, (STATIC, DYNAMIC))


def offset_of(key: bytes, value: bytes | None) -> tuple[object, CommittedOffset | None]:
    return decode_place(key), None if value is None else decode_offset(value)


def test_an_offset_key_is_kafkas_byte_for_byte() -> None:
    key, value = offset_tombstone("g", ORDERS)
    assert key == b"\x00\x01" + b"\x00\x01g" + b"\x00\x06orders" + b"\x00\x00\x00\x07"
    assert value is None


def test_an_offset_value_is_kafkas_byte_for_byte() -> None:
    _, value = offset_record("g", ORDERS, CommittedOffset(9, 2, "hi", 5))
    assert value == struct.pack(">hqi", 4, 9, 2) + b"\x03hi" + struct.pack(">q", 5) + b"\x00"


def test_a_commit_with_its_own_time_to_expire_is_written_in_version_1() -> None:
    _, value = offset_record("g", ORDERS, CommittedOffset(9, 2, "hi", 5, 6))
    assert value == struct.pack(">hq", 1, 9) + b"\x00\x02hi" + struct.pack(">qq", 5, 6)


def test_a_group_key_is_kafkas_byte_for_byte() -> None:
    assert group_tombstone("g") == (b"\x00\x02" + b"\x00\x01g", None)


def test_an_empty_group_is_kafkas_byte_for_byte() -> None:
    _, value = group_record("g", StoredGroup(3, "consumer", None, None, 77))
    head = b"\x00\x03" + b"\x00\x08consumer" + struct.pack(">i", 3)
    assert value == head + b"\xff\xff" * 2 + struct.pack(">qi", 77, 0)


def test_a_member_is_kafkas_byte_for_byte() -> None:
    _, value = group_record("g", StoredGroup(4, "t", "p", "i-1", 77, (STATIC,)))
    head = b"\x00\x03" + b"\x00\x01t" + struct.pack(">i", 4) + b"\x00\x01p" + b"\x00\x03i-1"
    names = b"\x00\x03i-1" + b"\x00\x01i" + b"\x00\x01c" + b"\x00\x02/h"
    timeouts = struct.pack(">ii", 300_000, 45_000)
    payload = struct.pack(">i", 3) + b"sub" + struct.pack(">i", 8) + b"assigned"
    assert value == head + struct.pack(">qi", 77, 1) + names + timeouts + payload


@pytest.mark.parametrize(
    "committed",
    [
        CommittedOffset(9),
        CommittedOffset(9, 2, "hé", 5, topic_id=UUID(int=7)),
        CommittedOffset(0, -1, "", 0, expire_timestamp_ms=0),
    ],
    ids=str,
)
def test_an_offset_is_read_back_as_it_was_written(committed: CommittedOffset) -> None:
    record = offset_record("g", ORDERS, committed)
    assert offset_of(*record) == (("g", ORDERS), committed)


@pytest.mark.parametrize("stored", [GROUP, StoredGroup(0, None, None, None, -1)])
def test_a_group_is_read_back_as_it_was_written(stored: StoredGroup) -> None:
    assert decode_group(*group_record("g", stored)) == GroupRecord("g", stored)


def test_tombstones_are_read_back() -> None:
    assert offset_of(*offset_tombstone("g", ORDERS)) == (("g", ORDERS), None)
    assert decode_group(*group_tombstone("g")) == GroupRecord("g", None)


@pytest.mark.parametrize("key_version", [0, 1])
@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_offsets_of_all_versions_are_read(key_version: int, version: int) -> None:
    key = encode_versioned(OffsetCommitKey(group="g", topic="orders", partition=7), key_version)
    value = encode_versioned(OffsetCommitValue(offset=9, metadata="m", commit_timestamp=5), version)
    assert offset_of(key, value) == (("g", ORDERS), CommittedOffset(9, -1, "m", 5))


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_groups_of_all_versions_are_read(version: int) -> None:
    member = MemberMetadata(member_id="c-2", client_id="c", client_host="/h", session_timeout=9)
    value = GroupMetadataValue(
        protocol_type="consumer", generation=2, protocol="range", leader="c-2", members=[member]
    )
    key, _ = group_tombstone("g")
    decoded = decode_group(key, encode_versioned(value, version))
    expected = StoredMember("c-2", None, "c", "/h", 9, 9, b"", b"")
    assert decoded == GroupRecord("g", StoredGroup(2, "consumer", "range", "c-2", -1, (expected,)))


@pytest.mark.parametrize("version", [-1, 3, 21])
def test_records_of_an_unknown_kind_are_skipped(version: int) -> None:
    key = struct.pack(">h", version) + b"whatever"
    assert decode_place(key) is None
    assert decode_group(key, b"") is None


@pytest.mark.parametrize("key", [b"", b"\x00", b"\x00\x01\x00\x05g", b"\x00\x01\x00\x01g!"])
def test_a_broken_key_of_an_offset_is_an_error(key: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_place(key)


def test_a_broken_key_of_a_group_is_an_error() -> None:
    with pytest.raises(DecodeError):
        decode_group(b"\x00\x02\x00\x01g!", None)


def test_a_value_of_an_unknown_version_is_an_error() -> None:
    key, _ = group_tombstone("g")
    with pytest.raises(KafkaError) as raised:
        decode_group(key, b"\x00\x09")
    assert raised.value.code is ErrorCode.UNSUPPORTED_VERSION
