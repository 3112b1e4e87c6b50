"""Partitions that are offline come back each by itself, and a disk that hangs holds up no other."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.held_disk import settled
from tests.unit.broker.broker_rig import BrokerRig, run

from kafkaesque.broker import revivals
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.storage import DiskStorage, Storage
from kafkaesque.broker.topics import OFFSETS_TOPIC
from kafkaesque.log.store import Cleaned


async def _filled(rig: BrokerRig, name: str) -> Partition:
    partition = (await rig.topic(name)).partition(0)
    await rig.fill(partition)
    return partition


async def _take_offline(rig: BrokerRig, partition: Partition) -> None:
    rig.files.broken["sync"] = f"{partition.name}/"
    rig.append(partition)
    await settled()
    assert partition.offline is not None
    rig.files.broken.clear()


async def _hang(rig: BrokerRig, partition: Partition) -> Callable[[], Awaitable[None]]:
    """Its repair begins, and its disk does not answer. What lets it go on to its end."""
    await _take_offline(rig, partition)
    rig.disk.is_held = True
    reviving = asyncio.ensure_future(rig.broker.storage.revive())
    await settled()
    hanging = rig.disk.hold_back()
    rig.disk.is_held = False

    async def go_on() -> None:
        hanging()
        await reviving

    return go_on


def test_a_partition_whose_revival_hangs_holds_up_no_other(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        hung, other = await _filled(rig, "hung"), await _filled(rig, "other")
        go_on = await _hang(rig, hung)
        await _take_offline(rig, other)
        second = asyncio.ensure_future(rig.broker.storage.revive())
        await settled()
        assert rig.broker.storage.offline() == [hung]
        await go_on()
        await second
        assert rig.broker.storage.offline() == []

    run(tmp_path, work)


async def _all_hang(rig: BrokerRig) -> Callable[[], Awaitable[None]]:
    """As `_hang`, of all that a round begins."""
    rig.disk.is_held = True
    reviving = asyncio.ensure_future(rig.broker.storage.revive())
    await settled()
    hanging = []
    while rig.disk.waits:
        hanging.append(rig.disk.hold_back())
    rig.disk.is_held = False

    async def go_on() -> None:
        for end in hanging:
            end()
        await reviving

    return go_on


def test_the_metadata_log_comes_back_though_all_turns_are_taken(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        for number in range(6):
            await _take_offline(rig, await _filled(rig, f"hung{number}"))
        go_on = await _all_hang(rig)
        metadata = rig.broker.metadata.partition
        await _take_offline(rig, metadata)
        await rig.broker.storage.revive()
        assert metadata.offline is None
        assert len(rig.broker.storage.offline()) == 6
        await go_on()

    run(tmp_path, work)


def _note_attempts(monkeypatch: pytest.MonkeyPatch) -> list[Partition]:
    """Those that are tried, in this order, from now on."""
    reopen, tried = Partition.reopen, []

    async def note(self: Partition) -> None:
        tried.append(self)
        await reopen(self)

    monkeypatch.setattr(Partition, "reopen", note)
    return tried


def test_the_logs_of_the_brokers_own_state_are_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = _note_attempts(monkeypatch)

    async def work(rig: BrokerRig) -> None:
        broker = rig.broker
        other = await _filled(rig, "orders")
        transactions = (await broker._open_transaction_log()).partition
        offsets = broker.topics.named(OFFSETS_TOPIC).partition(0)
        state = [broker.metadata.partition, offsets, transactions]
        for partition in (*state, other):
            await _take_offline(rig, partition)
        await broker.storage.revive()
        assert tried == [*state, other]
        assert broker.storage.offline() == []

    run(tmp_path, work)


def test_what_hangs_for_long_gives_its_turn_to_others_but_does_not_take_all_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(rig: BrokerRig) -> None:
        names = [f"orders{number}" for number in range(9)]
        for name in names:
            await _take_offline(rig, await _filled(rig, name))
        storage = rig.broker.storage
        hung = await _all_hang(rig)
        await storage.revive()
        assert _topics(storage) == names
        monkeypatch.setattr(revivals, "_HUNG_SECONDS", -1.0)
        hung_too = await _all_hang(rig)
        await storage.revive()
        assert _topics(storage) == names
        await hung()
        assert _topics(storage) == ["orders4", "orders5"]
        await hung_too()

    run(tmp_path, work)


def _topics(storage: Storage) -> list[str]:
    return [partition.name.topic for partition in storage.offline()]


def test_a_swap_does_not_wait_for_a_repair_that_hangs(tmp_path: Path) -> None:
    """Whoever swaps has others to see to."""

    async def work(rig: BrokerRig) -> None:
        hung = await _filled(rig, "hung")
        go_on = await _hang(rig, hung)
        async with asyncio.timeout(60):
            assert not await hung.swap([], Cleaned(0, 0, 0, 0, 0))
            await hung.finish_swap()
        await go_on()

    run(tmp_path, work)


def test_a_partition_that_takes_long_to_find_damaged_is_left_alone_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revivals, "_LONG_SECONDS", -1.0)
    monkeypatch.setattr(revivals, "_REST", 1e9)

    async def work(rig: BrokerRig) -> None:
        partition = await _filled(rig, "orders")
        await _take_offline(rig, partition)
        storage = rig.broker.storage
        assert isinstance(storage, DiskStorage)
        rig.files.broken["sync"] = f"{partition.name}/"
        await storage.revive()
        rig.files.broken.clear()
        await storage.revive()
        assert partition.offline is not None
        storage._revivals._due.clear()
        await storage.revive()
        assert partition.offline is None

    run(tmp_path, work)


def test_a_stop_does_not_wait_for_revivals_that_have_not_begun(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        for number in range(6):
            await _take_offline(rig, await _filled(rig, f"orders{number}"))
        storage = rig.broker.storage
        assert isinstance(storage, DiskStorage)
        rig.disk.is_held = True
        reviving = asyncio.ensure_future(storage.revive())
        await settled()
        ending = asyncio.ensure_future(storage._revivals.ended())
        await settled()
        assert not ending.done()
        await rig.disk.let_all_go()
        await asyncio.gather(ending, reviving)
        assert _topics(storage) == ["orders4", "orders5"]

    run(tmp_path, work)


def test_of_many_that_fail_some_are_tried_in_each_round_and_all_in_their_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revivals, "_FAILURES_PER_ROUND", 1)
    tried = _note_attempts(monkeypatch)

    async def work(rig: BrokerRig) -> None:
        partitions = [await _filled(rig, f"orders{number}") for number in range(10)]
        for partition in partitions:
            await _take_offline(rig, partition)
        rig.files.fails_to_sync = True
        for _ in range(3):
            await rig.broker.storage.revive()
        assert tried == [*partitions, *partitions[:2]]
        rig.files.fails_to_sync = False
        await rig.broker.storage.revive()
        assert rig.broker.storage.offline() == []

    run(tmp_path, work)
