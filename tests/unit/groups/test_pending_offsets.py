"""Offsets that are committed in transactions: pending, decided, overtaken, deleted, replayed."""

import pytest
from tests.unit.groups.logs import batch, marker, replayed

from kafkaesque.groups.committed import Offsets
from kafkaesque.groups.events import StoredGroup
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.groups.records import (
    group_record,
    group_tombstone,
    offset_record,
    offset_tombstone,
)
from kafkaesque.types import TopicPartition

ORDERS = TopicPartition("orders", 0)
REFUNDS = TopicPartition("refunds", 0)
A, B = 100, 200


def encoded(offset: int) -> bytes:
    return offset_record("", ORDERS, CommittedOffset(offset))[1]


def fetched(offsets: Offsets, partition: TopicPartition = ORDERS) -> int | None:
    committed = offsets.fetch("g", partition)
    return None if committed is None else committed.offset


@pytest.fixture
def offsets() -> Offsets:
    """Offset 1 is committed, and producer A's transaction is about to make it 5."""
    offsets = Offsets()
    offsets.load("g", ORDERS, encoded(1))
    offsets.stage("g", {ORDERS: encoded(5)}, at=10, producer_id=A)
    return offsets


def test_a_pending_offset_is_not_seen_and_told_of(offsets: Offsets) -> None:
    assert fetched(offsets) == 1
    assert offsets.is_pending("g", ORDERS)
    assert not offsets.is_pending("g", REFUNDS)
    assert not offsets.is_pending("h", ORDERS)


def test_a_plain_commit_on_its_way_is_not_pending() -> None:
    offsets = Offsets()
    offsets.stage("g", {ORDERS: encoded(5)}, at=10)
    assert offsets.is_staged("g", ORDERS)
    assert not offsets.is_pending("g", ORDERS)


@pytest.mark.parametrize(("commit", "expected"), [(True, 5), (False, 1)])
def test_the_end_of_the_transaction_decides(offsets: Offsets, commit: bool, expected: int) -> None:
    assert offsets.end_transaction(A, before=20, commit=commit) == {"g"}
    assert fetched(offsets) == expected
    assert not offsets.is_pending("g", ORDERS)
    assert offsets.are_decided


def test_the_end_of_another_transaction_decides_nothing(offsets: Offsets) -> None:
    assert offsets.end_transaction(B, before=20, commit=True) == set()
    assert offsets.is_pending("g", ORDERS)


def test_a_marker_is_not_about_what_comes_after_it(offsets: Offsets) -> None:
    offsets.stage("g", {REFUNDS: encoded(7)}, at=30, producer_id=A)
    offsets.end_transaction(A, before=20, commit=True)
    assert fetched(offsets) == 5
    assert fetched(offsets, REFUNDS) is None
    assert offsets.is_pending("g", REFUNDS)


def test_within_a_transaction_the_last_write_counts(offsets: Offsets) -> None:
    offsets.stage("g", {ORDERS: encoded(6)}, at=11, producer_id=A)
    offsets.end_transaction(A, before=20, commit=True)
    assert fetched(offsets) == 6


def test_a_write_that_fails_leaves_the_one_before_it(offsets: Offsets) -> None:
    lost = offsets.stage("g", {ORDERS: encoded(6)}, at=11, producer_id=A)
    offsets.abandon(lost)
    assert offsets.is_pending("g", ORDERS)
    offsets.end_transaction(A, before=20, commit=True)
    assert fetched(offsets) == 5


def test_one_transaction_may_be_about_several_groups(offsets: Offsets) -> None:
    offsets.stage("h", {ORDERS: encoded(8)}, at=11, producer_id=A)
    assert offsets.end_transaction(A, before=20, commit=True) == {"g", "h"}
    assert offsets.fetch("h", ORDERS) == CommittedOffset(8)


@pytest.mark.parametrize("commit", [True, False])
def test_a_later_plain_commit_wins_however_the_transaction_ends(
    offsets: Offsets, commit: bool
) -> None:
    offsets.commit(offsets.stage("g", {ORDERS: encoded(9)}, at=15))
    assert not offsets.is_pending("g", ORDERS)
    offsets.end_transaction(A, before=20, commit=commit)
    assert fetched(offsets) == 9


def test_an_earlier_plain_commit_that_is_durable_late_does_not_win() -> None:
    offsets = Offsets()
    plain = offsets.stage("g", {ORDERS: encoded(9)}, at=5)
    offsets.stage("g", {ORDERS: encoded(5)}, at=10, producer_id=A)
    offsets.commit(plain)
    assert fetched(offsets) == 9
    assert offsets.is_pending("g", ORDERS)
    offsets.end_transaction(A, before=20, commit=True)
    assert fetched(offsets) == 5


@pytest.mark.parametrize("order", [(A, B), (B, A)])
def test_of_two_transactions_the_later_record_wins(
    offsets: Offsets, order: tuple[int, int]
) -> None:
    offsets.stage("g", {ORDERS: encoded(7)}, at=11, producer_id=B)
    for producer_id in order:
        offsets.end_transaction(producer_id, before=20, commit=True)
    assert fetched(offsets) == 7


def test_of_two_transactions_the_later_one_does_not_count_if_it_is_aborted(
    offsets: Offsets,
) -> None:
    offsets.stage("g", {ORDERS: encoded(7)}, at=11, producer_id=B)
    offsets.end_transaction(B, before=20, commit=False)
    offsets.end_transaction(A, before=21, commit=True)
    assert fetched(offsets) == 5


def test_a_delete_takes_pending_offsets_with_it(offsets: Offsets) -> None:
    offsets.commit(offsets.stage("g", {ORDERS: None}, at=15))
    assert not offsets.has("g")
    offsets.end_transaction(A, before=20, commit=True)
    assert fetched(offsets) is None


@pytest.mark.parametrize("commit", [True, False])
def test_a_delete_on_its_way_leaves_pending_offsets_to_their_transaction(
    offsets: Offsets, commit: bool
) -> None:
    deletion = offsets.stage("g", {ORDERS: None}, at=15)
    assert offsets.is_pending("g", ORDERS)
    offsets.end_transaction(A, before=20, commit=commit)
    assert fetched(offsets) == (5 if commit else 1)
    offsets.commit(deletion)
    assert fetched(offsets) is None


def test_a_partition_that_is_pending_alone_needs_a_tombstone_too() -> None:
    offsets = Offsets()
    offsets.stage("g", {ORDERS: encoded(5)}, at=10, producer_id=A)
    assert offsets.known("g", "orders") == {ORDERS}


def test_a_replay_keeps_offsets_pending_until_their_marker() -> None:
    table = replayed(
        batch(0, [offset_record("g", ORDERS, CommittedOffset(5))], producer_id=A),
        batch(1, [offset_record("h", ORDERS, CommittedOffset(6))], producer_id=B),
        batch(2, [offset_record("i", ORDERS, CommittedOffset(7))], producer_id=B + 1),
        marker(3, A, commit=True),
        marker(4, B, commit=False),
    )
    assert table.offsets.fetch("g", ORDERS) == CommittedOffset(5)
    assert not table.offsets.has("h")
    assert table.offsets.is_pending("i", ORDERS)
    assert set(table.groups) == {"g", "i"}


def test_a_replay_goes_by_the_order_of_records() -> None:
    table = replayed(
        batch(0, [offset_record("g", ORDERS, CommittedOffset(5))], producer_id=A),
        batch(
            1,
            [
                offset_record("g", ORDERS, CommittedOffset(6)),
                offset_record("g", REFUNDS, CommittedOffset(6)),
                offset_tombstone("g", REFUNDS),
            ],
        ),
        marker(4, A, commit=True),
        batch(5, [offset_record("g", REFUNDS, CommittedOffset(9))]),
    )
    assert table.offsets.of_group("g") == {ORDERS: CommittedOffset(6), REFUNDS: CommittedOffset(9)}


def test_a_replayed_tombstone_beside_a_transaction_ends_committed_and_pending_offsets() -> None:
    table = replayed(
        batch(0, [offset_record("g", ORDERS, CommittedOffset(1))]),
        batch(1, [offset_record("g", ORDERS, CommittedOffset(5))], producer_id=A),
        batch(2, [offset_tombstone("g", ORDERS)]),
        marker(3, A, commit=True),
        batch(4, [offset_record("g", REFUNDS, CommittedOffset(2))]),
    )
    assert table.offsets.partitions("g") == [REFUNDS]


def test_offsets_are_replayed_where_a_tombstone_had_emptied_their_topic() -> None:
    table = replayed(
        batch(0, [offset_record("g", ORDERS, CommittedOffset(1))]),
        batch(1, [offset_record("h", ORDERS, CommittedOffset(5))], producer_id=A),
        batch(2, [offset_tombstone("g", ORDERS)]),
        marker(3, A, commit=True),
        batch(4, [offset_record("g", ORDERS, CommittedOffset(2))]),
    )
    assert table.offsets.fetch("g", ORDERS) == CommittedOffset(2)


def test_groups_in_a_transactions_batch_are_replayed_too() -> None:
    stored = StoredGroup(3, "consumer", None, None, 0)
    table = replayed(
        batch(0, [group_record("g", stored), group_record("h", stored)], producer_id=A),
        batch(2, [group_tombstone("h")], producer_id=A),
    )
    assert set(table.groups) == {"g"}
