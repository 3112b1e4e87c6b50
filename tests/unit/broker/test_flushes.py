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
    flushes, calls = Flushes(), list[str]()
    assert not flushes.call_when_ended(lambda: calls.append("ended"))
    flushes.begun()
    flushes.ended()
    assert not flushes.call_when_ended(lambda: calls.append("ended"))
    assert not calls


def test_who_waits_is_called_once_and_when_all_have_ended() -> None:
    async def scenario(loop: StillLoop) -> None:
        flushes, calls = Flushes(), list[str]()
        flushes.begun()
        flushes.begun()
        assert flushes.call_when_ended(lambda: calls.append("ended"))
        flushes.ended()
        assert not calls
        flushes.ended()
        assert calls == ["ended"]
        flushes.begun()
        flushes.ended()
        await later(loop)
        assert calls == ["ended"]

    on_still_loop(scenario)


def test_one_that_hangs_is_waited_for_once() -> None:
    async def scenario(loop: StillLoop) -> None:
        flushes, calls = Flushes(), list[str]()
        flushes.begun()
        assert flushes.call_when_ended(lambda: calls.append("gave up"))
        await later(loop)
        assert calls == ["gave up"]
        assert not flushes.call_when_ended(lambda: calls.append("again"))
        # Another one is waited for, beside it, and that is all.
        flushes.begun()
        assert flushes.call_when_ended(lambda: calls.append("ended"))
        flushes.ended()
        assert calls == ["gave up", "ended"]
        assert not flushes.call_when_ended(lambda: calls.append("again"))

    on_still_loop(scenario)


def test_when_one_that_hung_has_ended_the_next_is_waited_for_again() -> None:
    async def scenario(loop: StillLoop) -> None:
        flushes = Flushes()
        flushes.begun()
        assert flushes.call_when_ended(lambda: None)
        await later(loop)
        flushes.ended()
        flushes.begun()
        assert flushes.call_when_ended(lambda: None)
        await later(loop)

    on_still_loop(scenario)
