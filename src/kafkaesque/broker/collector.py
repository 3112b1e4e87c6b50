"""Python's garbage collector, in a process that is a broker and nothing else.

Most of what a broker makes is gone when its last reference is; cycles that are young are collected
as ever, in a millisecond. A full pass looks at everything, a request that names fifty thousand
things included: that took 40 ms, and came in the midst of such a request, which had brought it on.
So a full pass is made here, when it is due and no long request is under way.
Above: server.py. A broker inside of another program leaves that program's collector alone.
"""

import asyncio
import gc
from collections.abc import Callable

_YOUNG, _MIDDLE = 700, 10
_NEVER = 1 << 30
_DUE = 100
"""Passes over the middle generation, 7,000 objects each, since the last full one."""
_LOOK_SECONDS = 1.0
_PATIENCE = 300
"""Looks, after which a full pass is made whoever is busy."""


class Collector:
    """`is_busy`: whether long requests are under way."""

    def __init__(self, is_busy: Callable[[], bool]) -> None:
        self._is_busy = is_busy
        self._put_off = 0

    async def run(self) -> None:
        """For good: it is for whoever runs it to cancel it."""
        gc.collect()
        # What lives now lives as long as the process: nobody need look at it again.
        gc.freeze()
        gc.set_threshold(_YOUNG, _MIDDLE, _NEVER)
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            self.look()

    def look(self) -> None:
        if gc.get_count()[2] < _DUE:
            return
        if self._is_busy() and self._put_off < _PATIENCE:
            self._put_off += 1
            return
        self._put_off = 0
        gc.collect()
