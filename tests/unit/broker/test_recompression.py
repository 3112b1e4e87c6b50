"""Batches that are packed anew keep their order, whichever of them is ready first."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from tests.wire.requests import batch

from kafkaesque.broker.config import Config
from kafkaesque.broker.disk import Disk
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.recompression import Recompression
from kafkaesque.log.log import Log
from kafkaesque.log.memory import MemorySegments
from kafkaesque.records.compression import Codec
from kafkaesque.types import TopicPartition

T = TypeVar("T")


class LateDisk(Disk):
    """Ends its jobs when it is told to, in any order."""

    def __init__(self) -> None:
        super().__init__(asyncio.get_running_loop())
        self.jobs: list[tuple[Callable[[], Any], asyncio.Future[Any]]] = []

    def run(self, job: Callable[[], T]) -> asyncio.Future[T]:
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.jobs.append((job, done))
        return done

    def finish(self, at: int) -> None:
        job, done = self.jobs.pop(at)
        done.set_result(job())


def partition(disk: Disk, index: int = 0, **settings: str) -> Partition:
    config = Config({}).topic({name.replace("_", "."): value for name, value in settings.items()})
    log = Log.open(MemorySegments(), config.log)
    return Partition(TopicPartition("t", index), log, config, disk, lambda: 0)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def repack(line: Recompression, to: Partition, name: str, done: list[str]) -> None:
    place = line.enter({to})
    await line.repack(bytes(batch([b"v"])), Codec.ZSTD)
    await place.turn()
    done.append(name)
    place.leave()


def test_the_later_waits_for_the_earlier_of_the_same_partition() -> None:
    async def run() -> None:
        disk = LateDisk()
        line, to, done = Recompression(disk), partition(disk, compression_type="zstd"), [""]
        tasks = [asyncio.ensure_future(repack(line, to, name, done)) for name in ("a", "b")]
        await settle()
        disk.finish(1)
        await settle()
        assert done == [""]
        disk.finish(0)
        await asyncio.gather(*tasks)
        assert done == ["", "a", "b"]

    asyncio.run(run())


def test_another_partition_does_not_wait() -> None:
    async def run() -> None:
        disk = LateDisk()
        line, done = Recompression(disk), [""]
        one, other = (partition(disk, index, compression_type="zstd") for index in (0, 1))
        tasks = [
            asyncio.ensure_future(repack(line, to, name, done))
            for to, name in ((one, "a"), (other, "b"))
        ]
        await settle()
        disk.finish(1)
        await tasks[1]
        assert done == ["", "b"]
        disk.finish(0)
        await tasks[0]

    asyncio.run(run())


def test_a_partition_is_concerned_until_its_line_is_empty() -> None:
    async def run() -> None:
        disk = LateDisk()
        line, to = Recompression(disk), partition(disk)
        assert not line.concerns(to)
        first, second = line.enter({to}), line.enter({to})
        first.leave()
        assert line.concerns(to)
        second.leave()
        assert not line.concerns(to)
        assert line.concerns(partition(disk, compression_type="uncompressed"))

    asyncio.run(run())


def test_only_a_few_are_unpacked_at_a_time() -> None:
    async def run() -> None:
        disk = LateDisk()
        line = Recompression(disk)
        many = [line.repack(bytes(batch([b"v"])), Codec.GZIP) for _ in range(10)]
        tasks = [asyncio.ensure_future(each) for each in many]
        await settle()
        assert len(disk.jobs) == 2
        while disk.jobs:
            disk.finish(0)
            await settle()
        await asyncio.gather(*tasks)

    asyncio.run(run())
