"""Brings partitions back that are offline, because a flush failed or a start could not open them.

Each by itself: one whose disk hangs is not waited for for long, and holds up no other.
Above: storage.py. Below: partition.py.
"""

import asyncio
import logging
from collections.abc import Iterable
from weakref import WeakKeyDictionary

from kafkaesque.broker.partition import Partition
from kafkaesque.errors import KafkaError

logger = logging.getLogger(__name__)

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
        self._under_way: dict[Partition, asyncio.Task[None]] = {}
        self._resting: WeakKeyDictionary[Partition, float] = WeakKeyDictionary()
        self._threads = asyncio.Semaphore(_AT_ONCE)

    async def revive(self, offline: Iterable[Partition]) -> None:
        now = asyncio.get_running_loop().time()
        for partition in offline:
            if partition not in self._under_way and self._resting.get(partition, now) <= now:
                self._under_way[partition] = asyncio.create_task(self._revive(partition))
        if self._under_way:
            done, _ = await asyncio.wait(self._under_way.values(), timeout=_WAIT_SECONDS)
            for task in done:
                task.result()

    async def ended(self) -> None:
        """Nothing is under way any more."""
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    async def _revive(self, partition: Partition) -> None:
        try:
            async with self._threads:
                await self._try(partition)
        finally:
            del self._under_way[partition]

    async def _try(self, partition: Partition) -> None:
        time = asyncio.get_running_loop().time
        began = time()
        try:
            await partition.reopen()
        except Exception as error:
            is_expected = isinstance(error, OSError | KafkaError)
            if not is_expected and partition.offline != str(error):
                logger.error("%s cannot be brought back", partition.name, exc_info=error)
            partition.offline = str(error)
            if (taken := time() - began) > _LONG_SECONDS:
                self._resting[partition] = time() + min(_REST * taken, _LONGEST_REST_SECONDS)
