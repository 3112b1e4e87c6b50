"""Housekeeping of many, each by itself: a few at once, whatever hangs or breaks."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.held_disk import settled

from kafkaesque.broker import upkeep
from kafkaesque.broker.upkeep import Upkeep

AT_ONCE = 2
THREADS = 3


class _Work:
    """What was begun and what has ended. Those that are held wait until they are let go."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.ended: list[int] = []
        self.held: dict[int, asyncio.Event] = {}
        self.broken: set[int] = set()
        self.threads = 0

    def hold(self, *items: int) -> None:
        self.held.update((item, asyncio.Event()) for item in items)

    def let_go(self, item: int) -> None:
        self.held.pop(item).set()

    async def __call__(self, item: int) -> None:
        self.begun.append(item)
        self.threads += 1
        if item in self.held:
            await self.held[item].wait()
        self.threads -= 1
        if item in self.broken:
            raise ArithmeticError("nobody thought of this")
        self.ended.append(item)


def run(story: Callable[[Upkeep[int], _Work], Awaitable[None]]) -> None:
    async def main() -> None:
        work = _Work()
        await story(Upkeep(AT_ONCE, lambda: work.threads < THREADS), work)

    asyncio.run(main())


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "PATIENCE_SECONDS", 0.0)


def test_a_few_are_under_way_at_once_whoever_began_them() -> None:
    async def story(each: Upkeep[int], work: _Work) -> None:
        work.hold(0, 1, 10)
        rounds = [asyncio.ensure_future(each.run(range(n, n + 5), work)) for n in (0, 10)]
        await settled()
        assert work.begun == [0, 1]
        work.let_go(0)
        await settled()
        assert work.begun == [0, 1, 10]
        work.let_go(1)
        work.let_go(10)
        await asyncio.gather(*rounds)
        assert sorted(work.ended) == [*range(5), *range(10, 15)]

    run(story)


@pytest.mark.usefixtures("impatient")
def test_one_that_hangs_is_left_out_until_it_has_ended() -> None:
    async def story(each: Upkeep[int], work: _Work) -> None:
        work.hold(0)
        await each.run(range(3), work)
        await each.run(range(3), work)
        await settled()
        assert work.begun == [0, 1, 2, 1, 2]
        work.let_go(0)
        await settled()
        await each.run([0], work)
        await settled()
        assert work.ended[-2:] == [0, 0]

    run(story)


@pytest.mark.usefixtures("impatient")
def test_while_many_threads_are_taken_nothing_is_begun() -> None:
    async def story(each: Upkeep[int], work: _Work) -> None:
        work.hold(*range(10))
        await each.run(range(10), work)
        assert THREADS <= len(work.begun) < THREADS + AT_ONCE
        begun = list(work.begun)
        await each.run(range(10), work)
        assert work.begun == begun
        for item in begun:
            work.let_go(item)
        await settled()
        await each.run([20], work)
        await settled()
        assert work.ended == [*begun, 20]

    run(story)


@pytest.mark.usefixtures("impatient")
def test_those_who_wait_and_take_no_thread_stop_no_other() -> None:
    """A checkpoint waits for a flush that hangs, in a thread of others."""

    async def story(each: Upkeep[int], work: _Work) -> None:
        flushed = asyncio.Event()

        async def checkpoint(item: int) -> None:
            await (flushed.wait() if item < 10 else work(item))

        await each.run(range(20), checkpoint)
        await settled()
        assert work.ended == [*range(10, 20)]
        flushed.set()
        await each.ended()

    run(story)


@pytest.mark.usefixtures("impatient")
def test_one_that_hangs_for_two_is_left_out_until_both_have_ended() -> None:
    async def story(each: Upkeep[int], work: _Work) -> None:
        first, second = asyncio.Event(), asyncio.Event()
        rounds = [each.run([0], lambda _, until=until: until.wait()) for until in (first, second)]  # type: ignore[misc]
        await asyncio.gather(*rounds)
        first.set()
        await settled()
        await each.run([0], work)
        assert work.begun == []
        second.set()
        await settled()
        await each.run([0], work)
        await settled()
        assert work.ended == [0]

    run(story)


def test_a_round_that_is_cancelled_leaves_out_what_it_began() -> None:
    async def story(each: Upkeep[int], work: _Work) -> None:
        work.hold(0)
        cancelled = asyncio.ensure_future(each.run(range(9), work))
        await settled()
        cancelled.cancel()
        await settled()
        await each.run([0, 20], work)
        assert work.begun.count(0) == 1
        assert 20 in work.ended
        work.let_go(0)
        await each.ended()

    run(story)


def test_one_that_breaks_stops_no_other_and_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def story(each: Upkeep[int], work: _Work) -> None:
        work.broken = {0, 3}
        await each.run(range(5), work)
        assert sorted(work.ended) == [1, 2, 4]
        assert [record.getMessage() for record in caplog.records] == [
            f"housekeeping of {item} failed, and will be tried again" for item in (0, 3)
        ]

    run(story)


@pytest.mark.usefixtures("impatient")
def test_the_end_waits_for_what_hangs_and_then_for_all() -> None:
    async def story(each: Upkeep[int], work: _Work) -> None:
        work.hold(0)
        await each.run([0], work)
        ending = asyncio.ensure_future(each.ended())
        await settled()
        assert not ending.done()
        work.let_go(0)
        await ending
        work.hold(1)
        last = asyncio.ensure_future(each.run([1], work))
        await settled()
        assert not last.done()
        work.let_go(1)
        await last
        assert work.ended == [0, 1]

    run(story)
