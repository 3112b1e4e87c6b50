"""Batches for topics with a `compression.type` of their own: packed anew in a thread, and appended
in the order in which they came.

A produce whose batches have to be repacked takes its place in the line of each of its partitions
when it arrives. It is appended when those before it have been, so that a producer's sequence
numbers stay in order, however long each of its batches takes. Until the last of them is done,
whatever comes for such a partition stands in that line, even if its setting has changed meanwhile.
Above: apis/produce.py. Below: disk.py, records/repacking.py.
"""

import asyncio
from collections.abc import Collection

from kafkaesque.broker.disk import Disk
from kafkaesque.broker.partition import Partition
from kafkaesque.records.compression import Codec
from kafkaesque.records.repacking import repacked
from kafkaesque.types import Buffer

_AT_A_TIME = 2
"""Each holds a batch twice, once of them unpacked."""


class Recompression:
    """Who is being repacked, and in which order they are appended."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._room = asyncio.Semaphore(_AT_A_TIME)
        self._last: dict[Partition, asyncio.Future[None]] = {}

    def concerns(self, partition: Partition) -> bool:
        return partition.config.codec is not None or partition in self._last

    def enter(self, partitions: Collection[Partition]) -> "Place":
        """Take a place behind all that have come for these partitions so far."""
        ahead = [self._last[partition] for partition in partitions if partition in self._last]
        place = Place(self, partitions, ahead)
        self._last.update(dict.fromkeys(partitions, place.left))
        return place

    def leave(self, place: "Place") -> None:
        place.left.set_result(None)
        for partition in place.partitions:
            if self._last.get(partition) is place.left:
                del self._last[partition]

    async def repack(self, batch: Buffer, codec: Codec) -> bytearray:
        async with self._room:
            return await self._disk.run(lambda: repacked(batch, codec))


class Place:
    """One request's place in the lines of its partitions. Left, whatever happens."""

    def __init__(
        self,
        line: Recompression,
        partitions: Collection[Partition],
        ahead: list[asyncio.Future[None]],
    ) -> None:
        self.partitions = partitions
        self.left: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line = line
        self._ahead = ahead

    async def turn(self) -> None:
        """Wait for those ahead. They have come earlier, so nobody waits in a circle."""
        for left in self._ahead:
            await left

    def leave(self) -> None:
        self._line.leave(self)
