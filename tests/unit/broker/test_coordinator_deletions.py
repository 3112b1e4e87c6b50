"""Deletions that cannot be made durable: nothing is gone, and asking again does it."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import cast

import pytest
from tests.faulty_files import FaultyFiles
from tests.unit.broker.state_logs import HeldFiles, Now, in_memory, on_disk

from kafkaesque.broker.coordinator import Coordinator
from kafkaesque.broker.slices import Slices
from kafkaesque.broker.state_log import StateLog
from kafkaesque.broker.storage import DiskStorage
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.groups.events import (
    CheckCommit,
    Delete,
    Expire,
    Join,
    JoinReply,
    Reply,
    State,
    Sync,
    SyncReply,
)
from kafkaesque.groups.group import GroupConfig
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.records.control import Marker
from kafkaesque.types import TopicPartition

ORDERS = TopicPartition("orders", 0)
REFUNDS = TopicPartition("refunds", 0)
RETENTION_MS = 1_000


def load(log: StateLog, now: Now) -> Coordinator:
    return Coordinator.load(log, GroupConfig(initial_rebalance_delay_ms=0), now, now, Slices())


def offset(number: int) -> CommittedOffset:
    return CommittedOffset(number, commit_timestamp_ms=0)


async def deleted(coordinator: Coordinator) -> ErrorCode:
    reply = coordinator.future()
    coordinator.ask("g", Delete(reply))
    return cast(Reply, await reply).error


async def delete_group(coordinator: Coordinator) -> None:
    if error := await deleted(coordinator):
        raise KafkaError(error)


async def expire(coordinator: Coordinator) -> None:
    await coordinator.expire(RETENTION_MS)


DELETIONS: dict[str, Callable[[Coordinator], Awaitable[object]]] = {
    "offsets": lambda coordinator: coordinator.delete_offsets("g", [ORDERS]),
    "topic": lambda coordinator: coordinator.delete_topic("orders"),
    "group": delete_group,
    "expiry": expire,
}


@pytest.mark.parametrize("deletion", DELETIONS.values(), ids=list(DELETIONS))
@pytest.mark.parametrize("fault", ["is_full", "fails_to_sync"])
def test_a_deletion_that_is_not_durable_has_deleted_nothing_and_may_be_asked_for_again(
    tmp_path: Path, deletion: Callable[[Coordinator], Awaitable[object]], fault: str
) -> None:
    async def work(log: StateLog, files: FaultyFiles, storage: DiskStorage) -> None:
        coordinator = load(log, Now())
        await coordinator.commit("g", {ORDERS: offset(5)})
        setattr(files, fault, True)
        with pytest.raises(KafkaError):
            await deletion(coordinator)
        assert coordinator.table.offsets.of_group("g") == {ORDERS: offset(5)}
        assert coordinator.table.groups["g"].state is State.EMPTY
        setattr(files, fault, False)
        await storage.revive()
        assert load(log, Now()).table.offsets.of_group("g") == {ORDERS: offset(5)}
        await deletion(coordinator)
        assert not coordinator.table.offsets.has("g")
        assert coordinator.table.groups == {}
        after = load(log, Now())
        assert not after.table.offsets.has("g")
        assert after.table.groups == {}

    on_disk(tmp_path / "data", work)


@pytest.mark.parametrize("deletion", DELETIONS.values(), ids=list(DELETIONS))
def test_what_is_being_deleted_is_there_until_that_is_durable(
    tmp_path: Path, deletion: Callable[[Coordinator], Awaitable[object]]
) -> None:
    async def work(log: StateLog, files: HeldFiles, storage: DiskStorage) -> None:
        coordinator = load(log, Now())
        await coordinator.commit("g", {ORDERS: offset(5)})
        files.may_sync.clear()
        end = log.end_offset
        deleting = asyncio.ensure_future(deletion(coordinator))
        while log.end_offset == end:
            await asyncio.sleep(0)
        assert coordinator.table.offsets.of_group("g") == {ORDERS: offset(5)}
        assert "g" in coordinator.table.groups
        files.may_sync.set()
        await deleting
        assert coordinator.table.groups == {}

    on_disk(tmp_path / "data", work, HeldFiles())


def with_groups(
    work: Callable[[StateLog, Now, Coordinator, list[str]], Awaitable[None]],
) -> None:
    """A hundred, with an offset of both topics, and so little time that each takes a slice."""

    async def main(log: StateLog, now: Now) -> None:
        clock, group_ids = count(), [f"g{number}" for number in range(100)]
        slices = Slices(lambda: next(clock))
        coordinator = Coordinator.load(log, GroupConfig(), now, now, slices)
        for group_id in group_ids:
            await coordinator.commit(group_id, {ORDERS: offset(1), REFUNDS: offset(1)})
        await work(log, now, coordinator, group_ids)

    in_memory(main)


def test_the_offsets_of_a_topic_are_deleted_in_slices_of_its_groups() -> None:
    async def work(log: StateLog, now: Now, coordinator: Coordinator, group_ids: list[str]) -> None:
        deleting = asyncio.ensure_future(coordinator.delete_topic("orders"))
        most, end = 0, log.end_offset
        while not deleting.done():
            await asyncio.sleep(0)
            most, end = max(most, log.end_offset - end), log.end_offset
        assert most < 12
        assert coordinator.table.offsets.all_topics() == {"refunds"}
        assert load(log, now).table.offsets.all_topics() == {"refunds"}

    with_groups(work)


def test_groups_come_and_go_and_transactions_end_while_a_topic_is_deleted() -> None:
    async def work(log: StateLog, now: Now, coordinator: Coordinator, group_ids: list[str]) -> None:
        for group_id in group_ids[:50]:
            await coordinator.commit_in_transaction(group_id, 7, 0, {ORDERS: offset(2)})
        await coordinator.commit_in_transaction("pending alone", 7, 0, {ORDERS: offset(2)})
        deleting = asyncio.ensure_future(coordinator.delete_topic("orders"))
        await asyncio.sleep(0)
        ended = coordinator.end_transaction(7, 0, Marker.COMMIT)
        coordinator.ask(group_ids[-1], Delete(coordinator.future()))
        await coordinator.commit("new", {REFUNDS: offset(3)})
        assert not deleting.done()
        await deleting
        assert ended is not None
        await ended
        for table in (coordinator.table, load(log, now).table):
            assert table.offsets.all_topics() == {"refunds"}
            assert table.groups.keys() == {*group_ids[:-1], "new"}

    with_groups(work)


def test_a_deletion_of_a_topic_that_no_group_knows_looks_at_no_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work(log: StateLog, now: Now, coordinator: Coordinator, group_ids: list[str]) -> None:
        monkeypatch.setattr(coordinator.table.offsets, "known", None)
        await coordinator.delete_topic("unknown")

    with_groups(work)


def test_a_flush_that_failed_is_noticed_though_the_log_has_come_back_since(tmp_path: Path) -> None:
    """One look at the end would see a log that is all on disk, without the tombstone."""

    async def work(log: StateLog, files: HeldFiles, storage: DiskStorage) -> None:
        coordinator = load(log, Now())
        names = [TopicPartition("orders", number) for number in range(700)]
        await coordinator.commit("g", dict.fromkeys(names, offset(5)))
        files.may_sync.clear()
        end = log.end_offset
        deleting = asyncio.ensure_future(coordinator.delete_topic("orders"))
        while log.end_offset == end:
            await asyncio.sleep(0)
        await files.fail(storage)
        await storage.revive()
        with pytest.raises(KafkaError):
            await deleting
        left = coordinator.table.offsets.known("g")
        assert left == load(log, Now()).table.offsets.known("g")
        assert left
        await coordinator.delete_topic("orders")
        assert load(log, Now()).table.groups == {}

    on_disk(tmp_path / "data", work, HeldFiles())


def test_two_who_delete_the_same_are_both_told_the_truth(tmp_path: Path) -> None:
    async def work(log: StateLog, files: HeldFiles, storage: DiskStorage) -> None:
        coordinator = load(log, Now())
        await coordinator.commit("g", {ORDERS: offset(5)})
        files.may_sync.clear()
        both = asyncio.gather(
            coordinator.delete_offsets("g", [ORDERS]),
            coordinator.delete_topic("orders"),
            return_exceptions=True,
        )
        await asyncio.sleep(0)
        await files.fail(storage)
        assert [type(result) for result in await both] == [KafkaError, KafkaError]
        assert coordinator.table.offsets.has("g")

    on_disk(tmp_path / "data", work, HeldFiles())


def test_a_commit_after_a_deletion_counts_and_one_before_it_does_not(tmp_path: Path) -> None:
    async def work(log: StateLog, files: HeldFiles, storage: DiskStorage) -> None:
        coordinator = load(log, Now())
        files.may_sync.clear()
        before = asyncio.ensure_future(
            coordinator.commit("g", {ORDERS: offset(1), REFUNDS: offset(1)})
        )
        await asyncio.sleep(0)
        deletion = asyncio.ensure_future(coordinator.delete_offsets("g", [ORDERS, REFUNDS]))
        await asyncio.sleep(0)
        after = asyncio.ensure_future(coordinator.commit("g", {ORDERS: offset(2)}))
        await asyncio.sleep(0)
        files.may_sync.set()
        await asyncio.gather(before, deletion, after)
        assert coordinator.table.offsets.of_group("g") == {ORDERS: offset(2)}
        assert load(log, Now()).table.offsets.of_group("g") == {ORDERS: offset(2)}

    on_disk(tmp_path / "data", work, HeldFiles())


def test_a_group_that_is_being_deleted_takes_nobody_in_and_is_empty_again_if_it_stays(
    tmp_path: Path,
) -> None:
    async def work(log: StateLog, files: HeldFiles, storage: DiskStorage) -> None:
        coordinator = load(log, Now())
        await coordinator.commit("g", {ORDERS: offset(1)})
        files.may_sync.clear()
        first = asyncio.ensure_future(deleted(coordinator))
        second = asyncio.ensure_future(deleted(coordinator))
        commit = coordinator.future()
        await asyncio.sleep(0)
        coordinator.ask("g", CheckCommit(commit, -1, ""))
        await files.fail(storage)
        later = ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert await first is later
        assert await second is later
        assert cast(Reply, await commit).error is later
        await storage.revive()
        assert await deleted(coordinator) is ErrorCode.NONE
        assert coordinator.table.groups == {}

    on_disk(tmp_path / "data", work, HeldFiles())


def test_a_group_of_many_offsets_goes_whole(tmp_path: Path) -> None:
    async def work(log: StateLog, now: Now) -> None:
        coordinator = load(log, now)
        names = [TopicPartition("orders", number) for number in range(1_200)]
        await coordinator.commit("g", dict.fromkeys(names, offset(5)))
        assert await deleted(coordinator) is ErrorCode.NONE
        assert coordinator.table.groups == {}
        assert load(log, now).table.groups == {}

    in_memory(work)


def test_a_commit_that_could_not_be_written_leaves_no_group_behind(tmp_path: Path) -> None:
    async def work(log: StateLog, files: FaultyFiles, storage: DiskStorage) -> None:
        coordinator = load(log, Now())
        files.fails_to_sync = True
        with pytest.raises(KafkaError):
            await coordinator.commit("g", {ORDERS: offset(5)})
        assert coordinator.table.groups == {}

    on_disk(tmp_path / "data", work)


def test_who_gives_up_waiting_for_a_commit_does_not_undo_it(tmp_path: Path) -> None:
    async def work(log: StateLog, files: HeldFiles, storage: DiskStorage) -> None:
        coordinator = load(log, Now())
        files.may_sync.clear()
        commit = asyncio.ensure_future(coordinator.commit("g", {ORDERS: offset(5)}))
        await asyncio.sleep(0)
        commit.cancel()
        await asyncio.sleep(0)
        files.may_sync.set()
        await log.flushed()
        assert coordinator.table.offsets.of_group("g") == {ORDERS: offset(5)}

    on_disk(tmp_path / "data", work, HeldFiles())


async def joined(coordinator: Coordinator, member_id: str = "") -> JoinReply:
    reply = coordinator.future()
    protocols = (("range", b""),)
    join = Join(reply, member_id, None, "c", "/h", "consumer", protocols, 10_000, 10_000)
    coordinator.ask("g", join)
    return cast(JoinReply, await reply)


async def synced(coordinator: Coordinator, member: JoinReply) -> SyncReply:
    reply = coordinator.future()
    assignments = {member.member_id: b"all"}
    coordinator.ask("g", Sync(reply, member.generation, member.member_id, assignments=assignments))
    return cast(SyncReply, await reply)


def test_an_assignment_that_could_not_be_stored_is_told_to_nobody(tmp_path: Path) -> None:
    async def work(log: StateLog, files: FaultyFiles, storage: DiskStorage) -> None:
        coordinator = load(log, Now())
        member = await joined(coordinator)
        files.is_full = True
        assert (await synced(coordinator, member)).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        files.is_full = False
        assert (await synced(coordinator, member)).error is ErrorCode.REBALANCE_IN_PROGRESS
        again = await joined(coordinator, member.member_id)
        assert (await synced(coordinator, again)).assignment == b"all"
        stored = load(log, Now()).table.groups["g"]
        assert stored.generation == again.generation
        coordinator.stop()

    on_disk(tmp_path / "data", work)


def test_a_group_that_could_not_expire_does_so_later(tmp_path: Path) -> None:
    async def work(log: StateLog, files: FaultyFiles, storage: DiskStorage) -> None:
        coordinator = load(log, Now())
        await coordinator.commit("g", {ORDERS: offset(5)})
        files.is_full = True
        coordinator.ask("g", Expire())
        while coordinator.table.groups["g"].state is not State.EMPTY:
            await asyncio.sleep(0)
        files.is_full = False
        await coordinator.expire(RETENTION_MS)
        while coordinator.table.groups:
            await asyncio.sleep(0)
        assert load(log, Now()).table.groups == {}

    on_disk(tmp_path / "data", work)
