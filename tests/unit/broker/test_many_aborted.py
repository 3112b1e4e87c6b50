"""Readers of committed records in a log with thousands of aborted transactions."""

import asyncio

from tests.unit.broker.connections import Client, memory_broker

from kafkaesque.broker.partition import Partition
from kafkaesque.broker.topics import NewTopic
from kafkaesque.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    PartitionData,
)
from kafkaesque.records.batch import Record, batches, new_batch, records
from kafkaesque.records.control import Marker, read_marker

TRANSACTIONS = 5000
FEW = 2000
VERSION = 11


def fill(partition: Partition) -> list[bytes]:
    """Aborted and committed transactions, one of them open all the time; what was committed."""
    _append(partition, 999_999, b"aborted at last")
    committed = []
    for number in range(TRANSACTIONS):
        value, marker = b"%d" % number, Marker.ABORT if number % 5 else Marker.COMMIT
        _append(partition, number, value)
        partition.append_marker(number, 0, marker)
        if marker is Marker.COMMIT:
            committed.append(value)
    partition.append_marker(999_999, 0, Marker.ABORT)
    return committed


def _append(partition: Partition, producer_id: int, value: bytes) -> None:
    batch = new_batch(
        [Record(0, 1_700_000_000_000, None, value)],
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    partition.append(memoryview(batch))


def fetch(offset: int, min_bytes: int) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=8 << 20)
    return FetchRequest(
        isolation_level=1,
        max_wait_ms=3_600_000,
        min_bytes=min_bytes,
        max_bytes=8 << 20,
        topics=[FetchTopic(topic="orders", partitions=[partition])],
    )


def read(data: PartitionData) -> tuple[list[bytes], int]:
    """As Kafka's clients do: what is not hidden, and the offset to go on with."""
    aborted = sorted(data.aborted_transactions or [], key=lambda each: each.first_offset)
    hidden: set[int] = set()
    values, following = [], 0
    for position, header in batches(data.records or b""):
        while aborted and aborted[0].first_offset <= header.last_offset:
            hidden.add(aborted.pop(0).producer_id)
        following = header.next_offset
        if header.is_control:
            if read_marker(bytes(data.records or b"")[position:]) is Marker.ABORT:
                hidden.discard(header.producer_id)
        elif header.producer_id not in hidden:
            values += [bytes(each.value or b"") for each in records(data.records or b"", position)]
    return values, following


def test_they_are_told_of_a_few_at_a_time_and_read_what_was_committed() -> None:
    async def scenario() -> None:
        broker = await memory_broker()
        partition = (await broker.topics.create(NewTopic("orders", 1))).partition(0)
        committed = fill(partition)
        client, offset, seen, fetches = Client(broker), 0, list[bytes](), 0
        while offset < partition.high_watermark:
            (topic,) = (await client.call(fetch(offset, 1), VERSION)).responses
            (data,) = topic.partitions
            assert data.last_stable_offset == partition.high_watermark
            assert len(data.aborted_transactions) <= FEW
            values, offset = read(data)
            seen += values
            fetches += 1
        assert seen == committed
        assert fetches > 1
        await broker.close()

    asyncio.run(scenario())


def test_they_do_not_wait_for_bytes_that_come_next_time() -> None:
    async def scenario() -> None:
        broker = await memory_broker()
        partition = (await broker.topics.create(NewTopic("orders", 1))).partition(0)
        fill(partition)
        answering = Client(broker).call(fetch(0, 8 << 20), VERSION)
        (topic,) = (await asyncio.wait_for(answering, 60)).responses
        assert 0 < read(topic.partitions[0])[1] < partition.high_watermark
        await broker.close()

    asyncio.run(scenario())
