"""Housekeeping of many partitions or directories, each by itself, a few at once.

One whose disk hangs is waited for for a moment, and then left out, until what it began has ended.
It may keep a thread: while too many of those are taken, nothing more is begun. What goes wrong in
one is told, and stops no other.
Above: storage.py, removals.py, topics.py.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Hashable, Iterable
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

K = TypeVar("K", bound=Hashable)

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 5.0

Work: TypeAlias = Callable[[K], Coroutine[Any, Any, None]]


class Upkeep(Generic[K]):
    def __init__(self, at_once: int, may_begin: Callable[[], bool] = lambda: True) -> None:
        """`may_begin`: whether there are threads left. At most `at_once` more are taken then."""
        self._at_once = at_once
        self._may_begin = may_begin
        # Whoever has waited longest is next.
        self._turns = asyncio.Semaphore(at_once)
        self._under_way: set[asyncio.Task[None]] = set()
        self._left: set[asyncio.Task[None]] = set()
        """Those of which nobody waits for the end. An item may have several, of several callers."""
        self._hung: Counter[K] = Counter()
        self._is_patient = False

    async def run(self, items: Iterable[K], work: Work[K]) -> None:
        """Do the work for each, but for those that hang."""
        waiting = deque(items)
        workers = range(min(self._at_once, len(waiting)))
        await asyncio.gather(*(self._work_off(waiting, work) for _ in workers))

    async def ended(self) -> None:
        """Nothing is under way any more, and from now on all is waited for."""
        self._is_patient = True
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _work_off(self, waiting: deque[K], work: Work[K]) -> None:
        while waiting:
            item = waiting.popleft()
            async with self._turns:
                if not self._may_begin():
                    return
                if item not in self._hung:
                    await self._wait_for(item, self._begin(item, work(item)))

    def _begin(self, item: K, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(partial(self._end, item))
        return task

    async def _wait_for(self, item: K, task: asyncio.Task[None]) -> None:
        patience = None if self._is_patient else PATIENCE_SECONDS
        try:
            await asyncio.wait([task], timeout=patience)
        finally:
            if not task.done():
                self._left.add(task)
                self._hung[item] += 1

    def _end(self, item: K, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        if task in self._left:
            self._left.discard(task)
            self._hung -= Counter([item])
        if not task.cancelled() and (error := task.exception()):
            message = "housekeeping of %s failed, and will be tried again"
            logger.error(message, item, exc_info=error)
