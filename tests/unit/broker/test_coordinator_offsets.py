"""The coordinator's offsets, plain and of transactions: in its log, in memory, after a replay."""

import asyncio
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.faulty_files import FaultyFiles
from tests.unit.broker.state_logs import Now, in_memory, on_disk

from kafkaesque.broker.coordinator import Coordinator
from kafkaesque.broker.slices import Slices
from kafkaesque.broker.state_log import StateLog
from kafkaesque.broker.storage import DiskStorage
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.groups.events import Delete, Expire
from kafkaesque.groups.group import GroupConfig
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.groups.records import offset_record
from kafkaesque.records.control import Marker
from kafkaesque.types import TopicPartition

ORDERS = TopicPartition("orders", 0)
REFUNDS = TopicPartition("refunds", 0)
A, B = 100, 200


def load(log: StateLog, now: Now) -> Coordinator:
    return Coordinator.load(log, GroupConfig(), now, now, Slices())


def offset(number: int) -> CommittedOffset:
    return CommittedOffset(number, commit_timestamp_ms=1_000_000)


def last_values(log: StateLog) -> dict[bytes, bytes | None]:
    """What compaction would leave."""
    found: dict[bytes, bytes | None] = {}
    log.replay(found.__setitem__)
    return found


def test_an_offset_of_a_transaction_counts_when_the_transaction_is_committed() -> None:
    async def work(log: StateLog, now: Now) -> None:
        coordinator = load(log, now)
        offsets = coordinator.table.offsets
        await coordinator.commit_in_transaction("g", A, 0, {ORDERS: offset(5)})
        assert offsets.fetch("g", ORDERS) is None
        assert offsets.is_pending("g", ORDERS)
        assert coordinator.end_transaction(A, 0, Marker.COMMIT) is None
        assert offsets.fetch("g", ORDERS) == offset(5)
        assert not offsets.is_pending("g", ORDERS)

    in_memory(work)


def test_an_offset_of_a_transaction_is_gone_when_the_transaction_is_aborted() -> None:
    async def work(log: StateLog, now: Now) -> None:
        coordinator = load(log, now)
        await coordinator.commit("kept", {ORDERS: offset(1)})
        for group_id in ("kept", "new"):
            await coordinator.commit_in_transaction(group_id, A, 0, {ORDERS: offset(5)})
        assert set(coordinator.table.groups) == {"kept", "new"}
        coordinator.end_transaction(A, 1, Marker.ABORT)
        assert coordinator.table.offsets.fetch("kept", ORDERS) == offset(1)
        assert set(coordinator.table.groups) == {"kept"}

    in_memory(work)


def test_what_was_pending_is_pending_after_a_replay() -> None:
    async def work(log: StateLog, now: Now) -> None:
        before = load(log, now)
        await before.commit_in_transaction("g", A, 0, {ORDERS: offset(5)})
        await before.commit_in_transaction("h", B, 0, {ORDERS: offset(6)})
        before.end_transaction(B, 0, Marker.ABORT)
        after = load(log, now)
        assert after.table.offsets.is_pending("g", ORDERS)
        assert set(after.table.groups) == {"g"}
        after.end_transaction(A, 0, Marker.COMMIT)
        assert after.table.offsets.fetch("g", ORDERS) == offset(5)
        assert load(log, now).table.offsets.of_group("g") == {ORDERS: offset(5)}

    in_memory(work)


def test_no_offsets_are_no_batch() -> None:
    async def work(log: StateLog, now: Now) -> None:
        coordinator = load(log, now)
        await coordinator.commit("g", {})
        await coordinator.commit_in_transaction("g", A, 0, {})
        assert log.end_offset == 0
        assert coordinator.table.groups == {}

    in_memory(work)


def test_a_commit_that_is_larger_than_a_batch_may_be_is_refused() -> None:
    async def work(log: StateLog, now: Now) -> None:
        coordinator = load(log, now)
        many = {TopicPartition("t" * 249, n): offset(1) for n in range(4000)}
        for commit in (
            coordinator.commit("g", many),
            coordinator.commit_in_transaction("g", A, 0, many),
        ):
            with pytest.raises(KafkaError) as refused:
                await commit
            assert refused.value.code is ErrorCode.INVALID_COMMIT_OFFSET_SIZE
        assert log.end_offset == 0
        assert coordinator.table.groups == {}

    in_memory(work)


def test_offsets_are_pending_before_they_are_durable_and_seen_only_after(tmp_path: Path) -> None:
    async def work(log: StateLog, files: FaultyFiles, storage: DiskStorage) -> None:
        coordinator = load(log, Now())
        offsets = coordinator.table.offsets
        writing = asyncio.ensure_future(
            coordinator.commit_in_transaction("g", A, 0, {ORDERS: offset(5)})
        )
        await asyncio.sleep(0)
        assert not writing.done()
        assert offsets.is_pending("g", ORDERS)
        await writing
        waiting = coordinator.end_transaction(A, 0, Marker.COMMIT)
        assert waiting is not None
        assert offsets.is_pending("g", ORDERS)
        await waiting
        assert offsets.fetch("g", ORDERS) == offset(5)

    on_disk(tmp_path / "data", work)


def test_what_could_not_be_written_is_not_pending(tmp_path: Path) -> None:
    async def work(log: StateLog, files: FaultyFiles, storage: DiskStorage) -> None:
        coordinator = load(log, Now())
        offsets = coordinator.table.offsets
        await coordinator.commit_in_transaction("g", A, 0, {ORDERS: offset(5)})
        files.fails_to_sync = True
        with pytest.raises(KafkaError):
            await coordinator.commit_in_transaction(
                "g", A, 0, {ORDERS: offset(6), REFUNDS: offset(6)}
            )
        assert offsets.is_pending("g", ORDERS)
        assert not offsets.is_pending("g", REFUNDS)
        files.fails_to_sync = False
        await storage.revive()
        if waiting := coordinator.end_transaction(A, 0, Marker.COMMIT):
            await waiting
        assert offsets.of_group("g") == {ORDERS: offset(5)}
        assert load(log, Now()).table.offsets.of_group("g") == {ORDERS: offset(5)}

    on_disk(tmp_path / "data", work)


def test_a_marker_that_could_not_be_written_decides_nothing(tmp_path: Path) -> None:
    async def work(log: StateLog, files: FaultyFiles, storage: DiskStorage) -> None:
        coordinator = load(log, Now())
        await coordinator.commit_in_transaction("g", A, 0, {ORDERS: offset(5)})
        files.fails_to_sync = True
        waiting = coordinator.end_transaction(A, 0, Marker.COMMIT)
        assert waiting is not None
        with pytest.raises(KafkaError):
            await waiting
        assert coordinator.table.offsets.is_pending("g", ORDERS)
        assert load(log, Now()).table.offsets.fetch("g", ORDERS) == offset(5)
        files.fails_to_sync = False
        await storage.revive()
        assert load(log, Now()).table.offsets.is_pending("g", ORDERS)
        if waiting := coordinator.end_transaction(A, 0, Marker.COMMIT):
            await waiting
        assert coordinator.table.offsets.fetch("g", ORDERS) == offset(5)

    on_disk(tmp_path / "data", work)


def test_every_key_that_ends_ends_with_a_tombstone() -> None:
    async def work(log: StateLog, now: Now) -> None:
        coordinator = load(log, now)
        for group_id in ("expires", "deleted", "forgotten", "emptied"):
            await coordinator.commit(group_id, {ORDERS: offset(1)})
            await coordinator.commit_in_transaction(group_id, A, 0, {REFUNDS: offset(2)})
        await coordinator.delete_topic("refunds")
        reply = coordinator.future()
        coordinator.ask("deleted", Delete(reply))
        await reply
        await coordinator.delete_offsets("emptied", [ORDERS])
        await coordinator.delete_offsets("forgotten", [ORDERS])
        now.ms += 1_000
        await coordinator.expire(retention_ms=1_000)
        coordinator.end_transaction(A, 0, Marker.COMMIT)
        assert set(last_values(log).values()) == {None}
        assert len(last_values(log)) == 8
        assert coordinator.table.groups == {}
        assert load(log, now).table.groups == {}

    in_memory(work)


def test_a_pending_offset_keeps_its_group_from_expiring() -> None:
    async def work(log: StateLog, now: Now) -> None:
        coordinator = load(log, now)
        await coordinator.commit("g", {ORDERS: offset(1)})
        await coordinator.commit_in_transaction("g", A, 0, {ORDERS: offset(2)})
        now.ms += 10_000
        await coordinator.expire(retention_ms=1_000)
        coordinator.ask("g", Expire())
        coordinator.end_transaction(A, 0, Marker.COMMIT)
        assert coordinator.table.offsets.fetch("g", ORDERS) == offset(2)
        await coordinator.expire(retention_ms=1_000)
        while coordinator.table.groups:
            await asyncio.sleep(0)

    in_memory(work)


def test_the_bytes_of_an_offset_are_the_same_in_a_transaction() -> None:
    async def work(log: StateLog, now: Now) -> None:
        await load(log, now).commit_in_transaction("g", A, 3, {ORDERS: offset(5)})
        key, value = offset_record("g", ORDERS, offset(5))
        assert last_values(log) == {key: value}

    in_memory(work)


NAMES = st.sets(st.sampled_from([ORDERS, REFUNDS]), min_size=1)
GROUPS = st.sampled_from(["g", "h"])
STEPS = st.one_of(
    st.tuples(st.just("commit"), GROUPS, NAMES, st.sampled_from([None, None, A, B])),
    st.tuples(st.just("end"), st.sampled_from([A, B]), st.sampled_from(Marker)),
    st.tuples(st.just("delete"), GROUPS, NAMES),
    st.tuples(st.just("delete topic"), st.sampled_from(["orders", "refunds"])),
    st.tuples(st.just("expire"), st.sampled_from([0, 500, 1_000])),
    st.tuples(st.just("restart")),
)


async def take(coordinator: Coordinator, number: int, now: Now, step: tuple[Any, ...]) -> None:
    match step:
        case ("commit", group_id, names, None):
            await coordinator.commit(group_id, dict.fromkeys(names, committed_at(number, now)))
        case ("commit", group_id, names, producer_id):
            offsets = dict.fromkeys(names, committed_at(number, now))
            await coordinator.commit_in_transaction(group_id, producer_id, 0, offsets)
        case ("end", producer_id, marker):
            coordinator.end_transaction(producer_id, 0, marker)
        case ("delete", group_id, names):
            await coordinator.delete_offsets(group_id, names)
        case ("delete topic", topic):
            await coordinator.delete_topic(topic)
        case ("expire", elapsed_ms):
            now.ms += elapsed_ms
            await coordinator.expire(retention_ms=1_000)


def committed_at(number: int, now: Now) -> CommittedOffset:
    return CommittedOffset(number, commit_timestamp_ms=now.ms)


def seen(coordinator: Coordinator) -> dict[str, Any]:
    """Of each group: its offsets, and which of them a transaction may change."""
    offsets = coordinator.table.offsets
    return {
        group_id: (
            offsets.of_group(group_id),
            {name for name in (ORDERS, REFUNDS) if offsets.is_pending(group_id, name)},
        )
        for group_id in coordinator.table.groups
    }


def groups_by_topic(coordinator: Coordinator) -> dict[str, set[str]]:
    """Whose offsets a deletion of the topic would undo."""
    offsets = coordinator.table.offsets
    return {
        topic: {group_id for group_id in coordinator.table.groups if offsets.known(group_id, topic)}
        for topic in offsets.all_topics()
    }


@settings(max_examples=100)
@given(st.lists(STEPS, max_size=25))
def test_a_replay_gives_the_groups_and_offsets_that_were_there(
    steps: list[tuple[Any, ...]],
) -> None:
    async def work(log: StateLog, now: Now) -> None:
        coordinator = load(log, now)
        for number, step in enumerate(steps):
            if step == ("restart",):
                coordinator = load(log, now)
            await take(coordinator, number, now, step)
            await asyncio.sleep(0)
            assert seen(load(log, now)) == seen(coordinator)
            for topic, group_ids in groups_by_topic(coordinator).items():
                assert group_ids
                assert group_ids <= {*coordinator.table.offsets.may_have(topic)}

    in_memory(work)


@pytest.mark.parametrize("marker", Marker)
def test_a_transaction_of_thousands_of_writes_ends_in_slices(marker: Marker) -> None:
    async def work(log: StateLog, now: Now) -> None:
        clock = count()
        slices = Slices(lambda: next(clock))
        coordinator = Coordinator.load(log, GroupConfig(), now, now, slices)
        offsets = coordinator.table.offsets
        for number in range(2000):
            name = TopicPartition("orders", number)
            coordinator.commit_soon("g", {name: offset(number)}, (A, 0))
        waiting = coordinator.end_transaction(A, 0, marker)
        assert waiting is not None
        assert coordinator.end_transaction(A, 0, marker) is waiting
        left, most = 2000, 0
        while not waiting.done():
            await asyncio.sleep(0)
            left, before = offsets.pending_writes(A), left
            most = max(most, before - left)
        assert (left, len(offsets.partitions("g"))) == (0, 2000 * (marker is Marker.COMMIT))
        assert most < 12
        assert coordinator.end_transaction(A, 0, marker) is None

    in_memory(work)


@pytest.mark.parametrize("turns", [0, 3])
def test_a_transaction_that_ends_while_the_one_before_it_ends_in_slices_is_decided_by_its_own_end(
    turns: int,
) -> None:
    async def work(log: StateLog, now: Now) -> None:
        clock = count()
        slices = Slices(lambda: next(clock))
        coordinator = Coordinator.load(log, GroupConfig(), now, now, slices)
        offsets = coordinator.table.offsets
        for number in range(12):
            coordinator.commit_soon("g", {TopicPartition("orders", number): offset(1)}, (A, 0))
        first = coordinator.end_transaction(A, 0, Marker.ABORT)
        for _ in range(turns):
            await asyncio.sleep(0)
        coordinator.commit_soon("g", {REFUNDS: offset(7)}, (A, 0))
        second = coordinator.end_transaction(A, 0, Marker.COMMIT)
        assert first is not None
        assert second is not None
        assert not first.done()
        await second
        assert first.done()
        assert offsets.of_group("g") == {REFUNDS: offset(7)}
        assert offsets.are_decided
        assert coordinator.end_transaction(A, 0, Marker.COMMIT) is None

    in_memory(work)


def test_a_transaction_of_many_writes_whose_marker_is_lost_is_still_pending(tmp_path: Path) -> None:
    async def work(log: StateLog, files: FaultyFiles, storage: DiskStorage) -> None:
        coordinator = load(log, Now())
        for number in range(100):
            name = TopicPartition("orders", number)
            await coordinator.commit_in_transaction("g", A, 0, {name: offset(number)})
        files.fails_to_sync = True
        waiting = coordinator.end_transaction(A, 0, Marker.COMMIT)
        assert waiting is not None
        with pytest.raises(KafkaError):
            await waiting
        assert coordinator.table.offsets.pending_writes(A) == 100
        files.fails_to_sync = False
        await log.partition.reopen()
        if again := coordinator.end_transaction(A, 0, Marker.COMMIT):
            await again
        assert len(coordinator.table.offsets.partitions("g")) == 100

    on_disk(tmp_path, work)
