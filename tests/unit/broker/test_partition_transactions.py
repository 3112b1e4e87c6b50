"""Which transactions of a partition are open, and how far readers of committed records may see."""

from collections.abc import Iterator
from itertools import combinations
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.broker import partition_transactions
from kafkaesque.broker.partition_transactions import (
    AbortedTransactions,
    PartitionTransactions,
    _Block,
)
from kafkaesque.records.batch import Record, new_batch, read_header
from kafkaesque.records.control import Marker, new_marker, read_marker
from kafkaesque.types import AbortedTransaction

NOW = 1_700_000_000_000


class Ledger:
    """A partition's log, without the bytes: two records to a batch, one to a marker."""

    def __init__(self) -> None:
        self.transactions = PartitionTransactions()
        self.end = 0

    def write(self, producer_id: int, transactional: bool = True) -> int:
        first = self.end
        batch = new_batch(
            [Record(first + i, NOW, None, b"v") for i in range(2)],
            base_offset=first,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=0,
            transactional=transactional,
        )
        self.transactions.appended(read_header(batch), NOW)
        self.end += 2
        return first

    def finish(self, producer_id: int, marker: Marker) -> int:
        self.transactions.ended(producer_id, marker, self.end)
        self.end += 1
        return self.end - 1

    def stable(self, high_watermark: int | None = None) -> int:
        visible = self.end if high_watermark is None else high_watermark
        return self.transactions.last_stable_offset(visible)


def test_readers_of_committed_records_stop_before_the_first_open_transaction() -> None:
    ledger = Ledger()
    ledger.write(1, transactional=False)
    assert ledger.stable() == 2
    ledger.write(7)
    ledger.write(8)
    assert ledger.stable() == 2
    ledger.finish(7, Marker.COMMIT)
    assert ledger.stable() == 4, "8 is still open"
    ledger.finish(8, Marker.COMMIT)
    assert ledger.stable() == ledger.end


def test_a_transaction_whose_end_is_not_visible_yet_is_still_open_to_readers() -> None:
    ledger = Ledger()
    first = ledger.write(7)
    marker = ledger.finish(7, Marker.COMMIT)
    assert ledger.stable(high_watermark=marker) == first
    assert ledger.stable(high_watermark=marker + 1) == marker + 1


def test_only_what_overlaps_is_named_as_aborted() -> None:
    ledger = Ledger()
    ledger.write(1)
    ledger.write(2)
    end_of_1 = ledger.finish(1, Marker.ABORT)
    end_of_2 = ledger.finish(2, Marker.ABORT)
    ledger.write(1)
    ledger.finish(1, Marker.COMMIT)
    first, second = AbortedTransaction(1, 0, end_of_1), AbortedTransaction(2, 2, end_of_2)
    assert ledger.transactions.aborted(0, 100) == [first, second]
    assert ledger.transactions.aborted(0, 2) == [first]
    assert ledger.transactions.aborted(end_of_1, end_of_1 + 1) == [first, second]
    assert ledger.transactions.aborted(end_of_2, 100) == [second]
    assert ledger.transactions.aborted(end_of_2 + 1, 100) == []


@patch.object(partition_transactions, "_FEW_BLOCKS", 2)
@patch.object(partition_transactions, "_BLOCK_SIZE", 3 * 24)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.booleans()), min_size=30, max_size=60),
    st.integers(0, 20),
)
def test_what_is_told_of_aborted_transactions_is_what_a_look_at_all_of_them_finds(
    steps: list[tuple[int, bool, bool]], start_of_log: int
) -> None:
    """However they overlap, over several blocks."""
    transactions, kept, opened = AbortedTransactions(), list[AbortedTransaction](), dict[int, int]()
    for offset, (producer_id, ends, _) in enumerate(steps):
        first = opened.setdefault(producer_id, offset)
        if ends:
            kept.append(AbortedTransaction(producer_id, first, offset))
            transactions.add(kept[-1])
            del opened[producer_id]
    removed = {offset for offset, (_, _, goes) in enumerate(steps) if goes}
    transactions.forget(removed)
    transactions.forget_before(start_of_log)
    kept = [t for t in kept if t.last_offset not in removed and t.last_offset >= start_of_log]
    assert len(transactions) == len(kept)
    for start, end in combinations(range(len(steps) + 2), 2):
        expected = [t for t in kept if t.last_offset >= start and t.first_offset < end]
        assert transactions.between(start, end) == expected
        few, edge = transactions.few_from(start, end)
        assert few == transactions.between(start, edge)
        assert edge == end or edge - 1 in {t.last_offset for t in few}
        assert start < edge <= end


def test_a_reader_of_a_few_records_looks_at_a_few_aborted_transactions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    transactions = AbortedTransactions()
    for first in range(0, 200_000, 2):
        transactions.add(AbortedTransaction(1, first, first + 1))
    transactions.add(AbortedTransaction(2, 100_000, 200_000))
    looked_into: list[_Block] = []
    look = _Block.transactions

    def counted(block: _Block) -> Iterator[AbortedTransaction]:
        looked_into.append(block)
        return look(block)

    monkeypatch.setattr(_Block, "transactions", counted)
    assert len(transactions.between(0, 100)) == 50
    assert len(transactions.between(150_000, 150_100)) == 51
    assert len(looked_into) < 6


def test_what_lies_before_the_start_of_the_log_is_forgotten() -> None:
    ledger = Ledger()
    for _ in range(3):
        ledger.write(1)
        ledger.finish(1, Marker.ABORT)
    ledger.transactions.forget_before(6)
    assert ledger.transactions.aborted(0, 100) == [AbortedTransaction(1, 6, 8)]


class LookedThrough(list[int]):
    """A list that is asked whether it has something is looked through."""

    def __contains__(self, value: object) -> bool:
        raise AssertionError("looked through for each transaction")


def test_many_are_forgotten_in_one_go() -> None:
    aborted = AbortedTransactions()
    for marker in range(1_000):
        aborted.add(AbortedTransaction(1, marker, marker))
    aborted.forget(LookedThrough(range(990)))
    assert [each.last_offset for each in aborted.between(0, 1_000)] == [*range(990, 1_000)]


def test_a_marker_for_nothing_changes_nothing() -> None:
    ledger = Ledger()
    ledger.finish(9, Marker.ABORT)
    assert ledger.stable() == ledger.end
    assert ledger.transactions.aborted(0, 100) == []


STEPS = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from(["write", "plain", "commit", "abort"])),
    max_size=40,
)


@given(STEPS, st.integers(0, 40))
def test_a_snapshot_and_the_rest_say_what_the_whole_says(
    steps: list[tuple[int, str]], cut: int
) -> None:
    whole, later = Ledger(), Ledger()
    for number, (producer_id, step) in enumerate(steps):
        if number == cut:
            snapshot = b"".join(whole.transactions.snapshot())
            later.transactions = PartitionTransactions.restore(snapshot)
        for ledger in (whole, later) if number >= cut else (whole,):
            if step in ("write", "plain"):
                ledger.write(producer_id, step == "write")
            else:
                ledger.finish(producer_id, Marker[step.upper()])
        later.end = whole.end
    if cut < len(steps):
        assert later.transactions.snapshot() == whole.transactions.snapshot()
        assert later.stable() == whole.stable()


@given(STEPS)
def test_no_reader_of_committed_records_sees_an_open_one(steps: list[tuple[int, str]]) -> None:
    ledger = Ledger()
    opened: dict[int, int] = {}
    for producer_id, step in steps:
        if step == "write":
            opened.setdefault(producer_id, ledger.write(producer_id))
        elif step != "plain":
            ledger.finish(producer_id, Marker[step.upper()])
            opened.pop(producer_id, None)
        assert ledger.stable() == min([ledger.end, *opened.values()])
        snapshot = b"".join(ledger.transactions.snapshot())
        for visible in range(ledger.end + 1):
            restored = PartitionTransactions.restore(snapshot)
            assert restored.last_stable_offset(visible) <= min([visible, *opened.values()])


def test_a_marker_reads_back() -> None:
    for marker in Marker:
        batch = new_marker(12, 7, 3, marker, NOW)
        header = read_header(batch)
        assert read_marker(batch) is marker
        assert (header.base_offset, header.producer_id, header.producer_epoch) == (12, 7, 3)
        assert header.is_control
        assert header.is_transactional
        assert header.base_sequence == -1


def test_a_control_batch_of_another_kind_is_no_marker() -> None:
    batch = new_batch([Record(0, NOW, b"\0\0\0\2", b"")], control=True)
    assert read_marker(batch) is None


def test_ends_that_are_visible_are_forgotten_though_nobody_reads() -> None:
    ledger = Ledger()
    for producer_id in range(100):
        ledger.write(producer_id)
        ledger.finish(producer_id, Marker.COMMIT)
    ledger.transactions.seen_to(ledger.end - 1)
    assert len(ledger.transactions._ending) == 1
    ledger.transactions.seen_to(ledger.end)
    assert not ledger.transactions._ending
