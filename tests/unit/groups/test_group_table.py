"""All groups and offsets: replay, snapshot, tombstones."""

from itertools import count

from tests.unit.groups.driver import Driver

from kafkaesque.groups.events import Delete, State, StoredGroup
from kafkaesque.groups.group import GroupConfig
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
RETENTION_MS = 1_000
NOW = 1_000_000


def new_table() -> GroupTable:
    ids = count(1)
    return GroupTable(GroupConfig(initial_rebalance_delay_ms=0), lambda: str(next(ids)))


def replayed(*records: tuple[bytes, bytes | None]) -> GroupTable:
    table = new_table()
    for key, value in records:
        table.replay(key, value)
    table.finish_replay(NOW)
    return table


def snapshot(table: GroupTable) -> list[tuple[bytes, bytes]]:
    """Of all groups, one by one, as the coordinator takes it."""
    return [record for group_id in table.group_ids() for record in table.snapshot(group_id)]


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


def test_offsets_alone_make_a_group() -> None:
    table = replayed(offset_record("g", ORDERS, CommittedOffset(5)))
    group = table.group("g")
    assert group is not None
    assert (group.state, group.protocol_type) == (State.EMPTY, None)
    assert table.group("h") is None


def test_member_ids_are_made_by_the_function_that_was_passed_in() -> None:
    driver = Driver(new_table().create("g", NOW))
    assert driver.join(client_id="c").member_id == "c-1"


def test_a_snapshot_replays_to_the_same_state() -> None:
    records = [
        group_record("g", stable_group()),
        offset_record("g", ORDERS, CommittedOffset(5, 1, "m", 2)),
        offset_record("simple", REFUNDS, CommittedOffset(7)),
    ]
    table = replayed(*records)
    assert snapshot(table) == records


def test_a_snapshot_of_a_rebalancing_group_has_what_was_last_stored() -> None:
    stored = stable_group()
    table = replayed(group_record("g", stored))
    driver = Driver(table.groups["g"])
    driver.send_join(client_id="newcomer")
    assert driver.state() is State.PREPARING_REBALANCE
    assert snapshot(table) == [group_record("g", stored)]


def test_a_snapshot_is_of_one_group_and_of_no_other() -> None:
    table = replayed(
        offset_record("g", ORDERS, CommittedOffset(5)),
        offset_record("h", ORDERS, CommittedOffset(6)),
    )
    assert list(table.snapshot("h")) == [offset_record("h", ORDERS, CommittedOffset(6))]
    assert list(table.snapshot("unknown")) == []


def test_a_snapshot_leaves_out_groups_that_were_never_stored() -> None:
    table = new_table()
    table.create("g", NOW)
    assert snapshot(table) == []


def test_a_snapshot_has_commits_on_their_way_for_their_records_may_be_dropped() -> None:
    table = new_table()
    table.create("g", NOW)
    table.offsets.load("g", ORDERS, CommittedOffset(5))
    table.offsets.stage("g", {ORDERS: CommittedOffset(6), REFUNDS: CommittedOffset(1)})
    assert snapshot(table) == [
        offset_record("g", ORDERS, CommittedOffset(6)),
        offset_record("g", REFUNDS, CommittedOffset(1)),
    ]


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
    table.offsets.load("committed", ORDERS, CommittedOffset(1))
    for group_id in list(table.groups):
        table.discard_vacant(group_id)
    assert set(table.groups) == {"joined", "told", "committed"}


def test_removing_a_group_writes_tombstones_for_it_and_its_offsets() -> None:
    empty = StoredGroup(3, "consumer", None, None, NOW)
    table = replayed(group_record("g", empty), offset_record("g", ORDERS, CommittedOffset(5)))
    table.offsets.stage("g", {REFUNDS: CommittedOffset(1)})
    table.groups["g"].handle(Delete(1), NOW)
    assert table.remove("g") == [
        offset_tombstone("g", ORDERS),
        offset_tombstone("g", REFUNDS),
        group_tombstone("g"),
    ]
    assert table.group("g") is None


def test_a_group_that_was_never_stored_needs_no_tombstone() -> None:
    table = replayed(offset_record("g", ORDERS, CommittedOffset(5)))
    assert table.remove("g") == [offset_tombstone("g", ORDERS)]


def test_deleting_a_topic_writes_tombstones_for_all_groups() -> None:
    table = replayed(
        offset_record("g", ORDERS, CommittedOffset(5)),
        offset_record("g", REFUNDS, CommittedOffset(5)),
        offset_record("h", ORDERS, CommittedOffset(5)),
    )
    assert table.delete_topic("orders") == [
        offset_tombstone("g", ORDERS),
        offset_tombstone("h", ORDERS),
    ]


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
    assert table.expire(NOW + RETENTION_MS - 1, RETENTION_MS) == []
    assert table.expire(NOW + RETENTION_MS, RETENTION_MS) == [
        offset_tombstone("g", ORDERS),
        group_tombstone("g"),
    ]
    assert not table.groups


def test_an_empty_group_with_an_offset_left_stays() -> None:
    table = replayed(
        offset_record("g", ORDERS, CommittedOffset(5, commit_timestamp_ms=0)),
        offset_record("g", REFUNDS, CommittedOffset(5, commit_timestamp_ms=NOW)),
    )
    assert table.expire(NOW, RETENTION_MS) == [offset_tombstone("g", ORDERS)]
    assert "g" in table.groups


def test_groups_with_members_or_with_a_commit_on_its_way_stay() -> None:
    table = replayed(group_record("g", stable_group()))
    table.create("h", NOW)
    table.offsets.stage("h", {ORDERS: CommittedOffset(1)})
    assert table.expire(NOW + RETENTION_MS, RETENTION_MS) == []
    assert set(table.groups) == {"g", "h"}
