"""A broker that was killed, and starts again on a full disk: it reads, and refuses to write. One
that has never been up has nothing to read: it says so, and starts when there is room.

It listens to nobody; its files are real, but for the room that they have.
"""

import asyncio
from pathlib import Path

import pytest
from tests.faulty_files import FaultyFiles
from tests.unit.log.compacting import pairs
from tests.unit.log.logs import NOW

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.config import BrokerConfig
from kafkaesque.broker.storage import DiskStorage
from kafkaesque.broker.topics import NewTopic
from kafkaesque.errors import KafkaError, StartError
from kafkaesque.log.files import File
from kafkaesque.records.batch import Record, new_batch

_FILES_OF_A_START = 6


class FillingFiles(FaultyFiles):
    """A disk that is full from the nth file on."""

    def __init__(self, files: int) -> None:
        super().__init__()
        self._left = files

    def open(self, path: str, *, create: bool = False) -> File:
        if create:
            self._left -= 1
            self.is_full = self._left < 0
        return super().open(path, create=create)


async def opened(data: Path, files: FaultyFiles) -> Broker:
    return await Broker.open(BrokerConfig((), data, {}), lambda: NOW, files)


def kill(broker: Broker) -> None:
    """Only its lock is let go of, as the kernel does."""
    assert isinstance(broker.storage, DiskStorage)
    broker.storage._directory._lock.release()
    broker.disk.close()


async def write_and_kill(data: Path) -> None:
    """A topic of several segments; a deleted one, whose files and checkpoints are still there."""
    broker = await opened(data, FaultyFiles())
    topic = await broker.topics.create(NewTopic("table", 2, {"segment.bytes": "1024"}))
    await broker.topics.create(NewTopic("gone", 1, {}))
    for partition in (*topic.partitions, broker.topics.named("gone").partition(0)):
        for number in range(30):
            batch = new_batch([Record(0, NOW, b"%d" % number, b"v" * 60)])
            partition.append(memoryview(batch))
        if waiting := partition.flushed(partition.log.end_offset):
            await waiting
    await broker.storage.checkpoint()
    await broker.metadata.topic_deleted(broker.topics.named("gone"), lambda: None)
    kill(broker)


def test_a_broker_starts_on_a_full_disk_and_reads_what_is_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        await write_and_kill(tmp_path)
        files = FaultyFiles()
        files.is_full = True
        broker = await opened(tmp_path, files)
        topic = broker.topics.named("table")
        for partition in topic.partitions:
            assert len(pairs(partition.log)) == 30
            with pytest.raises(KafkaError, match="No space left"):
                partition.append(memoryview(new_batch([Record(0, NOW, b"k", b"v")])))
        assert "No space left on device" in caplog.text
        files.is_full = False
        partition = topic.partition(0)
        partition.append(memoryview(new_batch([Record(0, NOW, b"k", b"v")])))
        if waiting := partition.flushed(31):
            await waiting
        await broker.close()
        again = await opened(tmp_path, FaultyFiles())
        assert len(pairs(again.topics.named("table").partition(0).log)) == 31
        await again.close()

    asyncio.run(story())


@pytest.mark.parametrize("files", range(_FILES_OF_A_START))
def test_a_first_start_that_finds_no_room_says_so_and_leaves_nothing_in_the_way_of_the_next(
    files: int, tmp_path: Path
) -> None:
    async def story() -> None:
        with pytest.raises(StartError, match="No space left"):
            await opened(tmp_path, FillingFiles(files))
        broker = await opened(tmp_path, FaultyFiles())
        topic = await broker.topics.create(NewTopic("table", 1, {}))
        assert topic.partition(0).offline is None
        await broker.close()

    asyncio.run(story())
