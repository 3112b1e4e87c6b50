"""Removes the files of partitions that were put aside, one directory at a time for all deletions.

A topic may have thousands of them, and there are few threads, which every flush needs. Deletions
take turns: a small one does not wait until a large one is through.
Above: storage.py. Below: disk.py, log/directory.py.
"""

import asyncio
import logging
from collections.abc import Collection
from functools import partial

from kafkaesque.broker.disk import Disk
from kafkaesque.log.directory import DataDirectory

logger = logging.getLogger(__name__)


class Removals:
    def __init__(self, directory: DataDirectory, disk: Disk) -> None:
        self._directory = directory
        self._disk = disk
        # Whoever has waited longest is next.
        self._turn = asyncio.Lock()
        self._under_way: set[str] = set()

    async def remove(self, paths: Collection[str]) -> None:
        """What fails is told, and left for `remove_rest`."""
        self._under_way.update(paths)
        failure = None
        try:
            for path in paths:
                try:
                    async with self._turn:
                        await self._disk.run(partial(self._directory.remove_deleted, [path]))
                except OSError as error:
                    failure = failure or error
        finally:
            self._under_way.difference_update(paths)
        if failure is not None:
            logger.error("files of deleted partitions stay for now: %s", failure)

    async def remove_rest(self) -> None:
        """Remove what was put aside and nobody is about to remove."""
        if not self._directory.is_tidy:
            paths = await self._disk.run(self._directory.removable)
            await self.remove([path for path in paths if path not in self._under_way])
