"""Long work waits for flushes that are under way, but not for ever, nor twice for the same."""

import asyncio
from collections.abc import Awaitable, Callable

from kafkaesque.broker.flushes import Flushes


class StillLoop(asyncio.SelectorEventLoop):
    """Its time goes on when a test says so."""

    now = 0.0

    def time(self) -> float:
        return self.now


def on_still_loop(scenario: Callable[[StillLoop], Awaitable[None]]) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, StillLoop)
        await scenario(loop)

    with asyncio.Runner(loop_factory=StillLoop) as runner:
        runner.run(main())


async def later(loop: StillLoop) -> None:
    """When patience is over."""
    loop.now += 0.1
    for _ in range(3):
        await asyncio.sleep(0)


def test_with_no_flush_there_is_nothing_to_wait_for() -> None:
    flushes, calls = Flushes(), list[bool]()
    assert not flushes.call_when_ended(calls.append)
    flushes.begun()
    flushes.ended()
    assert not flushes.call_when_ended(calls.append)
    assert not calls


def test_who_waits_is_called_once_and_when_all_have_ended() -> None:
    async def scenario(loop: StillLoop) -> None:
        flushes, calls = Flushes(), list[bool]()
        flushes.begun()
        flushes.begun()
        assert flushes.call_when_ended(calls.append)
        flushes.ended()
        assert not calls
        flushes.ended()
        assert calls == [True]
        flushes.begun()
        await later(loop)
        assert calls == [True]
        # That time has gone by since then means nothing to the next one who waits.
        assert flushes.call_when_ended(calls.append)
        flushes.ended()
        assert calls == [True, True]

    on_still_loop(scenario)


def test_those_that_take_long_are_waited_for_once() -> None:
    """Be it that one hangs, or that there is always another."""

    async def scenario(loop: StillLoop) -> None:
        flushes, calls = Flushes(), list[bool]()
        flushes.begun()
        assert flushes.call_when_ended(calls.append)
        await later(loop)
        assert calls == [False]
        for _ in range(10):
            flushes.begun()
            assert not flushes.call_when_ended(calls.append)
            flushes.ended()
        assert calls == [False]

    on_still_loop(scenario)


def test_when_all_have_ended_the_next_is_waited_for_again() -> None:
    async def scenario(loop: StillLoop) -> None:
        flushes, calls = Flushes(), list[bool]()
        flushes.begun()
        assert flushes.call_when_ended(calls.append)
        await later(loop)
        flushes.ended()
        flushes.begun()
        assert flushes.call_when_ended(calls.append)
        flushes.ended()
        assert calls == [False, True]

    on_still_loop(scenario)
