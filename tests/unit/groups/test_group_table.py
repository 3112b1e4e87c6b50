"""All groups and offsets: replay and tombstones."""

import pytest
from tests.unit.groups import logs
from tests.unit.groups.driver import Driver
from tests.unit.groups.logs import NOW, new_table

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.groups.events import Delete, State, StoredGroup
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.groups.records import (
    group_record,
    group_tombstone,
    offset_record,
    offset_tombstone,
)
from kafkaesque.groups.table import GroupTable
from kafkaesque.types import TopicPartition

ORDERS = TopicPartition("orders", 0)
REFUNDS = TopicPartition("refunds", 0)
LATER = TopicPartition("later", 0)
RETENTION_MS = 1_000


def replayed(*records: tuple[bytes, bytes | None]) -> GroupTable:
    return logs.replayed(logs.batch(0, records))


def encoded(offset: int) -> bytes:
    return offset_record("", ORDERS, CommittedOffset(offset))[1]


def stable_group() -> StoredGroup:
    driver = Driver()
    driver.stable("a", "b")
    return driver.stored[-1]


def test_a_replay_brings_groups_and_offsets_back() -> None:
    stored = stable_group()
    table = replayed(
        group_record("g", stored),
        offset_record("g", ORDERS, CommittedOffset(5)),
        offset_record("g", ORDERS, CommittedOffset(6)),
    )
    group = table.group("g")
    assert group is not None
    assert (group.state, group.generation) == (State.STABLE, stored.generation)
    assert table.offsets.fetch("g", ORDERS) == CommittedOffset(6)


def test_tombstones_undo_what_came_before_them() -> None:
    table = replayed(
        group_record("g", stable_group()),
        offset_record("g", ORDERS, CommittedOffset(5)),
        offset_tombstone("g", ORDERS),
        group_tombstone("g"),
        group_tombstone("never there"),
        offset_tombstone("never there", ORDERS),
    )
    assert not table.groups
    assert not table.offsets.has("g")


def test_records_of_an_unknown_kind_are_passed_over() -> None:
    assert not replayed((b"\x00\x03\x00\x01g", b"")).groups


def test_offsets_of_an_unknown_version_are_refused() -> None:
    key, _ = offset_tombstone("g", ORDERS)
    with pytest.raises(KafkaError) as refused:
        replayed((key, b"\x00\x09"))
    assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION


def test_offsets_alone_make_a_group() -> None:
    table = replayed(offset_record("g", ORDERS, CommittedOffset(5)))
    group = table.group("g")
    assert group is not None
    assert (group.state, group.protocol_type) == (State.EMPTY, None)
    assert table.group("h") is None


def test_member_ids_are_made_by_the_function_that_was_passed_in() -> None:
    driver = Driver(new_table().create("g", NOW))
    assert driver.join(client_id="c").member_id == "c-1"


def test_a_group_that_nothing_came_of_is_not_kept() -> None:
    table = new_table()
    table.create("refused", NOW)
    table.discard_vacant("refused")
    table.discard_vacant("unknown")
    assert not table.groups


def test_a_group_that_something_came_of_is_kept() -> None:
    table = new_table()
    Driver(table.create("joined", NOW)).join()
    Driver(table.create("told", NOW)).join(require_known_member_id=True)
    table.create("committed", NOW)
    table.offsets.load("committed", ORDERS, encoded(1))
    for group_id in list(table.groups):
        table.discard_vacant(group_id)
    assert set(table.groups) == {"joined", "told", "committed"}


def test_removing_a_group_writes_tombstones_for_it_and_its_offsets() -> None:
    empty = StoredGroup(3, "consumer", None, None, NOW)
    table = replayed(group_record("g", empty), offset_record("g", ORDERS, CommittedOffset(5)))
    table.offsets.stage("g", {REFUNDS: encoded(1)}, at=2)
    table.offsets.stage("g", {LATER: encoded(1)}, at=3, producer_id=7)
    table.groups["g"].handle(Delete(1), NOW)
    assert table.remove("g") == [
        offset_tombstone("g", LATER),
        offset_tombstone("g", ORDERS),
        offset_tombstone("g", REFUNDS),
        group_tombstone("g"),
    ]
    table.offsets.end_transaction(7, before=9, commit=True)
    assert not table.offsets.has("g")
    assert table.group("g") is None


def test_a_group_that_was_never_stored_needs_no_tombstone() -> None:
    table = replayed(offset_record("g", ORDERS, CommittedOffset(5)))
    assert table.remove("g") == [offset_tombstone("g", ORDERS)]


def test_deleting_a_topic_writes_tombstones_group_by_group() -> None:
    table = replayed(
        offset_record("g", ORDERS, CommittedOffset(5)),
        offset_record("g", REFUNDS, CommittedOffset(5)),
        offset_record("h", ORDERS, CommittedOffset(5)),
    )
    assert table.delete_topic("g", "orders") == [offset_tombstone("g", ORDERS)]
    assert table.delete_topic("h", "orders") == [offset_tombstone("h", ORDERS)]
    assert table.delete_topic("h", "orders") == []
    assert table.offsets.partitions("g") == [REFUNDS]
    assert not table.offsets.has("h")


def test_deleting_offsets_writes_tombstones_for_those_that_were_there() -> None:
    table = replayed(offset_record("g", ORDERS, CommittedOffset(5)))
    assert table.delete_offsets("g", [ORDERS, REFUNDS]) == [offset_tombstone("g", ORDERS)]
    assert table.delete_offsets("g", [ORDERS]) == []


def test_expired_offsets_take_the_empty_group_with_them() -> None:
    empty = StoredGroup(3, "consumer", None, None, NOW)
    table = replayed(
        group_record("g", empty),
        offset_record("g", ORDERS, CommittedOffset(5)),
    )
    assert table.expire("g", NOW + RETENTION_MS - 1, RETENTION_MS) == []
    assert table.expire("g", NOW + RETENTION_MS, RETENTION_MS) == [
        offset_tombstone("g", ORDERS),
        group_tombstone("g"),
    ]
    assert not table.groups


def test_an_empty_group_with_an_offset_left_stays() -> None:
    table = replayed(
        offset_record("g", ORDERS, CommittedOffset(5, commit_timestamp_ms=0)),
        offset_record("g", REFUNDS, CommittedOffset(5, commit_timestamp_ms=NOW)),
    )
    assert table.expire("g", NOW, RETENTION_MS) == [offset_tombstone("g", ORDERS)]
    assert "g" in table.groups


def test_groups_with_members_or_with_a_commit_on_its_way_stay() -> None:
    table = replayed(group_record("g", stable_group()))
    for group_id, producer_id in (("plain", None), ("transactional", 7)):
        table.create(group_id, NOW)
        table.offsets.stage(group_id, {ORDERS: encoded(1)}, at=1, producer_id=producer_id)
    for group_id in ("g", "plain", "transactional", "unknown"):
        assert table.expire(group_id, NOW + RETENTION_MS, RETENTION_MS) == []
    assert set(table.groups) == {"g", "plain", "transactional"}


def test_a_group_expires_once_the_transaction_that_kept_it_is_aborted() -> None:
    table = new_table()
    table.create("g", NOW)
    table.offsets.stage("g", {ORDERS: encoded(1)}, at=1, producer_id=7)
    assert table.offsets.end_transaction(7, before=2, commit=False) == {"g"}
    assert table.expire("g", NOW, RETENTION_MS) == []
    assert not table.groups
