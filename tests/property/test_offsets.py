"""Committed offsets: what a broker has in memory is what its log says, whatever has happened.

A machine plays the coordinator over a list of batches: plain commits, commits in transactions that
overlap, ends, deletes, power cuts, with the disk lagging behind. Whenever the disk has caught up, a
replay of the log, and of a compacted log, must give the same offsets, committed and pending.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.tiers import examples
from tests.unit.groups import logs

from kafkaesque.groups.committed import Offsets, Staged
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.groups.records import decode_place, offset_record, offset_tombstone
from kafkaesque.groups.table import GroupTable
from kafkaesque.protocol.messages.internal import (
    OffsetCommitKey,
    OffsetCommitValue,
    decode_versioned,
    encode_versioned,
)
from kafkaesque.types import TopicPartition

Entries = list[tuple[bytes, bytes | None]]
PARTITIONS = [TopicPartition("orders", 0), TopicPartition("refunds", 0)]
GROUPS = st.sampled_from(["g", "g", "g", "h"])
PRODUCERS = st.sampled_from([100, 200])
SOME = st.sets(st.sampled_from(PARTITIONS), min_size=1)


@dataclass(frozen=True)
class Batch:
    """Records, or with `commit` a marker; of a transaction if it has a producer."""

    at: int
    entries: Entries
    producer_id: int | None = None
    commit: bool | None = None

    @property
    def is_marker(self) -> bool:
        return self.commit is not None


def replayed(log: Iterable[Batch]) -> GroupTable:
    return logs.replayed(*(encoded(batch) for batch in log if batch.entries or batch.is_marker))


def encoded(batch: Batch) -> bytes:
    if batch.commit is None:
        return logs.batch(batch.at, batch.entries, batch.producer_id)
    assert batch.producer_id is not None
    return logs.marker(batch.at, batch.producer_id, commit=batch.commit)


def state(offsets: Offsets) -> tuple[Any, Any]:
    """All that can be seen of it."""
    committed = {group_id: offsets.of_group(group_id) for group_id in ("g", "h")}
    pending = {
        (group_id, name)
        for group_id in ("g", "h")
        for name in PARTITIONS
        if offsets.is_pending(group_id, name)
    }
    return committed, pending


def decided(log: list[Batch]) -> tuple[set[int], int]:
    """Where aborted batches stand, and where the first stands that is not decided."""
    aborted: set[int] = set()
    running: dict[int, list[int]] = {}
    for batch in log:
        if batch.producer_id is None:
            continue
        if batch.commit is None:
            running.setdefault(batch.producer_id, []).append(batch.at)
        else:
            ended = running.pop(batch.producer_id, [])
            aborted.update([] if batch.commit else ended)
    firsts = [writes[0] for writes in running.values()]
    return aborted, min(firsts, default=log[-1].at + 1 if log else 0)


def compacted(log: list[Batch]) -> list[Batch]:
    """As the log cleaner leaves it, when all tombstones have had their time."""
    aborted, stable = decided(log)
    last: dict[bytes, int] = {}
    for batch in log:
        if batch.at < stable and batch.at not in aborted:
            last.update(dict.fromkeys((key for key, _ in batch.entries), batch.at))
    cleaned = []
    for batch in log:
        kept = batch.entries
        if batch.at < stable:
            kept = [(k, v) for k, v in kept if v is not None and last.get(k) == batch.at]
        cleaned.append(Batch(batch.at, kept, batch.producer_id, batch.commit))
    return cleaned


class Coordinator(RuleBasedStateMachine):
    """As broker/coordinator.py does it: memory follows the disk."""

    def __init__(self) -> None:
        super().__init__()
        self.table = logs.new_table()
        self.log: list[Batch] = []
        self.waiting: list[tuple[Callable[[], object], Staged | None]] = []
        self.clock = 0

    def append(
        self, entries: Entries, producer_id: int | None = None, commit: bool | None = None
    ) -> int:
        at = self.log[-1].at + 10 if self.log else 0
        self.log.append(Batch(at, entries, producer_id, commit))
        return at

    @rule(group_id=GROUPS, names=SOME)
    def commit(self, group_id: str, names: set[TopicPartition]) -> None:
        staged = self.stage(group_id, names, None)
        self.waiting.append((lambda: self.table.offsets.commit(staged), staged))

    @rule(group_id=GROUPS, names=SOME, producer_id=PRODUCERS)
    def commit_in_transaction(
        self, group_id: str, names: set[TopicPartition], producer_id: int
    ) -> None:
        self.waiting.append((lambda: None, self.stage(group_id, names, producer_id)))

    def stage(self, group_id: str, names: set[TopicPartition], producer_id: int | None) -> Staged:
        self.clock += 1
        records = [offset_record(group_id, name, CommittedOffset(self.clock)) for name in names]
        at = self.append([*records], producer_id)
        values = {name: value for name, (_, value) in zip(names, records, strict=True)}
        return self.table.offsets.stage(group_id, values, at, producer_id)

    @rule(producer_id=PRODUCERS, commit=st.booleans())
    def end(self, producer_id: int, commit: bool) -> None:
        at = self.append([], producer_id, commit)
        offsets = self.table.offsets
        self.waiting.append((lambda: offsets.end_transaction(producer_id, at, commit=commit), None))

    @rule(group_id=GROUPS, names=SOME, kind=st.sampled_from(["offsets", "group", "topic"]))
    def delete(self, group_id: str, names: set[TopicPartition], kind: str) -> None:
        offsets = self.table.offsets
        if kind == "offsets":
            self.delete_from(group_id, {n for n in names if offsets.is_known(group_id, n)})
        elif kind == "group":
            self.delete_from(group_id, offsets.known(group_id))
        else:
            for each in ("g", "h"):
                self.delete_from(each, offsets.known(each, "orders"))

    def delete_from(self, group_id: str, names: set[TopicPartition]) -> None:
        if names:
            at = self.append([offset_tombstone(group_id, name) for name in names])
            staged = self.table.offsets.stage(group_id, dict.fromkeys(names), at)
            self.waiting.append((lambda: self.table.offsets.commit(staged), staged))

    @rule(count=st.sampled_from([1, 100]))
    def flush(self, count: int) -> None:
        """So many batches more are durable."""
        done, self.waiting = self.waiting[:count], self.waiting[count:]
        for settle, _ in done:
            settle()

    @precondition(lambda self: self.waiting)
    @rule()
    def fail_to_flush(self) -> None:
        """What is not durable is dropped from the log, and whoever waited for it is refused."""
        del self.log[-len(self.waiting) :]
        for _, staged in self.waiting:
            if staged is not None:
                self.table.offsets.abandon(staged)
        self.waiting = []

    @invariant()
    def a_replay_says_the_same(self) -> None:
        if not self.waiting:
            here = state(self.table.offsets)
            assert state(replayed(self.log).offsets) == here
            assert state(replayed(compacted(self.log)).offsets) == here

    def teardown(self) -> None:
        self.flush(len(self.waiting) or 1)
        self.a_replay_says_the_same()


TestCoordinator = Coordinator.TestCase
TestCoordinator.settings = settings(
    max_examples=examples(300), stateful_step_count=25, deadline=None
)


VALUES = st.builds(
    OffsetCommitValue,
    offset=st.integers(0, 2**63 - 1),
    leader_epoch=st.integers(-1, 2**31 - 1),
    metadata=st.text(max_size=20) | st.sampled_from([20, 30, 40, 64, 4096]).map("m".__mul__),
    commit_timestamp=st.integers(0, 2**62),
    expire_timestamp=st.integers(-1, 2**62),
    topic_id=st.uuids() | st.just(UUID(int=0)),
)
KEYS = st.builds(
    OffsetCommitKey,
    group=st.sampled_from(["", "g", "gü", "g" * 300]),
    topic=st.sampled_from(["orders", "ord", "orders-2"]),
    partition=st.sampled_from([0, 1, 255, 256, 2**31 - 1]),
)
RECORDS = st.tuples(
    st.builds(encode_versioned, KEYS, st.sampled_from([0, 1])),
    st.none() | st.builds(encode_versioned, VALUES, st.integers(0, 4)),
)


def decoded(data: bytes) -> CommittedOffset:
    """Field by field, as the message is declared."""
    value = decode_versioned(OffsetCommitValue, data)
    expire_ms = None if value.expire_timestamp == -1 else value.expire_timestamp
    return CommittedOffset(
        value.offset,
        value.leader_epoch,
        value.metadata,
        value.commit_timestamp,
        expire_ms,
        value.topic_id,
    )


@given(st.lists(st.lists(RECORDS, min_size=1, max_size=8), max_size=8))
def test_offsets_that_are_decoded_when_asked_for_are_those_decoded_at_once(
    batches: list[Entries],
) -> None:
    eager: dict[str, dict[TopicPartition, CommittedOffset]] = {}
    for entries in batches:
        for key, value in entries:
            place = decode_place(key)
            assert place is not None
            group_id, partition = place
            of_group = eager.setdefault(group_id, {})
            of_group.pop(partition, None)
            if value is not None:
                of_group[partition] = decoded(value)
    table = logs.replayed(*(logs.batch(0, entries) for entries in batches))
    assert table.offsets.group_ids() == sorted(group_id for group_id in eager if eager[group_id])
    for group_id, expected in eager.items():
        assert table.offsets.of_group(group_id) == expected
        for name in {*expected, *PARTITIONS}:
            assert table.offsets.fetch(group_id, name) == expected.get(name)


def test_a_tombstone_of_what_was_never_there_leaves_nothing() -> None:
    table = replayed([Batch(0, [offset_tombstone("g", PARTITIONS[0])])])
    assert table.offsets.group_ids() == []
    assert table.groups == {}
