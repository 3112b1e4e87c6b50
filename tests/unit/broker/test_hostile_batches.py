"""Batches that unpack to far more than they are, or do not unpack: what they cost those who ask."""

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.unit.broker.brokers import call, new_topic, until, with_broker
from tests.unit.broker.connections import Client
from tests.wire.requests import produce

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.topics import NewTopic
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.timestamps import MAX_UNPACKED_BYTES
from kafkaesque.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkaesque.records.batch import Record, new_batch
from kafkaesque.records.compression import Codec

VERSION = 7
FAT_BYTES = 4 << 20


def batch(size: int, claimed: int = 0) -> memoryview:
    """One record of so many bytes, of time 1000; its header may claim a later one."""
    records = [Record(0, 1000, b"key", bytes(size))]
    if claimed:
        records.append(Record(1, claimed, b"key", b"later"))
    return memoryview(new_batch(records, codec=Codec.GZIP))


def search(name: str, timestamp: int) -> ListOffsetsRequest:
    partition = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    return ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=name, partitions=[partition])]
    )


def found(answer: Any) -> tuple[int, int, int]:
    (topic,) = answer.topics
    (partition,) = topic.partitions
    return partition.error_code, partition.offset, partition.timestamp


async def fill(partition: Partition, *batches: memoryview) -> None:
    for each in batches:
        partition.append(each)
    if waiting := partition.flushed(partition.log.end_offset):
        await waiting


@contextmanager
def no_cycles_collected() -> Iterator[list[KafkaError]]:
    """In the end: the errors that only a collector of cycles would free."""
    left: list[KafkaError] = []
    gc.collect()
    gc.disable()
    try:
        yield left
        left += [each for each in gc.get_objects() if type(each).__mro__[1] is KafkaError]
    finally:
        gc.enable()


def test_a_search_that_meets_a_fat_batch_takes_room_for_it() -> None:
    async def story(broker: Broker, *_: Any) -> None:
        await fill(await new_topic(broker, "fat"), batch(FAT_BYTES, claimed=5000))
        await fill(await new_topic(broker, "lean"), batch(10, claimed=5000))
        room = await broker.long_requests.enter(10 * broker.budget.limit)
        waiting = asyncio.ensure_future(call(broker, search("fat", 2000), VERSION))
        assert found(await call(broker, search("lean", 2000), VERSION)) == (0, 1, 5000)
        assert not waiting.done()
        room.leave()
        assert found(await waiting) == (0, 1, 5000)
        assert broker.budget.used == 0

    with_broker(None, story)


def test_fat_batches_are_opened_as_far_as_there_is_room() -> None:
    async def story(broker: Broker, *_: Any) -> None:
        await fill(await new_topic(broker, "fat"), batch(FAT_BYTES, claimed=5000))
        clients = [Client(broker) for _ in range(20)]
        for client in clients:
            client.send(search("fat", 2000), VERSION)
        most, left = 0, set(clients)
        while left:
            await asyncio.sleep(0)
            most = max(most, broker.long_requests._held)
            left -= {client for client in left if client.answers()}
        assert MAX_UNPACKED_BYTES <= most <= broker.budget.limit // 2

    with_broker(None, story)


@pytest.mark.parametrize("number", [1, 3])
def test_a_search_of_many_fat_partitions_takes_room_once(number: int) -> None:
    async def story(broker: Broker, *_: Any) -> None:
        topic = await broker.topics.create(NewTopic("fat", number))
        for partition in topic.partitions:
            await fill(partition, batch(FAT_BYTES, claimed=5000))
        request = search("fat", 2000)
        request.topics[0].partitions = [
            ListOffsetsPartition(partition_index=each, timestamp=2000) for each in range(number)
        ]
        client = Client(broker)
        client.send(request, VERSION)
        most = 0
        while client.connection.is_busy:
            await asyncio.sleep(0)
            most = max(most, broker.long_requests._held)
        assert most == MAX_UNPACKED_BYTES
        (answer,) = client.answers()
        assert [each.offset for each in answer.topics[0].partitions] == [1] * number
        await until(lambda: not broker.budget.used)

    with_broker(None, story)


def test_a_search_that_fails_leaves_nothing_to_be_collected() -> None:
    async def story(broker: Broker, *_: Any) -> None:
        await fill(await new_topic(broker, "bomb"), batch(MAX_UNPACKED_BYTES + 1, claimed=5000))
        with no_cycles_collected() as left:
            for _again in range(3):
                answer = found(await call(broker, search("bomb", 2000), VERSION))
                assert answer[0] == ErrorCode.CORRUPT_MESSAGE
        assert not left

    with_broker(None, story)


def test_a_batch_that_is_refused_leaves_nothing_to_be_collected() -> None:
    async def story(broker: Broker, *_: Any) -> None:
        await broker.topics.create(NewTopic("keys", 1, configs={"cleanup.policy": "compact"}))
        client = Client(broker)
        bomb = batch(40 << 20)
        with no_cycles_collected() as left:
            for _again in range(3):
                answer = await client.call(produce("keys", 0, bytes(bomb)), 9)
                (topic,) = answer.responses
                (partition,) = topic.partition_responses
                assert partition.error_code == ErrorCode.MESSAGE_TOO_LARGE
        assert not left

    with_broker(None, story)


def test_whatever_a_topic_allows_a_batch_unpacks_to_128_mib_at_most() -> None:
    async def story(broker: Broker, *_: Any) -> None:
        settings = {"cleanup.policy": "compact", "max.message.bytes": str(2**31 - 1)}
        topic = await broker.topics.create(NewTopic("keys", 1, configs=settings))
        assert topic.partition(0).max_unpacked_bytes == 128 << 20
        usual = await broker.topics.create(NewTopic("usual", 1))
        assert 32 << 20 <= usual.partition(0).max_unpacked_bytes < 34 << 20

    with_broker(None, story)
