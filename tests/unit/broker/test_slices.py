"""Long work goes a slice at a time, and all long work shares one lane."""

import asyncio
from collections import Counter
from collections.abc import Callable, Generator
from itertools import count, pairwise

import pytest
import uvloop

from kafkaesque.broker.flushes import Flushes
from kafkaesque.broker.slices import (
    SHORT_SLICE_SECONDS,
    SLICE_SECONDS,
    TURNS_PER_SLICE,
    Slices,
)


class Clock:
    """Four looks at it take a little more than a slice."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += SLICE_SECONDS / 3.9
        return self.now


class TurnsLoop(asyncio.SelectorEventLoop):
    """Counts its turns."""

    turns = 0
    _now = 0.0

    def time(self) -> float:
        """As long as somebody does not move it, it stands still."""
        return self._now

    def _run_once(self) -> None:
        self.turns += 1
        super()._run_once()  # type: ignore[misc]


async def _all(slices: Slices, number: int) -> None:
    async for _ in slices.paced(range(number)):
        pass


async def _batches(slices: Slices, number: int) -> None:
    async for _ in slices.batches(range(number), 100):
        pass


def test_items_come_in_order_with_room_for_others_in_between() -> None:
    async def scenario() -> None:
        slices = Slices(Clock())
        seen: list[int] = []

        async def work() -> None:
            async for item in slices.paced(range(16)):
                seen.extend([item])

        task = asyncio.create_task(work())
        lengths = set()
        while not task.done():
            await asyncio.sleep(0)
            lengths.add(len(seen))
        assert seen == list(range(16))
        assert lengths == {12, 16}

    asyncio.run(scenario())


def test_a_few_things_do_not_wait_for_long_work() -> None:
    async def scenario() -> None:
        slices = Slices(Clock())
        long = [asyncio.create_task(_all(slices, 1_000)) for _ in range(20)]
        for _ in range(5):
            await asyncio.sleep(0)
        few = asyncio.create_task(_all(slices, 8))
        more = asyncio.create_task(_all(slices, 9))
        await asyncio.sleep(0)
        assert (few.done(), more.done()) == (True, False)
        await asyncio.gather(more, *long)

    asyncio.run(scenario())


def test_who_begins_comes_before_those_who_go_on_three_times_of_four() -> None:
    async def scenario() -> None:
        slices = Slices(Clock())
        ended: list[str] = []

        async def work(name: str, number: int) -> None:
            await _all(slices, number)
            ended.append(name)

        long = [asyncio.create_task(work("long", 1_000)) for _ in range(20)]
        for _ in range(200):
            await asyncio.sleep(0)
        short = [asyncio.create_task(work("short", 10)) for _ in range(20)]
        await asyncio.gather(*short, *long)
        assert ended == ["short"] * 20 + ["long"] * 20

    async def going_on() -> None:
        slices = Slices(Clock())
        long = asyncio.create_task(_all(slices, 200))
        await asyncio.sleep(0)
        begun = 0
        while not long.done():
            # There is always somebody who begins.
            beginning = asyncio.ensure_future(_all(slices, 9))
            while not (beginning.done() or long.done()):
                await asyncio.sleep(0)
            begun += 1
            await beginning
        assert 40 < begun < 400

    asyncio.run(scenario())
    asyncio.run(going_on())


def test_however_many_begin_there_is_one_slice_in_so_many_turns() -> None:
    done: Counter[int] = Counter()

    async def work(slices: Slices, loop: TurnsLoop) -> None:
        async for number in slices.paced(range(100)):
            if number >= 8:  # So many are no long work.
                done[loop.turns] += 1

    async def scenario() -> None:
        loop, slices = asyncio.get_running_loop(), Slices(Clock())
        assert isinstance(loop, TurnsLoop)
        await asyncio.gather(*(work(slices, loop) for _ in range(50)))

    with asyncio.Runner(loop_factory=TurnsLoop) as runner:
        runner.run(scenario())
    assert done.total() == 50 * 92
    assert max(done.values()) <= 5
    turns = sorted(done)
    assert all(later - turn >= TURNS_PER_SLICE for turn, later in pairwise(turns))


def test_where_turns_are_long_a_slice_comes_sooner() -> None:
    """Else those who wait would wait for five turns of half a second."""

    async def work(slices: Slices, loop: TurnsLoop) -> None:
        async for _ in slices.paced(range(100)):
            loop._now += 0.5

    async def scenario() -> int:
        loop, slices = asyncio.get_running_loop(), Slices(Clock())
        assert isinstance(loop, TurnsLoop)
        await work(slices, loop)
        return loop.turns

    with asyncio.Runner(loop_factory=TurnsLoop) as runner:
        # Some twenty slices, of four or five items each.
        assert 18 < runner.run(scenario()) < 2 * 23


def test_batches_come_in_order_and_one_in_a_slice_however_many_begin() -> None:
    done: Counter[int] = Counter()
    seen: list[list[int]] = []

    async def work(slices: Slices, loop: TurnsLoop) -> None:
        async for batch in slices.batches(range(25), 10):
            seen.append(batch)
            done[loop.turns] += 1

    async def scenario() -> None:
        seconds = count()
        loop, slices = asyncio.get_running_loop(), Slices(lambda: next(seconds))
        assert isinstance(loop, TurnsLoop)
        await asyncio.gather(*(work(slices, loop) for _ in range(20)))

    with asyncio.Runner(loop_factory=TurnsLoop) as runner:
        runner.run(scenario())
    assert max(done.values()) == 1
    whole = list(range(10)), list(range(10, 20)), list(range(20, 25))
    assert sorted(seen) == sorted([*whole] * 20)


def test_a_batch_of_a_few_does_not_wait_for_long_work() -> None:
    async def scenario() -> None:
        slices = Slices(Clock())
        long = asyncio.create_task(_all(slices, 1_000))
        await asyncio.sleep(0)
        few = asyncio.create_task(_batches(slices, 8))
        more = asyncio.create_task(_batches(slices, 9))
        await asyncio.sleep(0)
        assert (few.done(), more.done()) == (True, False)
        await asyncio.gather(more, long)

    asyncio.run(scenario())


def test_before_each_slice_threads_may_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before what is done at once."""
    naps = list[float]()
    monkeypatch.setattr("kafkaesque.broker.slices.sleep", naps.append)

    async def scenario() -> None:
        slices = Slices(Clock())
        await _all(slices, 8)
        assert not naps
        await asyncio.gather(_all(slices, 8 + 3 * 4), _all(slices, 8 + 3 * 4))
        assert len(naps) >= 5
        assert max(naps) < SLICE_SECONDS / 100

    asyncio.run(scenario())


def test_with_a_clock_that_stands_still_nothing_is_long() -> None:
    async def scenario() -> None:
        slices = Slices(lambda: 0.0)
        seen = [item async for item in slices.paced(range(10_000))]
        assert len(seen) == 10_000

    asyncio.run(scenario())


@pytest.mark.parametrize("loop_factory", [asyncio.SelectorEventLoop, uvloop.new_event_loop])
@pytest.mark.parametrize("requests", [1, 5])
def test_they_are_busy_while_a_long_request_is_under_way(
    loop_factory: Callable[[], asyncio.AbstractEventLoop], requests: int
) -> None:
    looks: list[bool] = []
    slices, left = Slices(Clock()), requests

    async def long_request() -> None:
        nonlocal left
        await _all(slices, 200)
        left -= 1

    def look() -> None:
        if left:
            looks.append(slices.is_busy)

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        await _all(slices, 8)
        assert not slices.is_busy
        long = asyncio.gather(*(long_request() for _ in range(requests)))
        await asyncio.sleep(0)
        while not long.done():
            look()
            loop.call_later(0, look)
            await asyncio.sleep(0)
        for _ in range(TURNS_PER_SLICE):
            await asyncio.sleep(0)
        assert not slices.is_busy

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(scenario())
    assert len(looks) > 50
    assert all(looks)


def test_what_the_steps_come_to_is_returned() -> None:
    def steps() -> Generator[None, None, str]:
        for _ in range(10):
            yield
        return "done"

    assert asyncio.run(Slices(Clock()).run(steps())) == "done"


def test_those_who_wait_get_one_slice_each_in_turn() -> None:
    async def scenario() -> None:
        slices = Slices(Clock())
        log: list[str] = []

        async def work(name: str) -> None:
            for _ in range(3):
                await slices.turn()
                log.append(name)

        await asyncio.gather(work("a"), work("b"), work("c"))
        assert log == ["a", "b", "c"] * 3

    asyncio.run(scenario())


def test_one_that_gave_up_waiting_is_passed_over() -> None:
    async def scenario() -> None:
        slices = Slices(Clock())
        first = asyncio.create_task(slices.turn())
        second = asyncio.create_task(slices.turn())
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait_for(second, 10)

    asyncio.run(scenario())


STEP_SECONDS = SHORT_SLICE_SECONDS / 30


async def _second_slice(gap_seconds: float, *, has_company: bool) -> float:
    """How long it is, so long after the first."""
    now, began = 0.0, list[float]()
    slices = Slices(lambda: now)
    turn = slices.turn

    async def later(*, is_first: bool = False) -> None:
        nonlocal now
        await turn(is_first=is_first)
        now += gap_seconds
        began.append(now)

    def steps() -> Generator[None, None, None]:
        nonlocal now
        while len(began) < 2:
            now += STEP_SECONDS
            yield

    slices.turn = later  # type: ignore[method-assign]
    slices.has_company = has_company
    await slices.run(steps())
    return began[1] - gap_seconds - began[0]


@pytest.mark.parametrize(
    ("gap_seconds", "has_company", "length"),
    [
        (0.0, True, SHORT_SLICE_SECONDS),
        (SHORT_SLICE_SECONDS, True, SHORT_SLICE_SECONDS),
        (SHORT_SLICE_SECONDS * 6, True, SHORT_SLICE_SECONDS * 2),
        (SLICE_SECONDS * 4, True, SLICE_SECONDS),
        (0.0, False, SLICE_SECONDS),
        (SLICE_SECONDS * 4, False, SLICE_SECONDS),
    ],
)
def test_in_company_slices_are_short_but_have_a_quarter_of_the_time(
    gap_seconds: float, has_company: bool, length: float
) -> None:
    measured = asyncio.run(_second_slice(gap_seconds, has_company=has_company))
    assert length <= measured < length + 2 * STEP_SECONDS


def test_company_is_forgotten() -> None:
    now = 0.0

    async def scenario() -> set[int]:
        nonlocal now
        slices = Slices(lambda: now)
        slices.has_company = True
        await _all(slices, 9)
        for _ in range(2 * TURNS_PER_SLICE):
            await asyncio.sleep(0)
        now += 1
        done: Counter[int] = Counter()
        loop = asyncio.get_running_loop()
        assert isinstance(loop, TurnsLoop)
        async for _ in slices.paced(range(200)):
            now += SLICE_SECONDS / 9.5
            done[loop.turns] += 1
        return {done[turn] for turn in sorted(done)[1:-1]}

    with asyncio.Runner(loop_factory=TurnsLoop) as runner:
        assert runner.run(scenario()) == {10}


def test_a_slice_that_begins_at_once_is_short_in_company() -> None:
    """However long ago the last one was."""
    now, ended = 0.0, list[float]()

    async def turn(*, is_first: bool = False) -> None:
        ended.append(now)

    async def scenario() -> None:
        nonlocal now
        slices = Slices(lambda: now)
        await _all(slices, 9)
        for _ in range(2 * TURNS_PER_SLICE):
            await asyncio.sleep(0)
        now = 1.0
        slices.has_company = True
        slices.turn = turn  # type: ignore[method-assign]
        async for number in slices.paced(range(100)):
            if number >= 8:
                now += STEP_SECONDS

    asyncio.run(scenario())
    assert ended[0] < 1 + SHORT_SLICE_SECONDS + 2 * STEP_SECONDS


def test_who_begins_does_not_wait_for_flushes() -> None:
    async def scenario() -> None:
        flushes = Flushes()
        loop, slices = asyncio.get_running_loop(), Slices(Clock(), flushes)
        assert isinstance(loop, TurnsLoop)
        long = asyncio.create_task(_all(slices, 1_000))
        await asyncio.sleep(0)
        flushes.begun()
        began = loop.turns
        # Its time stands still: who waited would wait for ever.
        await asyncio.gather(*(_all(slices, 10) for _ in range(3)))
        assert loop.turns - began < 10 * TURNS_PER_SLICE
        assert not long.done()
        flushes.ended()
        await long

    with asyncio.Runner(loop_factory=TurnsLoop) as runner:
        runner.run(scenario())


def test_after_a_wait_in_vain_the_slice_comes_at_once() -> None:
    async def scenario() -> int:
        flushes = Flushes()
        loop, slices = asyncio.get_running_loop(), Slices(Clock(), flushes)
        assert isinstance(loop, TurnsLoop)
        flushes.begun()
        work = asyncio.create_task(_all(slices, 8 + 4 + 4))
        for _ in range(4 * TURNS_PER_SLICE):
            await asyncio.sleep(0)
        loop._now += 1
        turn = loop.turns
        await work
        flushes.ended()
        return loop.turns - turn

    with asyncio.Runner(loop_factory=TurnsLoop) as runner:
        assert runner.run(scenario()) <= 4


def test_between_a_flush_and_its_answer_there_is_no_slice() -> None:
    async def scenario() -> None:
        flushes = Flushes()
        loop, slices = asyncio.get_running_loop(), Slices(Clock(), flushes)
        assert isinstance(loop, TurnsLoop)
        flushes.begun()
        work = asyncio.create_task(_all(slices, 8 + 4 + 4))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not work.done()
        assert slices.is_busy
        flushes.ended()
        # However many are under way by then: else they might be for ever.
        flushes.begun()
        ended = loop.turns
        await work
        assert 3 < loop.turns - ended < 10
        flushes.ended()

    with asyncio.Runner(loop_factory=TurnsLoop) as runner:
        runner.run(scenario())


@pytest.mark.parametrize("loop_factory", [asyncio.SelectorEventLoop, uvloop.new_event_loop])
def test_a_flush_that_hangs_holds_up_long_work_once(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def scenario() -> None:
        flushes = Flushes()
        slices = Slices(Clock(), flushes)
        waits = 0
        call_when_ended = flushes.call_when_ended

        def counted(then: Callable[[bool], None]) -> bool:
            nonlocal waits
            is_waiting = call_when_ended(then)
            waits += is_waiting
            return is_waiting

        flushes.call_when_ended = counted  # type: ignore[method-assign]
        flushes.begun()
        await _all(slices, 1_000)
        assert waits == 1

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(scenario())


def test_one_that_gives_up_while_a_flush_is_waited_for_leaves_the_lane_to_others() -> None:
    async def scenario() -> None:
        flushes = Flushes()
        slices = Slices(Clock(), flushes)
        flushes.begun()
        first = asyncio.create_task(slices.turn())
        for _ in range(2 * TURNS_PER_SLICE):
            await asyncio.sleep(0)
        first.cancel()
        flushes.ended()
        for _ in range(2 * TURNS_PER_SLICE):
            await asyncio.sleep(0)
        assert not slices.is_busy
        await asyncio.wait_for(slices.turn(), 10)

    asyncio.run(scenario())
