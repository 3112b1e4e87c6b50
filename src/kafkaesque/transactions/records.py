"""Transactions as records of `__transaction_state`, in Kafka's own format.

    key v0: transactional id   value v1: producer id and epoch, state, partitions, times
                               (tagged: producer ids before and after, how the producer ends)

A null value is a tombstone. Version 1 is written, as Kafka does since its tags are needed; version
0 is read, too. A key of another kind is skipped.

Above: table.py, the broker's coordinator. Below: protocol/messages/internal.py, the declarations.
"""

from dataclasses import dataclass
from typing import TypeAlias

from kafkaesque.errors import DecodeError
from kafkaesque.protocol.messages.internal import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
    decode_versioned,
    encode_versioned,
    version_of,
)
from kafkaesque.transactions.events import State, StoredTransaction
from kafkaesque.transactions.partitions import Partitions
from kafkaesque.types import Buffer

StoredRecord: TypeAlias = tuple[bytes, bytes]
Tombstone: TypeAlias = tuple[bytes, None]

KEY_VERSION = 0
VALUE_VERSION = 1

STATUSES = {
    State.EMPTY: 0,
    State.ONGOING: 1,
    State.PREPARE_COMMIT: 2,
    State.PREPARE_ABORT: 3,
    State.COMPLETE_COMMIT: 4,
    State.COMPLETE_ABORT: 5,
    State.DEAD: 6,
}
STATES = {status: state for state, status in STATUSES.items()}


@dataclass(frozen=True, slots=True)
class TransactionRecord:
    """A transactional id's state, or with None its end."""

    transactional_id: str
    stored: StoredTransaction | None


def transaction_record(transactional_id: str, stored: StoredTransaction) -> StoredRecord:
    value = TransactionLogValue(
        producer_id=stored.producer_id,
        previous_producer_id=stored.previous_producer_id,
        next_producer_id=stored.next_producer_id,
        producer_epoch=stored.producer_epoch,
        next_producer_epoch=stored.next_producer_epoch,
        transaction_timeout_ms=stored.timeout_ms,
        transaction_status=STATUSES[stored.state],
        transaction_partitions=(
            None if stored.state is State.EMPTY else _by_topic(stored.partitions)
        ),
        transaction_last_update_timestamp_ms=stored.updated_ms,
        transaction_start_timestamp_ms=stored.started_ms,
        client_transaction_version=stored.client_transaction_version,
    )
    return key_of(transactional_id), encode_versioned(value, VALUE_VERSION)


def tombstone(transactional_id: str) -> Tombstone:
    return key_of(transactional_id), None


def decode(key: Buffer, value: Buffer | None) -> TransactionRecord | None:
    """What a record says; None if it is of a kind that is not known here."""
    if version_of(key) != KEY_VERSION:
        return None
    transactional_id = decode_versioned(TransactionLogKey, key).transactional_id
    return TransactionRecord(transactional_id, None if value is None else _stored(value))


def key_of(transactional_id: str) -> bytes:
    return encode_versioned(TransactionLogKey(transactional_id=transactional_id), KEY_VERSION)


def _by_topic(partitions: Partitions) -> list[PartitionsSchema]:
    topics = partitions.topics
    return [
        PartitionsSchema(topic=name, partition_ids=sorted(topics[name])) for name in sorted(topics)
    ]


def _stored(data: Buffer) -> StoredTransaction:
    value = decode_versioned(TransactionLogValue, data)
    state = STATES.get(value.transaction_status)
    if state is None:
        raise DecodeError(f"a transaction of unknown status {value.transaction_status}")
    return StoredTransaction(
        state=state,
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        updated_ms=value.transaction_last_update_timestamp_ms,
        started_ms=value.transaction_start_timestamp_ms,
        partitions=Partitions.by_topic(
            {it.topic: set(it.partition_ids) for it in value.transaction_partitions or ()}
        ),
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        next_producer_epoch=value.next_producer_epoch,
        client_transaction_version=value.client_transaction_version,
    )
