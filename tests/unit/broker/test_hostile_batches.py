"""Batches that unpack to far more than they are, or do not unpack: what they cost those who ask."""

import asyncio
import gc
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import pytest
from tests.unit.broker.brokers import call, new_topic, until, with_broker
from tests.unit.broker.connections import Client
from tests.wire.requests import produce

from kafkaesque.broker.apis.list_offsets import _Lookup
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.topics import NewTopic
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log import timestamps
from kafkaesque.log.timestamps import MAX_UNPACKED_BYTES, Search
from kafkaesque.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkaesque.records.batch import Head, Record, assemble, new_batch, read_header
from kafkaesque.records.compression import Codec, compress
from kafkaesque.records.varint import encode_varint

VERSION = 7
list_offsets: Any = sys.modules["kafkaesque.broker.apis.list_offsets"]
opened_batches: Any = sys.modules["kafkaesque.broker.apis.opened_batches"]
FAT_BYTES = 4 << 20


def batch(size: int, claimed: int = 0, codec: Codec = Codec.GZIP) -> memoryview:
    """One record of so many bytes, of time 1000; its header may claim a later one."""
    records = [Record(0, 1000, b"key", bytes(size))]
    if claimed:
        records.append(Record(1, claimed, b"key", b"later"))
    return memoryview(new_batch(records, codec=codec))


def batch_of_headers(count: int) -> memoryview:
    """One record of time 1000 with so many empty headers. Its batch claims a later one."""
    body = bytes(3) + encode_varint(1) + b"k" + encode_varint(-1)
    body += encode_varint(count) + b"\0\x01" * count
    header = read_header(new_batch([Record(0, 1000, b"k", None)]))
    data = compress(Codec.GZIP, encode_varint(len(body)) + body)
    claimed = header._replace(attributes=Codec.GZIP, max_timestamp=5000)
    return memoryview(assemble(claimed, data))


@contextmanager
def no_more_allocated_than(size: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()


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
def no_cycles_collected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def errors_left() -> list[Any]:
    """Those that only a collector of cycles would free, once their thread has gone on."""
    return [each for each in gc.get_objects() if isinstance(each, KafkaError)]


def test_who_meets_a_fat_batch_waits_and_nobody_else() -> None:
    async def story(broker: Broker, *_: Any) -> None:
        await fill(await new_topic(broker, "fat"), batch(FAT_BYTES, claimed=5000))
        await fill(await new_topic(broker, "lean"), batch(10, claimed=5000))
        async with broker.large_searches, broker.large_searches:
            waiting = asyncio.ensure_future(call(broker, search("fat", 2000), VERSION))
            assert found(await call(broker, search("lean", 2000), VERSION)) == (0, 1, 5000)
            for _turn in range(50):
                await asyncio.sleep(0)
            assert not waiting.done()
        assert found(await waiting) == (0, 1, 5000)

    with_broker(None, story)


class CountedSlots(asyncio.Semaphore):
    """The most that were taken at a time."""

    most = taken = 0

    async def acquire(self) -> Literal[True]:
        await super().acquire()
        self.taken += 1
        self.most = max(self.most, self.taken)
        return True

    def release(self) -> None:
        self.taken -= 1
        super().release()


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.NONE])
def test_few_fat_batches_are_open_at_a_time(codec: Codec) -> None:
    async def story(broker: Broker, *_: Any) -> None:
        topic = NewTopic("fat", 1, configs={"max.message.bytes": str(2 * FAT_BYTES)})
        partition = (await broker.topics.create(topic)).partition(0)
        await fill(partition, batch(FAT_BYTES, claimed=5000, codec=codec))
        slots = broker.large_searches = CountedSlots(2)
        asked = [call(broker, search("fat", 2000), VERSION) for _ in range(20)]
        for answer in await asyncio.gather(*asked):
            assert found(answer) == (0, 1, 5000)
        assert (slots.most, slots.taken) == (2, 0)

    with_broker(None, story)


def test_between_two_batches_others_come_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log may be full of batches that claim a record that they do not have."""
    monkeypatch.setattr(list_offsets, "_SECONDS_IN_A_SLOT", 0.0)

    async def story(broker: Broker, *_: Any) -> None:
        liar = [Record(0, 1000, b"key", bytes(FAT_BYTES)), Record(1, 5000, b"key", b"later")]
        partition = await new_topic(broker, "liars")
        # What was older than the log's start counts in the headers only.
        await fill(partition, *(memoryview(new_batch(liar, codec=Codec.GZIP)) for _ in range(20)))
        await fill(await new_topic(broker, "fat"), batch(FAT_BYTES, claimed=5000))
        slots = broker.large_searches = CountedSlots(1)
        with monkeypatch.context() as patched:
            patched.setattr(timestamps, "_first_of", _found_nothing)
            long = asyncio.ensure_future(call(broker, search("liars", 2000), VERSION))
            while not slots.taken:
                await asyncio.sleep(0)
            await asyncio.wait_for(call(broker, search("fat", 2000), VERSION), 60)
            assert not long.done()
            assert found(await long) == (0, -1, -1)

    with_broker(None, story)


def _found_nothing(heads: Iterator[Head], *_: int) -> Search:
    for _head in heads:
        yield False
    return None


def test_who_goes_leaves_the_slot_when_the_thread_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    may_end = threading.Event()
    steps = list_offsets._some_steps

    async def story(broker: Broker, *_: Any) -> None:
        partition = await new_topic(broker, "fat")
        await fill(partition, batch(FAT_BYTES, claimed=5000))
        slots = broker.large_searches = CountedSlots(1)

        def held(search: Search, slot: Any) -> Any:
            if slots.taken:
                may_end.wait()
            return steps(search, slot)

        monkeypatch.setattr(list_offsets, "_some_steps", held)
        asked = asyncio.ensure_future(call(broker, search("fat", 2000), VERSION))
        await until(lambda: slots.taken and partition.cold_reads._under_way)
        asked.cancel()
        await asyncio.wait([asked])
        assert slots.taken == 1
        may_end.set()
        await until(lambda: not slots.taken)

    with_broker(None, story)


def test_who_waits_long_for_each_turn_keeps_the_slot_for_as_much_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It takes as many turns as alone, however long it waits for them."""
    turns = 0
    steps = list_offsets._some_steps

    def counted(search: Search, slot: Any) -> Any:
        nonlocal turns
        turns += 1
        time.sleep(2 * list_offsets._SECONDS_IN_A_SLOT)
        return steps(search, slot)

    async def story(broker: Broker, *_: Any) -> None:
        partition = await new_topic(broker, "many")
        for number in range(2000):
            partition.append(memoryview(new_batch([Record(0, number, None, b"")])))
        if waiting := partition.flushed(partition.log.end_offset):
            await waiting
        partition.delete_records(1)
        broker.long_searches = CountedSlots(1)
        monkeypatch.setattr(list_offsets, "_some_steps", counted)
        assert found(await call(broker, search("many", -3), VERSION)) == (0, 1999, 1999)
        assert turns < 50

    with_broker(None, story)


def test_what_was_deleted_while_it_was_found_is_not_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched = _Lookup._found
    looked = 0

    async def late(lookup: _Lookup, partition: Partition, *wanted: int) -> Any:
        nonlocal looked
        looked += 1
        place = await searched(lookup, partition, *wanted)
        if looked == 1:
            partition.delete_records(1)
        return place

    async def story(broker: Broker, *_: Any) -> None:
        partition = await new_topic(broker, "two")
        await fill(partition, batch(10), batch(10))
        monkeypatch.setattr(_Lookup, "_found", late)
        assert found(await call(broker, search("two", 500), VERSION)) == (0, 1, 1000)
        assert looked == 2

    with_broker(None, story)


@pytest.mark.parametrize("timestamp", [2000, -3])
def test_each_of_many_partitions_is_searched_to_its_end(timestamp: int) -> None:
    """Even if each needs more than the first turn."""

    async def story(broker: Broker, *_: Any) -> None:
        topic = await broker.topics.create(NewTopic("many", 4))
        for number, partition in enumerate(topic.partitions):
            await fill(partition, batch(FAT_BYTES if number % 2 else 10, claimed=5000 + number))
        request = search("many", timestamp)
        request.topics[0].partitions = [
            ListOffsetsPartition(partition_index=number, timestamp=timestamp) for number in range(4)
        ]
        (topic_answer,) = (await call(broker, request, VERSION)).topics
        places = [(each.offset, each.timestamp) for each in topic_answer.partitions]
        assert places == [(1, 5000 + number) for number in range(4)]

    with_broker(None, story)


def test_a_search_that_fails_leaves_nothing_to_be_collected() -> None:
    async def story(broker: Broker, *_: Any) -> None:
        await fill(await new_topic(broker, "bomb"), batch(MAX_UNPACKED_BYTES + 1, claimed=5000))
        with no_cycles_collected():
            for _again in range(3):
                answer = found(await call(broker, search("bomb", 2000), VERSION))
                assert answer[0] == ErrorCode.CORRUPT_MESSAGE
            await until(lambda: not errors_left())

    with_broker(None, story)


def test_a_batch_that_is_refused_leaves_nothing_to_be_collected() -> None:
    async def story(broker: Broker, *_: Any) -> None:
        await broker.topics.create(NewTopic("keys", 1, configs={"cleanup.policy": "compact"}))
        client = Client(broker)
        bomb = batch(40 << 20)
        with no_cycles_collected():
            for _again in range(3):
                answer = await client.call(produce("keys", 0, bytes(bomb)), 9)
                (topic,) = answer.responses
                (partition,) = topic.partition_responses
                assert partition.error_code == ErrorCode.MESSAGE_TOO_LARGE
            await until(lambda: not errors_left())

    with_broker(None, story)


def test_whatever_a_topic_allows_a_batch_unpacks_to_128_mib_at_most() -> None:
    async def story(broker: Broker, *_: Any) -> None:
        settings = {"cleanup.policy": "compact", "max.message.bytes": str(2**31 - 1)}
        topic = await broker.topics.create(NewTopic("keys", 1, configs=settings))
        assert topic.partition(0).max_unpacked_bytes == 128 << 20
        usual = await broker.topics.create(NewTopic("usual", 1))
        assert 32 << 20 <= usual.partition(0).max_unpacked_bytes < 34 << 20

    with_broker(None, story)


def test_many_headers_cost_a_search_nothing() -> None:
    async def story(broker: Broker, *_: Any) -> None:
        await fill(await new_topic(broker, "headers"), batch_of_headers(400_000))
        with no_more_allocated_than(2 << 20):
            for timestamp, place in ((2000, (-1, -1)), (500, (0, 1000))):
                assert found(await call(broker, search("headers", timestamp), VERSION)) == (
                    0,
                    *place,
                )

    with_broker(None, story)


def test_many_headers_cost_nothing_where_each_record_needs_a_key() -> None:
    async def story(broker: Broker, *_: Any) -> None:
        await broker.topics.create(NewTopic("keys", 1, configs={"cleanup.policy": "compact"}))
        request = produce("keys", 0, bytes(batch_of_headers(400_000)))
        with no_more_allocated_than(2 << 20):
            answer = await Client(broker).call(request, 9)
        assert answer.responses[0].partition_responses[0].error_code == 0

    with_broker(None, story)


def test_a_batch_with_more_headers_than_anybody_writes_is_refused_where_they_are_looked_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(opened_batches, "_FEW_LOOKED_AT", 1000)
    monkeypatch.setattr(opened_batches, "_MAX_LOOKED_AT", 10_000)

    async def story(broker: Broker, *_: Any) -> None:
        for name, policy in (("keys", "compact"), ("plain", "delete")):
            await broker.topics.create(NewTopic(name, 1, configs={"cleanup.policy": policy}))
        # Records with too few headers for steps count by those, too.
        headers = tuple((str(number), b"") for number in range(100))
        records = [Record(number, 1000, b"k", None, headers) for number in range(110)]
        errors = []
        for name, sent in (
            ("keys", batch_of_headers(9_000)),
            ("keys", batch_of_headers(11_000)),
            ("plain", batch_of_headers(11_000)),
            ("keys", new_batch(records, codec=Codec.GZIP)),
        ):
            answer = await Client(broker).call(produce(name, 0, bytes(sent)), 9)
            errors.append(answer.responses[0].partition_responses[0].error_code)
        refused = ErrorCode.MESSAGE_TOO_LARGE
        assert errors == [0, refused, 0, refused]

    with_broker(None, story)


def test_what_unpacks_to_little_does_not_wait_for_what_unpacks_to_much() -> None:
    async def story(broker: Broker, *_: Any) -> None:
        await broker.topics.create(NewTopic("keys", 1, configs={"cleanup.policy": "compact"}))
        async with broker.unpacking, broker.unpacking:
            waiting = Client(broker)
            waiting.send(produce("keys", 0, bytes(batch_of_headers(600_000))), 9)
            request = produce("keys", 0, bytes(batch_of_headers(1000)))
            answer = await Client(broker).call(request, 9)
            assert answer.responses[0].partition_responses[0].error_code == 0
            # Nor does what a topic packs anew.
            await broker.topics.create(NewTopic("zstd", 1, configs={"compression.type": "zstd"}))
            request = produce("zstd", 0, bytes(batch_of_headers(1000)))
            answer = await Client(broker).call(request, 9)
            assert answer.responses[0].partition_responses[0].error_code == 0
            assert not waiting.answers()
        await until(lambda: broker.topics.named("keys").partition(0).log.end_offset == 2)

    with_broker(None, story)
