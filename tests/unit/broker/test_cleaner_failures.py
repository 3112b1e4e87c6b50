"""What fails or hangs in the compaction of one topic is finished later, and stops no other."""

import asyncio
import errno
import signal
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.unit.broker.cleaner_rig import HOUR_MS, Rig, latest, run, time_passes

from kafkaesque.broker import cleaner, compactors
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.compactors import (
    ChildProcess,
    CompactionError,
    Compactor,
    Done,
    FilesInSlices,
    Work,
)
from kafkaesque.broker.config import BrokerConfig
from kafkaesque.broker.partition import Partition
from kafkaesque.log.compact import Request, Result
from kafkaesque.log.files import OsFiles
from kafkaesque.metrics import exposition

pytest_plugins = ["tests.unit.broker.cleaner_rig"]


class OnceFailingFiles(OsFiles):
    """The first segment that is about to be swapped in is not."""

    def __init__(self, ending: str) -> None:
        self.ending = ending
        self.has_failed = False

    def rename(self, old: str, new: str) -> None:
        if old.endswith(self.ending) and not self.has_failed:
            self.has_failed = True
            raise OSError(errno.EIO, "Input/output error")
        super().rename(old, new)


def test_a_swap_that_was_undone_is_tried_again(on_disk: Rig) -> None:
    async def story() -> None:
        rig = on_disk
        config = BrokerConfig((), rig.data_dir, {"log.cleaner.backoff.ms": str(HOUR_MS)})
        rig.broker = await Broker.open(config, lambda: rig.now_ms, OnceFailingFiles(".log.cleaned"))
        partition = await rig.topic()
        await rig.fill(partition)
        await rig.broker.cleaner.clean()
        assert rig.state(partition).failures == 1
        assert rig.leftovers() == []
        time_passes(HOUR_MS)
        await rig.broker.cleaner.clean()
        assert rig.state(partition).runs == 1
        await rig.broker.close()

    run(story)


def test_a_swap_that_was_decided_is_finished_before_the_next_pass(on_disk: Rig) -> None:
    async def story() -> None:
        rig = on_disk
        config = BrokerConfig((), rig.data_dir, {"log.cleaner.backoff.ms": str(HOUR_MS)})
        rig.broker = await Broker.open(config, lambda: rig.now_ms, OnceFailingFiles(".log.swap"))
        partition = await rig.topic()
        await rig.fill(partition)
        await rig.broker.cleaner.clean()
        assert rig.state(partition).failures == 1
        assert partition.log.unfinished_swap is not None
        time_passes(HOUR_MS)
        await rig.broker.cleaner.clean()
        assert partition.log.unfinished_swap is None
        assert rig.leftovers() == []
        time_passes(2 * HOUR_MS)
        await rig.broker.cleaner.clean()
        state = rig.state(partition)
        assert (state.runs, state.failures) == (1, 1)
        await rig.broker.close()

    run(story)


def test_a_partition_whose_disk_hangs_does_not_stop_the_others(
    on_disk: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its checkpoint hangs, and what was compacted cannot be put in place."""
    monkeypatch.setattr(cleaner, "PATIENCE_SECONDS", 0.0)

    async def story() -> None:
        await on_disk.open()
        hung, good = await on_disk.topic(name="hung"), await on_disk.topic(name="good")
        for partition in (hung, good):
            await on_disk.fill(partition)
        async with asyncio.timeout(60):
            async with hung._maintenance:
                await on_disk.broker.cleaner.clean()
                while not on_disk.state(good).runs:
                    await asyncio.sleep(0.01)
                    await on_disk.broker.cleaner.clean()
                assert on_disk.state(hung).runs == 0
            await on_disk.broker.cleaner.ended()
        assert on_disk.state(hung).runs == 1
        await on_disk.broker.close()
        assert on_disk.leftovers() == []

    run(story)


def test_a_stop_waits_for_compacted_segments_that_are_being_put_in_place(
    on_disk: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleaner, "PATIENCE_SECONDS", 0.0)

    async def story() -> None:
        await on_disk.open()
        hung = await on_disk.topic(name="hung")
        await on_disk.fill(hung)
        before = latest(hung)
        async with hung._maintenance:
            await on_disk.broker.cleaner.clean()
            stopping = asyncio.ensure_future(on_disk.broker.close())
            done, _ = await asyncio.wait([stopping], timeout=0.1)
            assert not done
        await stopping
        assert on_disk.leftovers() == []
        broker = await on_disk.open()
        assert latest(broker.topics.named("hung").partition(0)) == before
        await broker.close()

    run(story)


class Failing(ChildProcess):
    """A child that ends because its disk fails."""

    async def run(
        self, request: Request, is_void: Callable[[], bool], hangs: Callable[[], None]
    ) -> Result:
        raise CompactionError("Input/output error")


def test_a_pass_that_fails_where_the_disk_hangs_does_not_stop_the_others(
    on_disk: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its child has written cannot be removed."""
    monkeypatch.setattr(cleaner, "PATIENCE_SECONDS", 0.0)

    async def story() -> None:
        broker = await on_disk.open()
        hung = await on_disk.topic(name="hung")
        await on_disk.fill(hung)
        broker.cleaner._compactor._runner = Failing()  # type: ignore[attr-defined]
        async with asyncio.timeout(60):
            async with hung._maintenance:
                await broker.cleaner.clean()
                assert on_disk.state(hung).failures == 0
            await broker.cleaner.ended()
        assert on_disk.state(hung).error == "Input/output error"
        await broker.close()

    run(story)


class Hanging(FilesInSlices):
    """Children that hang, of topics whose names begin so."""

    def __init__(self, topics: str) -> None:
        super().__init__(OsFiles())
        self._topics = f"/{topics}"
        self.children = 0
        self.may_end = asyncio.Event()

    async def run(
        self, request: Request, is_void: Callable[[], bool], hangs: Callable[[], None]
    ) -> Result:
        if self._topics in request.directory:
            self.children += 1
            hangs()
            await self.may_end.wait()
            self.children -= 1
        return await super().run(request, is_void, hangs)


class Stumbling:
    """A compactor with a bug that only one topic brings out."""

    def __init__(self, compactor: Compactor, topic: str) -> None:
        self._compactor = compactor
        self._topic = topic
        self.children = 0

    async def compact(self, work: Work, compacted: Callable[[], None]) -> Done | None:
        if work.partition.name.topic == self._topic:
            raise ArithmeticError("nobody thought of this")
        return await self._compactor.compact(work, compacted)

    def stop(self) -> None:
        self._compactor.stop()


def test_children_that_hang_leave_room_for_the_compaction_of_others(
    on_disk: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hung swaps are the most, as each keeps a thread. A child keeps none."""
    monkeypatch.setattr(cleaner, "PATIENCE_SECONDS", 0.0)

    async def story() -> None:
        broker = await on_disk.open()
        broker.cleaner._compactor._runner = runner = Hanging("hung")  # type: ignore[attr-defined]
        for name in ("hung0", "hung1", "hung2"):
            await on_disk.fill(await on_disk.topic(name=name))
            await broker.cleaner.clean()
        well = await on_disk.topic(name="well")
        await on_disk.fill(well)
        async with asyncio.timeout(60):
            await broker.cleaner.clean()
            while not on_disk.state(well).runs:
                await asyncio.sleep(0)
        assert runner.children == 3
        runner.may_end.set()
        await broker.cleaner.ended()
        assert [on_disk.state(p).runs for p in broker.cleaner._compacted()].count(1) == 4
        await broker.close()

    run(story)


def test_so_many_hung_children_are_enough(on_disk: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaner, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(cleaner, "_MOST_HUNG_CHILDREN", 2)

    async def story() -> None:
        broker = await on_disk.open()
        broker.cleaner._compactor._runner = runner = Hanging("hung")  # type: ignore[attr-defined]
        for name in ("hung0", "hung1", "hung2"):
            await on_disk.fill(await on_disk.topic(name=name))
            await broker.cleaner.clean()
        assert runner.children == 2
        runner.may_end.set()
        await broker.cleaner.ended()
        await broker.close()

    run(story)


def test_children_that_end_together_take_two_threads_at_most(
    on_disk: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleaner, "PATIENCE_SECONDS", 0.0)

    async def story() -> None:
        broker = await on_disk.open()
        broker.cleaner._compactor._runner = runner = Hanging("hung")  # type: ignore[attr-defined]
        swapping, may_swap = set[Partition](), asyncio.Event()

        async def swap(self: Partition, *args: object) -> bool:
            swapping.add(self)
            await may_swap.wait()
            return await swap_in(self, *args)  # type: ignore[arg-type]

        swap_in = Partition.swap
        monkeypatch.setattr(Partition, "swap", swap)
        for number in range(4):
            await on_disk.fill(await on_disk.topic(name=f"hung{number}"))
            await broker.cleaner.clean()
        runner.may_end.set()
        async with asyncio.timeout(60):
            while runner.children:
                await asyncio.sleep(0)
            for _ in range(20):
                await asyncio.sleep(0)
            assert len(swapping) == 2
            may_swap.set()
            await broker.cleaner.ended()
        assert len(swapping) == 4
        await broker.close()

    run(story)


def test_whatever_goes_wrong_with_one_topic_does_not_stop_the_others(rig: Rig) -> None:
    async def story() -> None:
        await rig.open()
        bad, good = await rig.topic(name="bad"), await rig.topic(name="good")
        for partition in (bad, good):
            await rig.fill(partition)
        cleaner = rig.broker.cleaner
        cleaner._compactor = Stumbling(cleaner._compactor, "bad")
        await cleaner.clean()
        assert rig.state(good).runs == 1
        state = rig.state(bad)
        assert (state.failures, state.error) == (1, "nobody thought of this")
        await cleaner.clean()
        assert rig.state(bad).failures == 1, "it waits before it tries again"
        await rig.broker.close()

    run(story)


def test_figures_of_a_topic_that_cannot_be_read_do_not_hide_those_of_others(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        await rig.open()
        bad, _ = await rig.topic(name="bad"), await rig.topic(name="good")
        await rig.fill(bad)

        def fail() -> tuple[int, int]:
            raise OSError(errno.EIO, "Input/output error")

        bad.log.config = replace(bad.log.config, min_compaction_lag_ms=1)
        monkeypatch.setattr(type(bad.log.sealed[0]), "latest", lambda segment: fail())
        page = exposition(rig.broker.cleaner.metrics())
        assert 'topic="good"' in page
        assert 'topic="bad"' not in page
        monkeypatch.undo()
        await rig.broker.close()

    run(story)


def test_what_is_no_failure_of_one_partition_ends_the_cleaner(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    class EndOfAllError(BaseException):
        pass

    async def no_pass(work: Work, compacted: Callable[[], None]) -> Done:
        raise EndOfAllError

    async def story() -> None:
        broker = await rig.open()
        partition = await rig.topic()
        await rig.fill(partition)
        monkeypatch.setattr(broker.cleaner._compactor, "compact", no_pass)
        with pytest.raises(EndOfAllError):
            # Before, it chose the same partition again and again, for ever.
            await asyncio.wait_for(broker.cleaner.clean(), 60)
        await broker.close()

    run(story)


def test_a_child_that_hangs_does_not_stop_the_cleaner(
    on_disk: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleaner, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(compactors, "_LOOK_SECONDS", 0.01)

    async def story() -> None:
        broker = await on_disk.open()
        hung, well = await on_disk.topic(name="hung"), await on_disk.topic(name="well")
        await on_disk.fill(hung)
        runner = broker.cleaner._compactor._runner  # type: ignore[attr-defined]
        cleaning = asyncio.create_task(broker.cleaner.clean())
        while not runner.processes:
            await asyncio.sleep(0)
        (child,) = runner.processes
        child.send_signal(signal.SIGSTOP)
        try:
            async with asyncio.timeout(60):
                await cleaning
                await on_disk.fill(well)
                await broker.cleaner.clean()
                while not on_disk.state(well).runs:
                    await asyncio.sleep(0.01)
            assert on_disk.state(hung).runs == 0
        finally:
            child.send_signal(signal.SIGCONT)
        async with asyncio.timeout(60):
            while not on_disk.state(hung).runs:
                await asyncio.sleep(0.01)
        await broker.close()

    run(story)
