"""Removes the files of partitions that were put aside, one directory at a time for all deletions.

A topic may have thousands of them. Deletions take turns: a small one does not wait until a large
one is through, nor for a directory that hangs.
Above: storage.py. Below: upkeep.py, disk.py, log/directory.py.
"""

import logging
from collections.abc import Collection
from functools import partial

from kafkaesque.broker.disk import Disk
from kafkaesque.broker.upkeep import Upkeep
from kafkaesque.log.directory import DataDirectory

logger = logging.getLogger(__name__)


class Removals:
    def __init__(self, directory: DataDirectory, disk: Disk) -> None:
        self._directory = directory
        self._disk = disk
        self._upkeep: Upkeep[str] = Upkeep(1, lambda: disk.has_room_aside)
        self._under_way: set[str] = set()

    async def remove(self, paths: Collection[str]) -> None:
        """What fails is told, and left for `remove_rest`."""
        failures: list[OSError] = []
        self._under_way.update(paths)
        try:
            await self._upkeep.run(paths, partial(self._remove, failures))
        finally:
            self._under_way.difference_update(paths)
        if failures:
            logger.error("files of deleted partitions stay for now: %s", failures[0])

    async def remove_rest(self) -> None:
        """Remove what was put aside and nobody is about to remove."""
        if not self._directory.is_tidy:
            paths = await self._disk.run_aside(self._directory.removable)
            await self.remove([path for path in paths if path not in self._under_way])

    async def ended(self) -> None:
        await self._upkeep.ended()

    async def _remove(self, failures: list[OSError], path: str) -> None:
        try:
            await self._disk.run_aside(partial(self._directory.remove_deleted, [path]))
        except OSError as error:
            failures.append(error)
