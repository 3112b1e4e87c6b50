"""Full passes of the garbage collector are made when they are due and nobody is busy."""

import asyncio
import gc
from collections.abc import Iterator
from itertools import count, repeat

import pytest

from kafkaesque.broker import collector
from kafkaesque.broker.collector import Collector
from kafkaesque.broker.slices import Slices

pytestmark = pytest.mark.usefixtures("passes")


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The generations that were looked at; automatic passes are off."""
    made: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            made.append(info["generation"])

    monkeypatch.setattr(collector, "_DUE", 3)
    monkeypatch.setattr(collector, "_PATIENCE", 5)
    gc.disable()
    gc.collect()
    gc.callbacks.append(note)
    yield made
    gc.callbacks.remove(note)
    gc.enable()


def make_due() -> None:
    for _ in range(3):
        gc.collect(1)


def test_a_full_pass_is_made_when_it_is_due(passes: list[int]) -> None:
    a_collector = Collector(lambda: False)
    a_collector.look()
    assert passes == []
    make_due()
    a_collector.look()
    a_collector.look()
    assert passes == [1, 1, 1, 2]


def test_it_waits_for_long_requests_but_not_for_ever(passes: list[int]) -> None:
    is_busy = True
    a_collector = Collector(lambda: is_busy)
    make_due()
    for _ in range(5):
        a_collector.look()
    assert 2 not in passes
    a_collector.look()
    assert passes.count(2) == 1
    make_due()
    a_collector.look()
    assert passes.count(2) == 1
    is_busy = False
    a_collector.look()
    assert passes.count(2) == 2


def test_it_waits_for_a_request_that_is_gone_through_in_slices_but_not_if_that_never_ends(
    passes: list[int],
) -> None:
    async def scenario() -> None:
        clock = count()
        slices = Slices(lambda: next(clock))

        async def endless() -> None:
            async for _ in slices.paced(repeat(None)):
                pass

        request = asyncio.create_task(endless())
        await asyncio.sleep(0)
        a_collector = Collector(lambda: slices.is_busy)
        for made in (0, 1):
            make_due()
            for _ in range(5):
                a_collector.look()
                await asyncio.sleep(0)
            assert passes.count(2) == made
            a_collector.look()
            assert passes.count(2) == made + 1
        request.cancel()

    asyncio.run(scenario())
