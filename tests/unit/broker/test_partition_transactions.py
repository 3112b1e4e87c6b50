"""Which transactions of a partition are open, and how far readers of committed records may see."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from operator import is_
from struct import iter_unpack
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.broker import partition_transactions
from kafkaesque.broker.partition_transactions import (
    LOOKS,
    AbortedTransactions,
    PartitionTransactions,
    _Block,
)
from kafkaesque.records.batch import Record, batches, new_batch, read_header
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
        packed = b"".join(transactions.packed_between(start, end))
        assert set(expected) <= set(map(AbortedTransaction._make, iter_unpack(">qqq", packed)))


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


class Written:
    """A log's bytes, and what was aborted in it."""

    def __init__(self, steps: list[tuple[int, str, int]]) -> None:
        self.log, self.starts = b"", list[tuple[int, int]]()
        self.aborted, self.told = list[AbortedTransaction](), AbortedTransactions()
        self.committed, opened, self.end = set[int](), dict[int, list[int]](), 0
        for producer_id, step, count in steps:
            written = range(self.end, self.end + count)
            if step == "write":
                opened.setdefault(producer_id, []).extend(written)
                self._append(_batch(producer_id, written), count)
            elif step == "plain":
                self.committed.update(written)
                self._append(_batch(-1, written), count)
            elif producer_id in opened:
                self._end(producer_id, opened.pop(producer_id), Marker[step.upper()])
        for producer_id, offsets in sorted(opened.items()):
            self._end(producer_id, offsets, Marker.ABORT)

    def _end(self, producer_id: int, offsets: Sequence[int], marker: Marker) -> None:
        if marker is Marker.ABORT:
            self.aborted.append(AbortedTransaction(producer_id, offsets[0], self.end))
            self.told.add(self.aborted[-1])
        else:
            self.committed.update(offsets)
        self._append(new_marker(self.end, producer_id, 0, marker, NOW), 1)

    def _append(self, batch: bytearray, count: int) -> None:
        self.starts += [(offset, len(self.log)) for offset in range(self.end, self.end + count)]
        self.log += batch
        self.end += count

    def read_from(self, start: int) -> bytes:
        """From the batch with that offset on."""
        return self.log[self.starts[start][1] :]


def _batch(producer_id: int, offsets: Sequence[int]) -> bytearray:
    return new_batch(
        [Record(offset, NOW, None, b"v") for offset in offsets],
        base_offset=offsets[0],
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        transactional=producer_id >= 0,
    )


def visible(sent: bytes, aborted: list[AbortedTransaction]) -> tuple[set[int], int]:
    """Offsets that a reader of one response does not hide, as Kafka's clients go about it, and
    where it goes on.
    """
    pending, hidden = sorted(aborted, key=lambda each: each.first_offset), set[int]()
    seen, following = set[int](), -1
    for position, header in batches(sent):
        while pending and pending[0].first_offset <= header.last_offset:
            hidden.add(pending.pop(0).producer_id)
        following = header.next_offset
        if header.is_control:
            if read_marker(sent[position:]) is Marker.ABORT:
                hidden.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in hidden):
            seen.update(range(header.base_offset, following))
    return seen, following


@patch.object(partition_transactions, "_BLOCK_SIZE", 3 * 24)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 6),
            st.sampled_from(["write", "write", "plain", "abort", "abort", "commit"]),
            st.integers(1, 3),
        ),
        min_size=10,
        max_size=60,
    ),
    st.data(),
)
def test_whoever_is_told_of_what_was_aborted_in_what_it_is_sent_sees_all_that_was_committed(
    steps: list[tuple[int, str, int]], data: st.DataObject
) -> None:
    """Wherever it begins to read, however much is read, and looked at, at a time."""
    written = Written(steps)
    if not written.end:
        return
    start = offset = data.draw(st.integers(0, written.end - 1))
    seen = set[int]()
    while offset < written.end:
        most = data.draw(st.integers(1, 400))
        read = b"".join(
            written.read_from(offset)[at : at + header.size]
            for at, header in batches(written.read_from(offset))
            if at == 0 or at + header.size <= most
        )
        looks = data.draw(st.integers(1, 60))
        told = written.told.told(offset, read, looks)
        sent = read[: told.size]
        shown, following = visible(sent, told.aborted)
        assert following > offset
        assert len(told.aborted) <= max(1, -(-looks // 10))
        end = max(header.next_offset for _, header in batches(sent))
        ids = {header.producer_id for _, header in batches(sent) if header.is_transactional}
        assert told.aborted == [
            each
            for each in written.aborted
            if each.last_offset >= offset and each.first_offset < end and each.producer_id in ids
        ]
        seen |= {each for each in shown if each >= offset}
        offset = following
    assert seen == {each for each in written.committed if each >= start}


def test_what_is_no_batch_is_left_to_its_reader() -> None:
    written = Written([(1, "write", 1), (1, "abort", 1), (2, "write", 1), (2, "abort", 1)])
    for rubbish in (b"rubbish", bytes(100), b"\xff" * 100, b"\x7f" * 100):
        assert written.told.told(0, rubbish, 100).size == len(rubbish)
        first = written.log[: written.starts[1][1]]
        assert written.told.told(0, first + rubbish, 100) == written.told.told(0, first, 100)


def test_who_has_nothing_left_to_look_at_is_sent_what_needs_no_look() -> None:
    written = Written([(1, "write", 1), (1, "abort", 1), (1, "plain", 1), (1, "plain", 1)])
    assert written.told.told(0, written.log, 0).size == 0
    assert written.told.told(1, written.read_from(1), 0).size == 0
    assert written.told.told(2, written.read_from(2), 0).size == len(written.read_from(2))


def test_of_those_that_were_open_together_only_who_has_records_there_is_told() -> None:
    transactions, count = AbortedTransactions(), 10_000
    for number in range(count):
        transactions.add(AbortedTransaction(number, number, count + number))
    some = b"".join(_batch(number, [number]) for number in range(5_000, 8_000))
    told = transactions.told(5_000, some, LOOKS)
    assert 500 < len(told.aborted) <= 1_000
    assert [each.first_offset for each in told.aborted] == [
        header.base_offset for _, header in batches(some[: told.size])
    ]
    assert told.looks > LOOKS


def test_compaction_is_given_aborted_transactions_as_they_lie() -> None:
    transactions = AbortedTransactions()
    for first in range(0, 2_000, 2):
        transactions.add(AbortedTransaction(1, first, first + 1))
    _, *parts = transactions.snapshot()
    assert all(map(is_, transactions.packed_between(0, 2_000), parts))
    assert b"".join(transactions.packed_between(0, 2_000)) == b"".join(parts)


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


@given(STEPS, st.data())
def test_what_readers_may_see_is_what_a_look_at_all_transactions_says(
    steps: list[tuple[int, str]], data: st.DataObject
) -> None:
    """However far behind the end of the log the high watermark is."""
    ledger, opened, ended = Ledger(), dict[int, int](), list[tuple[int, int]]()
    visible = 0
    for producer_id, step in steps:
        if step in ("write", "plain"):
            first = ledger.write(producer_id, step == "write")
            if step == "write":
                opened.setdefault(producer_id, first)
        else:
            marker = ledger.finish(producer_id, Marker[step.upper()])
            if producer_id in opened:
                ended.append((opened.pop(producer_id), marker))
        visible = data.draw(st.integers(visible, ledger.end))
        unseen = [first for first, marker in ended if marker >= visible]
        assert ledger.stable(visible) == min([visible, *unseen, *opened.values()])


def test_the_ends_of_many_that_were_open_together_are_one_to_readers() -> None:
    ledger = Ledger()
    for producer_id in range(100):
        ledger.write(producer_id)
    for producer_id in reversed(range(100)):
        ledger.finish(producer_id, Marker.ABORT)
    assert len(ledger.transactions._ending) == 1
    assert ledger.stable(high_watermark=ledger.end - 1) == 0
    assert ledger.stable() == ledger.end


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
