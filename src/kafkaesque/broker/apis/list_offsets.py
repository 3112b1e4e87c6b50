"""ListOffsets (2), versions 1–11. A timestamp asks for an offset; negative ones ask for a place.

−1 latest (the high watermark, or the last stable offset for read_committed), −2 earliest, −3 the
record with the largest timestamp (KIP-734, version 7), −4 earliest on this disk (KIP-405, version
8), −5 latest in remote storage (KIP-1005, version 9), of which there is none. Timestamp and offset
−1: no such record, and no error. Where the disk hangs, KAFKA_STORAGE_ERROR: clients ask again.
"""

import asyncio
from functools import partial
from time import perf_counter
from typing import NamedTuple

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.cold_reads import ReadHangsError
from kafkaesque.broker.partition import LEADER_EPOCH, Partition, check_leader_epoch
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.timestamps import MAX_UNPACKED_BYTES, Search
from kafkaesque.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafkaesque.records.compression import TooLargeError

_LATEST, _EARLIEST, _MAX_TIMESTAMP, _EARLIEST_LOCAL, _LATEST_TIERED = -1, -2, -3, -4, -5
_NEEDS_VERSION = {_MAX_TIMESTAMP: 7, _EARLIEST_LOCAL: 8, _LATEST_TIERED: 9}
_NONE = (-1, -1)
_READ_COMMITTED = 1
_SECONDS_IN_A_THREAD = 0.005
_SECONDS_IN_A_SLOT = 0.05
"""In a thread: the time until its turn is not its own."""
_SECONDS_ALONE = 0.1
_SMALL = 1 << 20
"""Most batches are no larger, nor come to more."""


async def list_offsets(ctx: Context, request: ListOffsetsRequest) -> ListOffsetsResponse:
    paced, lookup = ctx.broker.slices.paced, _Lookup(ctx, request)
    response = ListOffsetsResponse()
    async for topic in paced(request.topics):
        partitions = [
            await lookup.answer(topic.name, wanted) async for wanted in paced(topic.partitions)
        ]
        response.topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=partitions))
    return response


def _place(partition: Partition, timestamp: int, limit: int) -> int:
    if timestamp == _LATEST:
        return limit
    return partition.log.log_start_offset if timestamp in (_EARLIEST, _EARLIEST_LOCAL) else -1


class _Lookup:
    """One request. What a search has opened it keeps from turn to turn, so only so many may need
    more than one turn at a time, and fewer may have a batch open that comes to much. Such a slot is
    left to others, where some wait, between two batches.
    """

    def __init__(self, ctx: Context, request: ListOffsetsRequest) -> None:
        self._ctx = ctx
        self._committed = request.isolation_level == _READ_COMMITTED

    async def answer(
        self, topic: str, wanted: ListOffsetsPartition
    ) -> ListOffsetsPartitionResponse:
        ctx = self._ctx
        answer = ListOffsetsPartitionResponse(partition_index=wanted.partition_index)
        try:
            check_leader_epoch(wanted.current_leader_epoch)
            partition = ctx.broker.topics.named(topic).partition(wanted.partition_index)
            if ctx.version < _NEEDS_VERSION.get(wanted.timestamp, 0):
                raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
            partition.check_online()
            limit = partition.last_stable_offset if self._committed else partition.high_watermark
            if wanted.timestamp >= 0 or wanted.timestamp == _MAX_TIMESTAMP:
                place = await self._search(partition, wanted.timestamp, limit)
                answer.offset, answer.timestamp = place
            else:
                answer.offset = _place(partition, wanted.timestamp, limit)
        except KafkaError as error:
            answer.error_code = error.code
            return answer
        if answer.offset >= 0:
            answer.leader_epoch = LEADER_EPOCH
        return answer

    async def _search(self, partition: Partition, timestamp: int, limit: int) -> tuple[int, int]:
        """A log whose start moves meanwhile is searched again: its segments may have gone."""
        log, start = partition.log, -1
        while True:
            has_moved, start = start != log.log_start_offset, log.log_start_offset
            try:
                found = await self._found(partition, timestamp, limit) or _NONE
                if found is _NONE or found[0] >= log.log_start_offset:
                    return found
            except KafkaError:
                if partition.is_closed:
                    raise
                partition.check_online()
                if not has_moved or start == log.log_start_offset:
                    raise

    async def _found(
        self, partition: Partition, timestamp: int, limit: int
    ) -> tuple[int, int] | None:
        try:
            turn = await self._turn(partition, _new_search(partition, timestamp, limit, _SMALL))
            if turn.is_over:
                return turn.found
            search = _new_search(partition, timestamp, limit, _SMALL)
            return await self._turns(partition, search, self._ctx.broker.long_searches)
        except TooLargeError:
            pass
        search = _new_search(partition, timestamp, limit, MAX_UNPACKED_BYTES)
        return await self._turns(partition, search, self._ctx.broker.large_searches)

    async def _turns(
        self, partition: Partition, search: Search, slots: asyncio.Semaphore
    ) -> tuple[int, int] | None:
        while True:
            await slots.acquire()
            slot = _Slot(slots)
            try:
                while not (turn := await self._turn(partition, search, slot)).gives_way:
                    if turn.is_over:
                        return turn.found
            finally:
                slot.leave()

    async def _turn(
        self, partition: Partition, search: Search, slot: "_Slot | None" = None
    ) -> "_Turn":
        """In a thread, some steps at a time, in turn with others: many would keep the loop
        waiting.
        """
        # It would only keep others from their turn.
        if partition.cold_reads.is_stuck:
            raise ReadHangsError
        async with self._ctx.broker.searching:
            slot = slot or _Slot()
            slot.look()
            job = partial(_some_steps, search, slot)
            steps = partition.cold_reads.run(job, slot.begun, slot.ended)
            try:
                # One that takes longer waits for the disk, and is in nobody's way.
                await asyncio.wait([steps], timeout=_SECONDS_ALONE)
            except asyncio.CancelledError:
                steps.cancel()
                raise
        try:
            return await steps
        finally:
            # Else an error keeps itself, this frame and what was read until cycles are collected.
            del steps


class _Slot:
    """One of so many, until a thread that works in it has come to its end, too: it keeps what it
    has opened, though who asked has gone.
    """

    def __init__(self, slots: asyncio.Semaphore | None = None) -> None:
        self.seconds_left = _SECONDS_IN_A_SLOT
        self.is_wanted = False
        self._slots = slots
        self._is_reading = False
        self._is_left = False

    def look(self) -> None:
        """Before each turn: others might come to want it."""
        self.is_wanted = self._slots is not None and self._slots.locked()

    def begun(self) -> None:
        self._is_reading = True

    def ended(self) -> None:
        self._is_reading = False
        if self._is_left:
            self._release()

    def leave(self) -> None:
        self._is_left = True
        if not self._is_reading:
            self._release()

    def _release(self) -> None:
        if self._slots is not None:
            self._slots.release()


class _Turn(NamedTuple):
    is_over: bool = False
    found: tuple[int, int] | None = None
    gives_way: bool = False


def _new_search(partition: Partition, timestamp: int, limit: int, max_unpacked: int) -> Search:
    if timestamp == _MAX_TIMESTAMP:
        return partition.log.search_max_timestamp(limit, max_unpacked)
    return partition.log.search_timestamp(timestamp, limit, max_unpacked)


def _some_steps(search: Search, slot: _Slot) -> _Turn:
    """A slot that others want, and that has had its time, is left as soon as nothing is open."""
    began = now = perf_counter()
    while now - began < _SECONDS_IN_A_THREAD:
        try:
            is_between = next(search)
        except StopIteration as over:
            return _Turn(is_over=True, found=over.value)
        now = perf_counter()
        if is_between and slot.is_wanted and now - began >= slot.seconds_left:
            return _Turn(gives_way=True)
    slot.seconds_left -= now - began
    return _Turn()
