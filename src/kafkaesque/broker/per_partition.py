"""Housekeeping of many partitions, each by itself.

One whose disk hangs is waited for for a moment, and then left out, until what it began has ended.
Above: storage.py. Below: partition.py.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any

from kafkaesque.broker.partition import Partition

_PATIENCE_SECONDS = 5.0


class PerPartition:
    def __init__(self) -> None:
        self._under_way: set[asyncio.Task[None]] = set()
        self._hung: set[Partition] = set()
        self._is_patient = False

    async def run(
        self,
        partitions: Iterable[Partition],
        work: Callable[[Partition], Coroutine[Any, Any, None]],
    ) -> None:
        tasks = {p: self._begin(p, work(p)) for p in partitions if p not in self._hung}
        if not tasks:
            return
        patience = None if self._is_patient else _PATIENCE_SECONDS
        done, _ = await asyncio.wait(tasks.values(), timeout=patience)
        self._hung.update(p for p, task in tasks.items() if task not in done)
        for task in done:
            task.result()

    async def ended(self) -> None:
        """Nothing is under way any more, and from now on all is waited for."""
        self._is_patient = True
        await asyncio.gather(*self._under_way, return_exceptions=True)

    def _begin(self, partition: Partition, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(partial(self._end, partition))
        return task

    def _end(self, partition: Partition, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        self._hung.discard(partition)
