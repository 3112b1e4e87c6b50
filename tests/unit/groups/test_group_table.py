"""All groups and offsets: replay, and groups that come and go."""

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
from kafkaesque.types import Moment, TopicPartition

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


def test_a_group_that_is_removed_is_gone() -> None:
    table = replayed(group_record("g", StoredGroup(3, "consumer", None, None, NOW)))
    table.groups["g"].handle(Delete(1), Moment(NOW, NOW))
    table.remove("g", NOW)
    assert table.group("g") is None


def test_offsets_written_after_a_groups_tombstone_make_a_new_group() -> None:
    table = replayed(group_record("g", StoredGroup(3, "consumer", None, None, NOW)))
    dead = table.groups["g"]
    dead.handle(Delete(1), Moment(NOW, NOW))
    table.offsets.stage("g", {ORDERS: encoded(1)}, at=2)
    table.remove("g", NOW)
    assert table.groups["g"] is not dead
    assert table.groups["g"].state is State.EMPTY
