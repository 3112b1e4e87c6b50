"""Brings partitions back that are offline, because a flush failed or a start could not open them.

Each by itself: one whose disk hangs is not waited for for long, and holds up no other.
Above: storage.py. Below: partition.py.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from weakref import WeakKeyDictionary

from kafkaesque.broker.partition import Partition
from kafkaesque.errors import KafkaError

_WAIT_SECONDS = 1.0
_AT_ONCE = 4
"""All at once would take every thread from the partitions that are well."""
_LONG_SECONDS = 1.0
_REST = 10
_LONGEST_REST_SECONDS = 10.0
"""After an attempt that took long and came to nothing, so many times as long: a large log that
stays damaged is not read from the disk again and again.
"""


class Revivals:
    def __init__(self) -> None:
        self._waiting: deque[Partition] = deque()
        self._under_way: set[Partition] = set()
        self._workers: set[asyncio.Task[None]] = set()
        self._resting: WeakKeyDictionary[Partition, float] = WeakKeyDictionary()

    async def revive(self, offline: Iterable[Partition]) -> None:
        now = asyncio.get_running_loop().time()
        self._waiting = deque(
            partition
            for partition in offline
            if partition not in self._under_way and self._resting.get(partition, now) <= now
        )
        workers = self._hire()
        if workers:
            done, _ = await asyncio.wait(workers, timeout=_WAIT_SECONDS)
            for worker in done:
                worker.result()

    async def ended(self) -> None:
        """Nothing is under way any more. What waits for its turn is left to the next start."""
        self._waiting.clear()
        await asyncio.gather(*self._workers, return_exceptions=True)

    def _hire(self) -> list[asyncio.Task[None]]:
        """As many as may work at once, and have something to do."""
        hired = []
        while (partition := self._next()) is not None:
            worker = asyncio.create_task(self._work(partition))
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)
            hired.append(worker)
        return hired

    def _next(self) -> Partition | None:
        """The one whose turn it is, if it may begin."""
        if not self._waiting or len(self._under_way) >= _AT_ONCE:
            return None
        partition = self._waiting.popleft()
        self._under_way.add(partition)
        return partition

    async def _work(self, first: Partition) -> None:
        partition: Partition | None = first
        while partition is not None:
            try:
                await self._try(partition)
            finally:
                self._under_way.discard(partition)
            partition = self._next()

    async def _try(self, partition: Partition) -> None:
        time = asyncio.get_running_loop().time
        began = time()
        try:
            await partition.reopen()
        except (OSError, KafkaError) as error:
            partition.offline = str(error)
            if (taken := time() - began) > _LONG_SECONDS:
                self._resting[partition] = time() + min(_REST * taken, _LONGEST_REST_SECONDS)
