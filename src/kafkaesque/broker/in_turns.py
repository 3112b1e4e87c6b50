"""Long lists, a slice in each turn of the event loop.

A request of a megabyte can name a hundred thousand things. Whoever goes through them gives the loop
back in between, so that nobody else waits for more than some 10 ms. By count, not by a clock: the
same requests make the same history, which a simulation relies on.
Above: apis/, transactions.py.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")

PER_TURN = 500
"""Of things that take up to 20 µs each."""


class Pace:
    """Counts what is done, and gives the loop back when that is enough for one turn."""

    def __init__(self, per_turn: int = PER_TURN) -> None:
        self._per_turn = per_turn
        self._left = per_turn

    async def step(self, count: int = 1) -> None:
        """So much has been done."""
        self._left -= count
        if self._left <= 0:
            self._left = self._per_turn
            await asyncio.sleep(0)

    async def through(self, items: Iterable[T]) -> AsyncIterator[T]:
        """The items, each of them a step. One pace may go through several lists, one in another."""
        for item in items:
            yield item
            await self.step()


def in_turns(items: Iterable[T], per_turn: int = PER_TURN) -> AsyncIterator[T]:
    """The items, so many in each turn."""
    return Pace(per_turn).through(items)
