"""How many flushes are under way, and a wait for their ends.

Somebody's acknowledgement hangs on each. A thread that has flushed needs the interpreter's lock to
say so, and its answer takes some turns of the loop: long work that goes on meanwhile is in the way
of both. So a slice waits until flushes have ended, but for a millisecond at most: what a disk, or
so many producers, keep under way for longer is not waited for again.
Above: slices.py, which waits. partition.py says when a flush begins and ends.
"""

import asyncio
from collections.abc import Callable

_PATIENCE_SECONDS = 0.001


class Flushes:
    def __init__(self) -> None:
        self.under_way = 0
        self._overdue = 0
        """So many of them were waited for in vain."""
        self._then: Callable[[], None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begun(self) -> None:
        self.under_way += 1

    def ended(self) -> None:
        self.under_way -= 1
        self._overdue = min(self._overdue, self.under_way)
        if self._then is not None and self.under_way == self._overdue:
            self._call()

    def call_when_ended(self, then: Callable[[], None]) -> bool:
        """Whether there is something to wait for. One waits at a time."""
        if self.under_way == self._overdue:
            return False
        self._then = then
        self._timer = asyncio.get_running_loop().call_later(_PATIENCE_SECONDS, self._give_up)
        return True

    def _give_up(self) -> None:
        self._overdue = self.under_way
        self._call()

    def _call(self) -> None:
        assert self._then is not None
        assert self._timer is not None
        then, self._then = self._then, None
        self._timer.cancel()
        then()
