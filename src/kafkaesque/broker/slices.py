"""Long work on the event loop, a slice at a time, so that no request keeps the others waiting.

Whoever has thousands of things to do takes a slice of a few milliseconds and then waits for the
next. All long work of a broker shares one lane: in each turn of the loop one slice is taken, of
whoever has waited longest. A hundred clients with large requests wait for each other; nobody else
waits for them: a request for a few things is no long work.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterable
from math import inf
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")

SLICE_SECONDS = 0.001
_FEW = 8
"""Things that are done at once, whoever else has a slice in the same turn."""


class Slices:
    """`clock` is for tests: with one that stands still, nothing is ever long."""

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_scheduled = False
        self._taken_in = -1.0

    @property
    def is_busy(self) -> bool:
        """Whether somebody waits for a slice."""
        return bool(self._waiting)

    async def turn(self) -> None:
        """Wait for a slice."""
        loop = asyncio.get_running_loop()
        mine: asyncio.Future[None] = loop.create_future()
        self._waiting.append(mine)
        if not self._is_scheduled:
            self._is_scheduled = True
            loop.call_soon(self._next, loop)
        await mine

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting and self._waiting[0].done():
            self._waiting.popleft()
        if self._waiting:
            self._waiting.popleft().set_result(None)
        self._is_scheduled = bool(self._waiting)
        if self._is_scheduled:
            loop.call_soon(self._next, loop)

    async def run(self, steps: Generator[None, None, T]) -> T:
        """All the steps, and what they come to."""
        until = await self._begin()
        while True:
            try:
                next(steps)
            except StopIteration as end:
                result: T = end.value
                return result
            if self._clock() > until:
                until = await self._go_on()

    async def paced(self, items: Iterable[T]) -> AsyncIterator[T]:
        """The items, with room for others between them. Of what may change meanwhile, pass a
        copy.
        """
        until = inf
        for number, item in enumerate(items):
            if number == _FEW:
                until = await self._begin()
            elif self._clock() > until:
                until = await self._go_on()
            yield item

    async def _begin(self) -> float:
        """The loop's own time stands still within a turn: one slice in each."""
        if asyncio.get_running_loop().time() == self._taken_in:
            await self.turn()
        return self._clock() + SLICE_SECONDS

    async def _go_on(self) -> float:
        self._taken_in = asyncio.get_running_loop().time()
        await self.turn()
        return self._clock() + SLICE_SECONDS
