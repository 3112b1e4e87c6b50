"""A whole broker that listens to nobody, on a disk that a test holds and breaks."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.faulty_files import FaultyFiles
from tests.held_disk import HeldDisk

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.config import BrokerConfig
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.topics import NewTopic, Topic
from kafkaesque.records.batch import Record, new_batch

NOW = 1_700_000_000_000


class BrokerRig:
    """The broker's regular work does not run: a test calls what it is about."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.files = FaultyFiles()
        self.disk: HeldDisk
        self.broker: Broker

    async def open(self, **settings: str) -> Broker:
        given = {name.replace("_", "."): text for name, text in settings.items()}
        config = BrokerConfig((), self.data_dir, given)
        self.broker = await Broker.open(config, lambda: NOW, self.files, self._new_disk)
        return self.broker

    def _new_disk(self, loop: asyncio.AbstractEventLoop) -> HeldDisk:
        self.disk = HeldDisk(loop)
        return self.disk

    async def reopen(self) -> Broker:
        await self.broker.close()
        return await self.open()

    async def topic(self, name: str, partitions: int = 1, **configs: str) -> Topic:
        given = {key.replace("_", "."): text for key, text in configs.items()}
        return await self.broker.topics.create(NewTopic(name, partitions, given))

    def append(self, partition: Partition, size: int = 20) -> int:
        """The offset after it."""
        batch = new_batch([Record(0, NOW, b"key", b"v" * size)])
        return partition.append(memoryview(batch)).next_offset

    async def fill(self, partition: Partition, batches: int = 10, size: int = 600) -> None:
        """So many records that are on disk."""
        for _ in range(batches):
            self.append(partition, size)
        if waiting := partition.flushed(partition.log.end_offset):
            await waiting


def run(data_dir: Path, work: Callable[[BrokerRig], Awaitable[None]], **settings: str) -> None:
    async def main() -> None:
        rig = BrokerRig(data_dir)
        await rig.open(**settings)
        await work(rig)
        await rig.disk.let_all_go()
        await rig.broker.close()

    asyncio.run(main())
