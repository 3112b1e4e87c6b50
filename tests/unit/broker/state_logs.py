"""State logs for tests: the log of `__consumer_offsets`, in memory or on a disk with faults."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.faulty_files import FaultyFiles

from kafkaesque.broker.config import Config
from kafkaesque.broker.disk import Disk
from kafkaesque.broker.state_log import StateLog
from kafkaesque.broker.storage import DiskStorage, MemoryStorage
from kafkaesque.broker.topics import OFFSETS_PARTITION
from kafkaesque.log.directory import DataDirectory

CONFIG = Config({}).topic({"cleanup.policy": "compact"})
TOPIC_ID = UUID(int=7)


class Now:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.ms = 1_000_000

    def __call__(self) -> int:
        return self.ms


def in_memory(work: Callable[[StateLog, Now], Awaitable[Any]]) -> None:
    async def main() -> None:
        disk, now = Disk(asyncio.get_running_loop()), Now()
        partition = MemoryStorage(disk, now).open(OFFSETS_PARTITION, TOPIC_ID, CONFIG)
        await work(StateLog(partition, now), now)
        disk.close()

    asyncio.run(main())


def on_disk(
    path: Path, work: Callable[[StateLog, FaultyFiles, DiskStorage], Awaitable[Any]]
) -> None:
    async def main() -> None:
        disk, now, files = Disk(asyncio.get_running_loop()), Now(), FaultyFiles()
        storage = DiskStorage(DataDirectory.open(files, str(path)), disk, now)
        log = StateLog(storage.open(OFFSETS_PARTITION, TOPIC_ID, CONFIG), now)
        try:
            await work(log, files, storage)
        finally:
            await storage.close()
            disk.close()

    asyncio.run(main())
