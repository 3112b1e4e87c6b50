"""What a broker shows to a client that asks for everything it has.

Topics and their ids, every log from its start to its end, every committed offset.
Above: test_broker_power_cuts.py. Below: promises.py says what it should be.
"""

from collections.abc import Iterable
from uuid import UUID

from tests.crash.promises import Found, FoundLog, Key
from tests.wire.client import AsyncClient

from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafkaesque.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kafkaesque.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkaesque.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
)
from kafkaesque.records.batch import batches

_EARLIEST, _LATEST = -2, -1
_FETCH_BYTES = 1 << 20


class RefusedError(Exception):
    """The broker does not show something that it has."""


async def look(client: AsyncClient, groups: Iterable[str]) -> Found:
    found = Found()
    answer = await client.call(MetadataRequest(topics=None), MetadataResponse, 12)
    for topic in answer.topics:
        if not topic.is_internal:
            _check(topic.error_code)
            found.topics[topic.name or ""] = (topic.topic_id, len(topic.partitions))
    starts = await _offsets(client, found, _EARLIEST)
    ends = await _offsets(client, found, _LATEST)
    found.logs = {key: FoundLog(start, ends[key]) for key, start in starts.items()}
    await _read_logs(client, found.logs)
    await _read_commits(client, groups, found)
    return found


async def _offsets(client: AsyncClient, found: Found, timestamp: int) -> dict[Key, int]:
    request = ListOffsetsRequest(
        replica_id=-1,
        topics=[
            ListOffsetsTopic(
                name=name,
                partitions=[
                    ListOffsetsPartition(partition_index=index, timestamp=timestamp)
                    for index in range(count)
                ],
            )
            for name, (_, count) in found.topics.items()
        ],
    )
    answer = await client.call(request, ListOffsetsResponse, 7)
    offsets = {}
    for topic in answer.topics:
        for partition in topic.partitions:
            _check(partition.error_code)
            topic_id = found.topics[topic.name][0]
            offsets[topic_id, partition.partition_index] = partition.offset
    return offsets


async def _read_logs(client: AsyncClient, logs: dict[Key, FoundLog]) -> None:
    positions = {key: log.start for key, log in logs.items() if log.start < log.end}
    while positions:
        answer = await client.call(_fetch_request(positions), FetchResponse, 16)
        for topic in answer.responses:
            for partition in topic.partitions:
                _check(partition.error_code)
                key = (topic.topic_id, partition.partition_index)
                data = bytes(partition.records or b"")
                for position, header in batches(data):
                    whole = data[position : position + header.size]
                    logs[key].batches[header.base_offset] = whole
                    positions[key] = header.next_offset
        positions = {key: at for key, at in positions.items() if at < logs[key].end}


def _fetch_request(positions: dict[Key, int]) -> FetchRequest:
    topics: dict[UUID, FetchTopic] = {}
    for (topic_id, partition), offset in positions.items():
        topic = topics.setdefault(topic_id, FetchTopic(topic_id=topic_id))
        topic.partitions.append(
            FetchPartition(
                partition=partition, fetch_offset=offset, partition_max_bytes=_FETCH_BYTES
            )
        )
    return FetchRequest(min_bytes=1, topics=list(topics.values()))


async def _read_commits(client: AsyncClient, groups: Iterable[str], found: Found) -> None:
    asked = [OffsetFetchRequestGroup(group_id=group, topics=None) for group in groups]
    answer = await client.call(OffsetFetchRequest(groups=asked), OffsetFetchResponse, 10)
    for group in answer.groups:
        _check(group.error_code)
        for topic in group.topics:
            for partition in topic.partitions:
                commit = (group.group_id, topic.topic_id, partition.partition_index)
                found.commits[commit] = partition.committed_offset


def _check(error: int) -> None:
    if error:
        raise RefusedError(ErrorCode(error).name)
