"""Long work on the event loop, a slice at a time, so that no request keeps the others waiting.

Whoever has thousands of things to do takes a slice of a few milliseconds and then waits for the
next. All long work of a broker shares one lane: in every fifth turn of the loop one slice is taken,
by whoever has waited longest. A hundred clients with large requests wait for each other; nobody
else waits for them: a request for a few things is no long work, and one for a hundred comes before
them, for it is done with its first slice. A request takes some turns, too, from a flush to its
answer four: in each it would meet a slice, if there were one in each.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterable
from itertools import chain, islice
from math import inf
from time import perf_counter, sleep
from typing import TypeVar

T = TypeVar("T")

SLICE_SECONDS = 0.0007
TURNS_PER_SLICE = 5
"""From one slice to the next. A turn with nothing to do takes microseconds."""
_MOST_SECONDS = 0.01
"""The same: where turns are long, five of them would be too long for those who wait."""
_FEW = 8
"""Things that are done at once, whoever else has a slice."""
_BEGINNERS_IN_A_ROW = 3
"""Slices for those who have had none, before one for those who have."""


class Slices:
    """`clock` is for tests: with one that stands still, nothing is ever long."""

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._beginning: deque[asyncio.Future[None]] = deque()
        self._begun_in_a_row = 0
        self._is_taken = False
        """The slice of these turns, or the next."""

    @property
    def is_busy(self) -> bool:
        """Whether long work is under way. To ask who waits would not do: one alone has its slice,
        and waits for the next only in the moment before it gets it.
        """
        return self._is_taken

    async def turn(self, *, is_first: bool = False) -> None:
        """Wait for a slice."""
        loop = asyncio.get_running_loop()
        mine: asyncio.Future[None] = loop.create_future()
        (self._beginning if is_first else self._waiting).append(mine)
        self._take(loop)
        await mine

    def _take(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._is_taken:
            self._is_taken = True
            self._wait(loop, TURNS_PER_SLICE, loop.time() + _MOST_SECONDS)

    def _wait(self, loop: asyncio.AbstractEventLoop, turns: int, until: float) -> None:
        """For so many turns, or that long."""
        if turns and loop.time() < until:
            loop.call_soon(self._wait, loop, turns - 1, until)
        else:
            self._next(loop)

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        """Whoever is called here has the slice of the turn that follows."""
        for queue in (self._waiting, self._beginning):
            while queue and queue[0].done():
                queue.popleft()
        self._is_taken = bool(self._waiting or self._beginning)
        if self._is_taken:
            _let_threads_run()
            self._longest_waiting().set_result(None)
            self._wait(loop, TURNS_PER_SLICE, loop.time() + _MOST_SECONDS)

    def _longest_waiting(self) -> asyncio.Future[None]:
        is_beginners = self._beginning and self._begun_in_a_row < _BEGINNERS_IN_A_ROW
        if is_beginners or not self._waiting:
            self._begun_in_a_row += 1
            return self._beginning.popleft()
        self._begun_in_a_row = 0
        return self._waiting.popleft()

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

    async def batches(self, items: Iterable[T], size: int) -> AsyncIterator[list[T]]:
        """The items, so many at a time: for whoever has to deal with a batch in one step."""
        left = iter(items)
        few = list(islice(left, _FEW + 1))
        until = await self._begin() if len(few) > _FEW else inf
        left = chain(few, left)
        while batch := list(islice(left, size)):
            if self._clock() > until:
                until = await self._go_on()
            yield batch

    async def _begin(self) -> float:
        """At once, if nobody has had a slice in these turns."""
        if self._is_taken:
            return await self._go_on(is_first=True)
        self._take(asyncio.get_running_loop())
        return self._clock() + SLICE_SECONDS

    async def _go_on(self, *, is_first: bool = False) -> float:
        await self.turn(is_first=is_first)
        return self._clock() + SLICE_SECONDS


def _let_threads_run() -> None:
    """Those that flush wait for the interpreter's lock. Whoever gives it up for less than it takes
    one of them to wake up has it again first; and as long as that goes on more often than the
    switch interval, none of them ever asks for it. Of a sleep as short as can be a thread makes
    sixty microseconds.
    """
    sleep(1e-6)
