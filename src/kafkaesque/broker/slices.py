"""Long work on the event loop, a slice at a time, so that no request keeps the others waiting.

Whoever has thousands of things to do takes a slice of less than a millisecond and then waits for
the next. All long work of a broker shares one lane: in every fifth turn of the loop one slice is
taken, by whoever has waited longest. A hundred clients with large requests wait for each other;
nobody else waits for them: a request for a few things is no long work, and one for a hundred comes
before them, for it is done with its first slice. A request takes some turns, too, from a flush to
its answer four: in each it would meet a slice, if there were one in each. So long work that has had
a slice also waits for flushes that end soon (flushes.py), and where there are others its slices are
short. The longer it has waited, the longer is its next slice, so that it always goes on.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterable
from functools import partial
from itertools import chain, islice
from math import inf
from time import perf_counter, sleep
from typing import TypeAlias, TypeVar

from kafkaesque.broker.flushes import Flushes

T = TypeVar("T")
_Then: TypeAlias = Callable[[asyncio.AbstractEventLoop], None]

SLICE_SECONDS = 0.0007
SHORT_SLICE_SECONDS = 0.00015
"""In company, if there was one just before. To begin one takes half as long, so for those who are
alone it would be a waste.
"""
_OF_WHAT_WAS_WAITED = 1 / 3
_COMPANY_SECONDS = 0.05
"""So long after a request that was not long there may be the next one."""
TURNS_PER_SLICE = 5
"""From one slice to the next. A turn with nothing to do takes microseconds."""
_TURNS_TO_ANSWER = 3
"""From the end of a flush."""
_MOST_SECONDS = 0.01
"""The same: where turns are long, five of them would be too long for those who wait."""
_FEW = 8
"""Things that are done at once, whoever else has a slice."""
_BEGINNERS_IN_A_ROW = 3
"""Slices for those who have had none, before one for those who have."""


class Slices:
    """`clock` is for tests: with one that stands still, nothing is ever long."""

    def __init__(
        self, clock: Callable[[], float] = perf_counter, flushes: Flushes | None = None
    ) -> None:
        self._clock = clock
        self._flushes = flushes or Flushes()
        self.has_company = False
        """Set with each request that is not long."""
        self._company_until = -inf
        self._slice_ended = -inf
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
            self._after(TURNS_PER_SLICE, self._next, loop)

    def _after(self, turns: int, then: _Then, loop: asyncio.AbstractEventLoop) -> None:
        self._wait(loop, turns, loop.time() + _MOST_SECONDS, then)

    def _wait(self, loop: asyncio.AbstractEventLoop, turns: int, until: float, then: _Then) -> None:
        """For so many turns, or that long."""
        if turns and loop.time() < until:
            loop.call_soon(self._wait, loop, turns - 1, until, then)
        else:
            then(loop)

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        goes_on = self._somebody_waits() and not self._begins_next()
        if not (goes_on and self._flushes.call_when_ended(partial(self._flushed, loop))):
            self._give(loop)

    def _flushed(self, loop: asyncio.AbstractEventLoop, have_ended: bool) -> None:
        """Now there is a slice, whatever is flushed next: else there might never be one."""
        if have_ended:
            self._after(_TURNS_TO_ANSWER, self._give, loop)
        else:
            self._give(loop)

    def _give(self, loop: asyncio.AbstractEventLoop) -> None:
        """Whoever is called here has the slice of the turn that follows."""
        self._is_taken = self._somebody_waits()
        if self._is_taken:
            _let_threads_run()
            self._longest_waiting().set_result(None)
            self._after(TURNS_PER_SLICE, self._next, loop)

    def _somebody_waits(self) -> bool:
        for queue in (self._waiting, self._beginning):
            while queue and queue[0].done():
                queue.popleft()
        return bool(self._waiting or self._beginning)

    def _begins_next(self) -> bool:
        """Whether the next slice is for somebody who has had none."""
        is_beginners = self._beginning and self._begun_in_a_row < _BEGINNERS_IN_A_ROW
        return bool(is_beginners) or not self._waiting

    def _longest_waiting(self) -> asyncio.Future[None]:
        if self._begins_next():
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
        return self._end_of_slice(is_first=True)

    async def _go_on(self, *, is_first: bool = False) -> float:
        await self.turn(is_first=is_first)
        return self._end_of_slice()

    def _end_of_slice(self, *, is_first: bool = False) -> float:
        """Of the one that begins now."""
        now = self._clock()
        if self.has_company:
            self.has_company = False
            self._company_until = now + _COMPANY_SECONDS
        length = SLICE_SECONDS
        if now < self._company_until:
            share = 0.0 if is_first else (now - self._slice_ended) * _OF_WHAT_WAS_WAITED
            length = min(max(SHORT_SLICE_SECONDS, share), SLICE_SECONDS)
        self._slice_ended = now + length
        return self._slice_ended


def _let_threads_run() -> None:
    """Those that flush wait for the interpreter's lock. Whoever gives it up for less than it takes
    one of them to wake up has it again first; and as long as that goes on more often than the
    switch interval, none of them ever asks for it. Of a sleep as short as can be a thread makes
    sixty microseconds.
    """
    sleep(1e-6)
