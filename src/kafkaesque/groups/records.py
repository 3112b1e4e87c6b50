"""Groups and offsets as records of `__consumer_offsets`, in Kafka's own formats.

    key v1: group, topic, partition   value v4: offset, leader epoch, metadata, time, topic id
                                      (v1 for a commit with a time of its own to expire at)
    key v2: group                     value v3: generation, protocol, leader, members

The version of the key says what the record is; what is not known here is skipped, as Kafka does it.
A null value is a tombstone. These versions are written; all that Kafka has ever written are read.
An offset of a transaction is a record like any other: its batch says whose it is, and a control
batch that follows says how the transaction ended.

Above: table.py, committed.py, the broker's coordinator. Below: protocol/messages/internal.py, the
declarations.
"""

import struct
from dataclasses import dataclass
from typing import TypeAlias

from kafkaesque.groups.events import StoredGroup, StoredMember
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.protocol.messages.internal import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
    decode_versioned,
    encode_versioned,
    version_of,
)
from kafkaesque.types import Buffer, TopicPartition

StoredRecord: TypeAlias = tuple[bytes, bytes]
Tombstone: TypeAlias = tuple[bytes, None]

OFFSET_KEY_VERSIONS = (0, 1)
OFFSET_KEY_VERSION = 1
OFFSET_VALUE_VERSION = 4
EXPIRING_OFFSET_VALUE_VERSION = 1
GROUP_KEY_VERSION = 2
GROUP_VALUE_VERSION = 3

# Version 4 of an offset, without metadata and without a topic id: nearly all of them.
_USUAL_OFFSET = struct.Struct(">hqiBqB")
_USUAL = (OFFSET_VALUE_VERSION, 1, 0)


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """A group's state, or with None its end."""

    group_id: str
    stored: StoredGroup | None


def offset_record(
    group_id: str, partition: TopicPartition, committed: CommittedOffset
) -> StoredRecord:
    expires = committed.expire_timestamp_ms is not None
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_timestamp_ms,
        expire_timestamp=-1
        if committed.expire_timestamp_ms is None
        else committed.expire_timestamp_ms,
        topic_id=committed.topic_id,
    )
    version = EXPIRING_OFFSET_VALUE_VERSION if expires else OFFSET_VALUE_VERSION
    return _offset_key(group_id, partition), encode_versioned(value, version)


def offset_tombstone(group_id: str, partition: TopicPartition) -> Tombstone:
    return _offset_key(group_id, partition), None


def group_record(group_id: str, stored: StoredGroup) -> StoredRecord:
    value = GroupMetadataValue(
        protocol_type=stored.protocol_type or "",
        generation=stored.generation,
        protocol=stored.protocol_name,
        leader=stored.leader,
        current_state_timestamp=stored.state_since_ms,
        members=[_member_metadata(member) for member in stored.members],
    )
    return _group_key(group_id), encode_versioned(value, GROUP_VALUE_VERSION)


def group_tombstone(group_id: str) -> Tombstone:
    return _group_key(group_id), None


def decode_place(key: Buffer) -> tuple[str, TopicPartition] | None:
    """The group and the partition that a key is about; None if it is no offset's."""
    if version_of(key) not in OFFSET_KEY_VERSIONS:
        return None
    at = decode_versioned(OffsetCommitKey, key)
    return at.group, TopicPartition(at.topic, at.partition)


def decode_offset(data: Buffer) -> CommittedOffset:
    if len(data) == _USUAL_OFFSET.size:
        version, offset, epoch, metadata, timestamp_ms, tags = _USUAL_OFFSET.unpack(data)
        if (version, metadata, tags) == _USUAL:
            return CommittedOffset(offset, epoch, "", timestamp_ms)
    value = decode_versioned(OffsetCommitValue, data)
    return CommittedOffset(
        offset=value.offset,
        leader_epoch=value.leader_epoch,
        metadata=value.metadata,
        commit_timestamp_ms=value.commit_timestamp,
        expire_timestamp_ms=None if value.expire_timestamp == -1 else value.expire_timestamp,
        topic_id=value.topic_id,
    )


def decode_group(key: Buffer, value: Buffer | None) -> GroupRecord | None:
    """What a record says of a group; None if it is of a kind that is not known here."""
    if version_of(key) != GROUP_KEY_VERSION:
        return None
    group_id = decode_versioned(GroupMetadataKey, key).group
    return GroupRecord(group_id, None if value is None else _stored(value))


def _offset_key(group_id: str, partition: TopicPartition) -> bytes:
    key = OffsetCommitKey(group=group_id, topic=partition.topic, partition=partition.partition)
    return encode_versioned(key, OFFSET_KEY_VERSION)


def _group_key(group_id: str) -> bytes:
    return encode_versioned(GroupMetadataKey(group=group_id), GROUP_KEY_VERSION)


def _stored(data: Buffer) -> StoredGroup:
    value = decode_versioned(GroupMetadataValue, data)
    return StoredGroup(
        generation=value.generation,
        protocol_type=value.protocol_type or None,
        protocol_name=value.protocol,
        leader=value.leader,
        state_since_ms=value.current_state_timestamp,
        members=tuple(_stored_member(member) for member in value.members),
    )


def _member_metadata(member: StoredMember) -> MemberMetadata:
    return MemberMetadata(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout=member.rebalance_timeout_ms,
        session_timeout=member.session_timeout_ms,
        subscription=member.subscription,
        assignment=member.assignment,
    )


def _stored_member(member: MemberMetadata) -> StoredMember:
    """Version 0 has no rebalance timeout: the session timeout served as both."""
    timeout_ms = member.rebalance_timeout
    return StoredMember(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.session_timeout if timeout_ms == -1 else timeout_ms,
        session_timeout_ms=member.session_timeout,
        subscription=member.subscription,
        assignment=member.assignment,
    )
