"""ListOffsets (2), versions 1–11. A timestamp asks for an offset; negative ones ask for a place.

−1 latest (the high watermark, or the last stable offset for read_committed), −2 earliest, −3 the
record with the largest timestamp (KIP-734, version 7), −4 earliest on this disk (KIP-405, version
8), −5 latest in remote storage (KIP-1005, version 9), of which there is none. Timestamp and offset
−1: no such record, and no error. Where the disk hangs, KAFKA_STORAGE_ERROR: clients ask again.
"""

import asyncio
from functools import partial
from time import perf_counter

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.cold_reads import ReadHangsError
from kafkaesque.broker.partition import LEADER_EPOCH, Partition, check_leader_epoch
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.timestamps import Search
from kafkaesque.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

_LATEST, _EARLIEST, _MAX_TIMESTAMP, _EARLIEST_LOCAL, _LATEST_TIERED = -1, -2, -3, -4, -5
_NEEDS_VERSION = {_MAX_TIMESTAMP: 7, _EARLIEST_LOCAL: 8, _LATEST_TIERED: 9}
_NONE = (-1, -1)
_READ_COMMITTED = 1
_SECONDS_IN_A_THREAD = 0.005
_SECONDS_ALONE = 0.1


async def list_offsets(ctx: Context, request: ListOffsetsRequest) -> ListOffsetsResponse:
    paced, committed = ctx.broker.slices.paced, request.isolation_level == _READ_COMMITTED
    response = ListOffsetsResponse()
    async for topic in paced(request.topics):
        partitions = [
            await _list(ctx, topic.name, wanted, committed)
            async for wanted in paced(topic.partitions)
        ]
        response.topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=partitions))
    return response


async def _list(
    ctx: Context, topic: str, wanted: ListOffsetsPartition, committed: bool
) -> ListOffsetsPartitionResponse:
    answer = ListOffsetsPartitionResponse(partition_index=wanted.partition_index)
    try:
        check_leader_epoch(wanted.current_leader_epoch)
        partition = ctx.broker.topics.named(topic).partition(wanted.partition_index)
        if ctx.version < _NEEDS_VERSION.get(wanted.timestamp, 0):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        partition.check_online()
        limit = partition.last_stable_offset if committed else partition.high_watermark
        if wanted.timestamp >= 0 or wanted.timestamp == _MAX_TIMESTAMP:
            answer.offset, answer.timestamp = await _search(ctx, partition, wanted, limit)
        else:
            answer.offset = _place(partition, wanted.timestamp, limit)
    except KafkaError as error:
        answer.error_code = error.code
        return answer
    if answer.offset >= 0:
        answer.leader_epoch = LEADER_EPOCH
    return answer


def _place(partition: Partition, timestamp: int, limit: int) -> int:
    if timestamp == _LATEST:
        return limit
    return partition.log.log_start_offset if timestamp in (_EARLIEST, _EARLIEST_LOCAL) else -1


async def _search(
    ctx: Context, partition: Partition, wanted: ListOffsetsPartition, limit: int
) -> tuple[int, int]:
    """A log whose start moves meanwhile is searched again: its segments may have gone."""
    log, start = partition.log, -1
    while True:
        has_moved, start = start != log.log_start_offset, log.log_start_offset
        search = (
            log.search_max_timestamp(limit)
            if wanted.timestamp == _MAX_TIMESTAMP
            else log.search_timestamp(wanted.timestamp, limit)
        )
        try:
            return await _steps(ctx, partition, search) or _NONE
        except KafkaError:
            if partition.is_closed:
                raise
            partition.check_online()
            if not has_moved or start == log.log_start_offset:
                raise


async def _steps(ctx: Context, partition: Partition, search: Search) -> tuple[int, int] | None:
    """In a thread, some steps at a time, all searches in turn: many would keep the loop waiting."""
    while True:
        # It would only keep others from their turn.
        if partition.cold_reads.is_stuck:
            raise ReadHangsError
        async with ctx.broker.searching:
            steps = partition.cold_reads.run(partial(_some_steps, search))
            try:
                # One that takes longer waits for the disk, and is in nobody's way.
                await asyncio.wait([steps], timeout=_SECONDS_ALONE)
            except asyncio.CancelledError:
                steps.cancel()
                raise
        is_over, found = await steps
        if is_over:
            return found


def _some_steps(search: Search) -> tuple[bool, tuple[int, int] | None]:
    until = perf_counter() + _SECONDS_IN_A_THREAD
    while perf_counter() < until:
        try:
            next(search)
        except StopIteration as end:
            return True, end.value
    return False, None
