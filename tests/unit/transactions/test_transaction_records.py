"""Transactions as records: round trips, and what Kafka writes."""

import struct

import pytest
from tests.unit.transactions.driver import P0, P1, REFUNDS

from kafkaesque.errors import DecodeError, ErrorCode, KafkaError
from kafkaesque.protocol.messages.internal import (
    PartitionsSchema,
    TransactionLogValue,
    decode_versioned,
    encode_versioned,
    version_of,
)
from kafkaesque.transactions.events import State, StoredTransaction
from kafkaesque.transactions.partitions import Partitions
from kafkaesque.transactions.records import (
    TransactionRecord,
    decode,
    tombstone,
    transaction_record,
)

FULL = StoredTransaction(
    state=State.PREPARE_COMMIT,
    producer_id=2**40,
    producer_epoch=32767,
    timeout_ms=60_000,
    updated_ms=1_700_000_000_123,
    started_ms=1_700_000_000_000,
    partitions=Partitions({P0, P1, REFUNDS}),
    previous_producer_id=7,
    next_producer_id=2**40 + 1,
    next_producer_epoch=3,
    client_transaction_version=2,
)


def test_all_fields_come_back() -> None:
    assert decode(*transaction_record("t", FULL)) == TransactionRecord("t", FULL)


@pytest.mark.parametrize("state", State)
def test_every_state_comes_back(state: State) -> None:
    partitions = () if state is State.EMPTY else (P0, REFUNDS)
    stored = StoredTransaction(state, 1, 2, 3, 4, 5, Partitions(partitions))
    assert decode(*transaction_record("t", stored)) == TransactionRecord("t", stored)


def test_the_statuses_are_kafkas() -> None:
    statuses = []
    for state in State:
        _, value = transaction_record("t", StoredTransaction(state, 1, 2, 3, 4))
        statuses.append(decode_versioned(TransactionLogValue, value).transaction_status)
    assert statuses == [0, 1, 2, 3, 4, 5, 6]


def test_the_record_is_kafkas_byte_by_byte() -> None:
    """Version 1, flexible; the tags only if they say something."""
    stored = StoredTransaction(
        State.ONGOING, 5, 1, 60_000, 300, 200, Partitions({P1, P0}), previous_producer_id=4
    )
    key, value = transaction_record("tx", stored)
    assert key == b"\x00\x00" + b"\x00\x02tx"
    assert value == (
        b"\x00\x01"
        + struct.pack(">qhib", 5, 1, 60_000, 1)
        + b"\x02\x07orders\x03"
        + struct.pack(">ii", 0, 1)
        + b"\x00"
        + struct.pack(">qq", 300, 200)
        + b"\x01\x00\x08"
        + struct.pack(">q", 4)
    )


def test_an_empty_one_has_no_list_of_partitions() -> None:
    _, value = transaction_record("t", StoredTransaction(State.EMPTY, 1, 0, 3, 4))
    assert version_of(value) == 1
    assert decode_versioned(TransactionLogValue, value).transaction_partitions is None


def test_version_0_is_read() -> None:
    value = TransactionLogValue(
        producer_id=1,
        producer_epoch=2,
        transaction_timeout_ms=3,
        transaction_status=1,
        transaction_partitions=[PartitionsSchema(topic="orders", partition_ids=[1])],
        transaction_last_update_timestamp_ms=5,
        transaction_start_timestamp_ms=4,
    )
    key, _ = tombstone("t")
    stored = StoredTransaction(State.ONGOING, 1, 2, 3, 5, 4, Partitions({P1}))
    assert decode(key, encode_versioned(value, 0)) == TransactionRecord("t", stored)


def test_a_tombstone_has_no_value() -> None:
    key, value = tombstone("t")
    assert key == transaction_record("t", FULL)[0]
    assert decode(key, value) == TransactionRecord("t", None)


@pytest.mark.parametrize("version", [-1, 1, 21])
def test_records_of_an_unknown_kind_are_skipped(version: int) -> None:
    assert decode(struct.pack(">h", version) + b"whatever", b"") is None


@pytest.mark.parametrize("key", [b"", b"\x00", b"\x00\x00\x00\x05t", b"\x00\x00\x00\x01t!"])
def test_a_broken_key_is_an_error(key: bytes) -> None:
    with pytest.raises(DecodeError):
        decode(key, None)


def test_a_value_of_an_unknown_version_is_an_error() -> None:
    key, _ = tombstone("t")
    with pytest.raises(KafkaError) as raised:
        decode(key, b"\x00\x09")
    assert raised.value.code is ErrorCode.UNSUPPORTED_VERSION


def test_an_unknown_status_is_an_error() -> None:
    key, _ = tombstone("t")
    value = encode_versioned(TransactionLogValue(transaction_status=7), 1)
    with pytest.raises(DecodeError):
        decode(key, value)
