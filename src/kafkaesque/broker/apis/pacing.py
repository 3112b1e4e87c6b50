"""Many entries of one request, a part per turn of the loop: others are heard in between.

By number, not by time, so that the same request takes the same turns in every run. One `Pace` goes
through all lists of a request, whether they stand in each other or one after the other.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")

_PER_TURN = 1000
"""Each becomes an object of the response: together a few milliseconds."""


class Pace:
    __slots__ = ("_entries", "_per_turn")

    def __init__(self, per_turn: int = _PER_TURN) -> None:
        self._entries = 0
        self._per_turn = per_turn

    async def through(self, entries: Iterable[T]) -> AsyncIterator[T]:
        for entry in entries:
            yield entry
            self._entries += 1
            if self._entries % self._per_turn == 0:
                await asyncio.sleep(0)
