"""Consumers: of all records or of committed ones, with and without a long poll."""

import asyncio

from tests.simulation.actors.actor import Actor
from tests.simulation.actors.batches import committed_labels, labels, next_offset
from tests.simulation.model.records import Key

from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    PartitionData,
)
from kafkaesque.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

_EARLIEST = -2
_COMMITTED = 1
_WAKING_SECONDS = 7.0
"""A slow disk included, a long poll is answered so soon after a record became visible."""


class Consumer(Actor):
    def __init__(self, name: str, world: object) -> None:
        super().__init__(name, world)  # type: ignore[arg-type]
        self._positions: dict[tuple[Key, int], int] = {}

    async def fetch(self, topic: str, index: int, isolation: int, wait_ms: int) -> None:
        place = self.partition(topic, index)
        if place is None:
            return
        position = self._positions.setdefault((place, isolation), 0)
        began = asyncio.get_running_loop().time()
        answer = await self.ask(fetch_request({place: position}, isolation, wait_ms), 16)
        found = answer.responses[0].partitions[0]
        code = self.code(found.error_code)
        self._check_woken(place, position, isolation, began)
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            await self._seek(topic, place, isolation)
        elif code is ErrorCode.NONE:
            self._read(topic, place, isolation, found)
        if code is not ErrorCode.NONE:
            self.note(f"fetch {topic[:9]}-{place[1]} from {position}: {code.name}")

    def _read(self, topic: str, place: Key, isolation: int, found: PartitionData) -> None:
        data = bytes(found.records or b"")
        position = self._positions[place, isolation]
        if data and next_offset(data, -1) < 0:
            self.world.fail(f"{self.name} is sent a part of a batch of {topic[:9]}-{place[1]}")
        read = list(committed_labels(found) if isolation == _COMMITTED else labels(data))
        read = [(offset, label) for offset, label in read if offset >= position]
        self._positions[place, isolation] = next_offset(data, position)
        self.note(f"fetch {topic[:9]}-{place[1]} from {position}: {read}")
        is_weak = self.world.topics.traits(place[0]).is_weak
        is_committed = isolation == _COMMITTED and not is_weak
        for offset, label in read:
            self.world.promised(place, offset, label)
            for problem in self.world.transactions.seen(label) if is_committed else ():
                self.world.fail(problem)

    async def _seek(self, topic: str, place: Key, isolation: int) -> None:
        wanted = ListOffsetsPartition(partition_index=place[1], timestamp=_EARLIEST)
        request = ListOffsetsRequest(
            replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[wanted])]
        )
        found = (await self.ask(request, 7)).topics[0].partitions[0]
        if self.code(found.error_code) is ErrorCode.NONE:
            self._positions[place, isolation] = found.offset

    def _check_woken(self, place: Key, position: int, isolation: int, began: float) -> None:
        """Whether it slept on after what it waited for had come."""
        if isolation == _COMMITTED or self.world.topics.traits(place[0]).is_weak:
            return
        now = asyncio.get_running_loop().time()
        for at, offset in self.world.acknowledgements(place):
            if offset >= position and at >= began and now - at > _WAKING_SECONDS:
                self.world.fail(
                    f"{self.name}: a long poll from offset {position} slept on for "
                    f"{now - at:.1f} s after {offset} was acknowledged"
                )


def fetch_request(positions: dict[Key, int], isolation: int, wait_ms: int) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        isolation_level=isolation,
        topics=[
            FetchTopic(
                topic_id=topic_id,
                partitions=[
                    FetchPartition(partition=index, fetch_offset=at, partition_max_bytes=1 << 20)
                ],
            )
            for (topic_id, index), at in positions.items()
        ],
    )
