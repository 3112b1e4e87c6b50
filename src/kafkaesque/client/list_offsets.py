"""Where partitions begin, where they end, and which offset a point of time has: ListOffsets.

The leaders are asked, each for its own. A leader that has changed, or a broker that is away, is
looked for again until the timeout. Above: fetch.py. Below: links.py.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

from kafkaesque.client.cluster_metadata import ClusterMetadata
from kafkaesque.client.connection import ClusterError, RefusedError
from kafkaesque.client.links import Links
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kafkaesque.types import TopicPartition

T = TypeVar("T")

EARLIEST: Final = -2
LATEST: Final = -1

_VERSION: Final = 6
_CONSUMER: Final = -1
_NOT_FOUND: Final = -1
_PAUSE_S: Final = 0.1
RETRIABLE: Final = {
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_SERVER_ERROR,
}
"""Errors that pass when leaders have settled."""


async def offsets(
    links: Links, places: Iterable[TopicPartition], at: int, isolation_level: int
) -> dict[TopicPartition, int]:
    """`at` is EARLIEST, LATEST or a timestamp in ms; after the last record, it is the end.

    Raises KafkaError for a partition that is not there, ClusterError if nobody answers in time.
    """
    wanted = set(places)
    found = await patiently(links, lambda: _ask(links, wanted, at, isolation_level))
    beyond = [place for place, offset in found.items() if offset == _NOT_FOUND]
    if beyond and at >= 0:
        found |= await offsets(links, beyond, LATEST, isolation_level)
    return found


async def patiently(links: Links, ask: Callable[[], Awaitable[T]]) -> T:
    """Ask again until there is an answer, or the time is up."""
    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + links.connection.timeout_s
    while True:
        try:
            return await ask()
        except RefusedError:
            raise
        except ClusterError:
            if loop.time() > deadline_s:
                raise
        except KafkaError as error:
            if error.code not in RETRIABLE or loop.time() > deadline_s:
                raise
        await asyncio.sleep(_PAUSE_S)


async def _ask(
    links: Links, places: Iterable[TopicPartition], at: int, isolation_level: int
) -> dict[TopicPartition, int]:
    metadata = await links.metadata({place.topic for place in places})
    asked = [
        _ask_leader(links, metadata, leader, led, at, isolation_level)
        for leader, led in _by_leader(metadata, places).items()
    ]
    found: dict[TopicPartition, int] = {}
    for answer in await asyncio.gather(*asked):
        found |= answer
    return found


def _by_leader(
    metadata: ClusterMetadata, places: Iterable[TopicPartition]
) -> dict[int, list[TopicPartition]]:
    led: dict[int, list[TopicPartition]] = {}
    for place in places:
        if error := metadata.error_of(place):
            raise KafkaError(error, f"{place}: {error.name}")
        led.setdefault(metadata.leaders[place], []).append(place)
    return led


async def _ask_leader(
    links: Links,
    metadata: ClusterMetadata,
    leader: int,
    places: Iterable[TopicPartition],
    at: int,
    isolation_level: int,
) -> dict[TopicPartition, int]:
    topics: dict[str, list[ListOffsetsPartition]] = {}
    for place in places:
        wanted = ListOffsetsPartition(partition_index=place.partition, timestamp=at)
        topics.setdefault(place.topic, []).append(wanted)
    request = ListOffsetsRequest(
        replica_id=_CONSUMER,
        isolation_level=isolation_level,
        topics=[ListOffsetsTopic(name=name, partitions=each) for name, each in topics.items()],
    )
    answer = await links.ask(metadata.nodes[leader], request, ListOffsetsResponse, _VERSION)
    return {
        TopicPartition(topic.name, each.partition_index): _offset(topic.name, each)
        for topic in answer.topics
        for each in topic.partitions
    }


def _offset(topic: str, told: ListOffsetsPartitionResponse) -> int:
    if told.error_code:
        error = ErrorCode(told.error_code)
        raise KafkaError(error, f"{TopicPartition(topic, told.partition_index)}: {error.name}")
    return told.offset
