"""State logs for tests: the log of `__consumer_offsets`, in memory or on a disk with faults."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.faulty_files import FaultyFiles

from kafkaesque.broker.config import Config
from kafkaesque.broker.disk import Disk
from kafkaesque.broker.producer_ids import ProducerIds
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


class HeldFiles(FaultyFiles):
    """A disk that is slow to sync: not before it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may_sync = threading.Event()
        self.may_sync.set()
        self.is_syncing = threading.Event()

    def check_sync(self) -> None:
        self.is_syncing.set()
        self.may_sync.wait()
        super().check_sync()

    async def fail(self, storage: DiskStorage) -> None:
        """Let what is under way fail, and the disk be well again."""
        self.fails_to_sync = True
        self.may_sync.set()
        while not storage.offline():
            await asyncio.sleep(0)
        self.fails_to_sync = False


def in_memory(work: Callable[[StateLog, Now], Awaitable[Any]]) -> None:
    async def main() -> None:
        disk, now = Disk(asyncio.get_running_loop()), Now()
        partition = MemoryStorage(disk, now, ProducerIds(Config({}), now)).open(
            OFFSETS_PARTITION, TOPIC_ID, CONFIG
        )
        await work(StateLog(partition, now), now)
        disk.close()

    asyncio.run(main())


def on_disk(
    path: Path,
    work: Callable[[StateLog, Any, DiskStorage], Awaitable[Any]],
    files: FaultyFiles | None = None,
) -> None:
    files = files or FaultyFiles()

    async def main() -> None:
        disk, now = Disk(asyncio.get_running_loop()), Now()
        directory = DataDirectory.open(files, str(path))
        storage = DiskStorage(directory, disk, now, ProducerIds(Config({}), now))
        log = StateLog(storage.open(OFFSETS_PARTITION, TOPIC_ID, CONFIG), now)
        try:
            await work(log, files, storage)
        finally:
            await storage.close()
            disk.close()

    asyncio.run(main())
