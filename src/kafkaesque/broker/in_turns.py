"""Long lists, a slice in each turn of the event loop.

A request of a megabyte can name a hundred thousand things. Whoever goes through them gives the loop
back in between, so that nobody else waits for more than some 10 ms. By count, not by a clock: the
same requests make the same history, which a simulation relies on.
Above: apis/, coordinator.py, transactions.py.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")

PER_TURN = 500
"""Of things that take up to 20 µs each."""


async def in_turns(items: Iterable[T], per_turn: int = PER_TURN) -> AsyncIterator[T]:
    """The items, so many in each turn."""
    left = per_turn
    for item in items:
        if not left:
            await asyncio.sleep(0)
            left = per_turn
        left -= 1
        yield item
