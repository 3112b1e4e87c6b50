"""Readers of committed records in a log with thousands of aborted transactions."""

import asyncio
from collections.abc import Callable, Collection
from pathlib import Path

import pytest
from tests.unit.broker import broker_rig
from tests.unit.broker.broker_rig import BrokerRig, run
from tests.unit.broker.connections import Client, memory_broker

from kafkaesque.broker.cold_reads import ColdReads
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.topics import NewTopic
from kafkaesque.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kafkaesque.records.batch import Record, batches, new_batch, records
from kafkaesque.records.control import Marker, read_marker
from kafkaesque.types import Buffer

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


def _append(
    partition: Partition,
    producer_id: int,
    value: bytes,
    key: bytes | None = None,
    sequence: int = 0,
) -> None:
    batch = new_batch(
        [Record(0, 1_700_000_000_000, key, value)],
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
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


def fetch_all(
    offsets: list[int], max_bytes: int, session: tuple[int, int] = (0, -1)
) -> FetchRequest:
    partitions = [
        FetchPartition(partition=number, fetch_offset=offset, partition_max_bytes=max_bytes)
        for number, offset in enumerate(offsets)
    ]
    session_id, epoch = session
    return FetchRequest(
        isolation_level=1,
        min_bytes=1,
        max_bytes=max_bytes,
        session_id=session_id,
        session_epoch=epoch,
        topics=[FetchTopic(topic="orders", partitions=partitions)],
    )


def partitions_of(response: FetchResponse) -> list[PartitionData]:
    return [data for topic in response.responses for data in topic.partitions]


def test_one_response_tells_of_a_thousand_in_all_and_all_partitions_have_their_turn() -> None:
    async def scenario() -> None:
        broker = await memory_broker()
        partitions = (await broker.topics.create(NewTopic("orders", 4))).partitions
        committed = []
        for partition in partitions:
            for number in range(600):
                _append(partition, number, b"aborted")
                partition.append_marker(number, 0, Marker.ABORT)
            _append(partition, 600, b"committed")
            partition.append_marker(600, 0, Marker.COMMIT)
            committed.append(b"committed")
        client, offsets, session, seen = Client(broker), [0] * 4, (0, 0), list[bytes]()
        end, fetches = partitions[0].high_watermark, 0
        while min(offsets) < end:
            assert fetches < 8
            response = await client.call(fetch_all(offsets, 8 << 20, session), VERSION)
            session = response.session_id, session[1] + 1
            told = partitions_of(response)
            assert sum(len(data.aborted_transactions or ()) for data in told) <= 1_000
            sent = [data for data in told if data.records]
            assert sent
            for data in sent:
                values, offsets[data.partition_index] = read(data)
                seen += values
            fetches += 1
        assert seen == committed
        await broker.close()

    asyncio.run(scenario())


def test_where_nothing_is_sent_nothing_is_told() -> None:
    async def scenario() -> None:
        broker = await memory_broker()
        for partition in (await broker.topics.create(NewTopic("orders", 20))).partitions:
            for number in range(20):
                _append(partition, number, b"aborted")
                partition.append_marker(number, 0, Marker.ABORT)
        response = await Client(broker).call(fetch_all([0] * 20, 1), VERSION)
        told = [data.aborted_transactions for data in partitions_of(response)]
        assert [len(each or ()) for each in told] == [1] + [0] * 19
        await broker.close()

    asyncio.run(scenario())


def test_of_transactions_that_were_open_together_a_thousand_are_told_at_a_time() -> None:
    async def scenario() -> None:
        broker = await memory_broker()
        partition = (await broker.topics.create(NewTopic("orders", 1))).partition(0)
        for number in range(3_000):
            _append(partition, number, b"aborted" if number % 100 else b"committed")
        for number in range(3_000):
            partition.append_marker(number, 0, Marker.ABORT if number % 100 else Marker.COMMIT)
        client, offset, seen = Client(broker), 0, list[bytes]()
        while offset < partition.high_watermark:
            (data,) = partitions_of(await client.call(fetch(offset, 1), VERSION))
            assert len(data.aborted_transactions or ()) <= 1_000
            values, offset = read(data)
            seen += values
        assert seen == [b"committed"] * 30
        await broker.close()

    asyncio.run(scenario())


def read_later(
    partition: Partition, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None]
) -> None:
    """No page cache has anything, and before a thread has brought it something happens."""

    def run(
        reads: ColdReads, job: Callable[[], Buffer], begun: Callable[[], None]
    ) -> asyncio.Future[Buffer]:
        records = job()
        meanwhile()
        begun()
        done: asyncio.Future[Buffer] = asyncio.get_running_loop().create_future()
        done.set_result(records)
        return done

    monkeypatch.setattr(ColdReads, "run", run)
    there = partition.read(0, 8 << 20, 2)
    monkeypatch.setattr(type(there), "read_nowait", lambda there: None)


def test_what_was_read_while_the_log_start_moved_is_not_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was aborted in it may be forgotten."""

    async def scenario() -> None:
        broker = await memory_broker()
        partition = (await broker.topics.create(NewTopic("orders", 1))).partition(0)
        _append(partition, 7, b"aborted")
        partition.append_marker(7, 0, Marker.ABORT)

        def move_the_start() -> None:
            partition.starts_for_good(partition.delete_records(-1))

        read_later(partition, monkeypatch, move_the_start)
        (data,) = partitions_of(await Client(broker).call(fetch(0, 1), VERSION))
        assert not data.records
        await broker.close()

    asyncio.run(scenario())


def test_what_is_told_belongs_to_what_was_read_though_the_session_has_moved_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another request of the same session may come over another connection meanwhile."""

    async def scenario() -> None:
        broker = await memory_broker()
        partition = (await broker.topics.create(NewTopic("orders", 1))).partition(0)
        _append(partition, 7, b"aborted")
        partition.append_marker(7, 0, Marker.ABORT)

        def move_on() -> None:
            for session in broker.fetch_sessions._sessions.values():
                for wanted in session.wanted.values():
                    wanted.offset = 2

        read_later(partition, monkeypatch, move_on)
        response = await Client(broker).call(fetch_all([0], 8 << 20, (0, 0)), VERSION)
        assert response.session_id
        (data,) = partitions_of(response)
        values, following = read(data)
        assert following > 0
        assert values == []
        await broker.close()

    asyncio.run(scenario())


def test_what_was_read_while_compaction_forgot_what_was_aborted_is_not_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The files that a slow read has are as they were some passes ago."""

    async def scenario() -> None:
        broker = await memory_broker()
        partition = (await broker.topics.create(NewTopic("orders", 1))).partition(0)
        _append(partition, 7, b"aborted")
        partition.append_marker(7, 0, Marker.ABORT)
        read_later(partition, monkeypatch, lambda: partition.forget_aborted([1]))
        (data,) = partitions_of(await Client(broker).call(fetch(0, 1), VERSION))
        assert read(data) == ([], 0)
        await broker.close()

    asyncio.run(scenario())


def test_a_pass_whose_partition_comes_back_meanwhile_leaves_the_markers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it had let the partition forget is known again: a reader looks for its markers."""
    failures, has_forgotten = [1], list[int]()
    checkpoint, forget = Partition.checkpoint, Partition.forget_aborted

    def forgets(partition: Partition, markers: Collection[int]) -> None:
        has_forgotten.extend(markers)
        forget(partition, markers)

    async def fails_before(partition: Partition) -> None:
        if has_forgotten and failures:
            failures.clear()
            partition._go_offline(OSError(5, "the disk is gone"))
            await partition.reopen()
        await checkpoint(partition)

    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic(
            "orders",
            cleanup_policy="compact",
            segment_bytes="4096",
            delete_retention_ms="0",
            min_cleanable_dirty_ratio="0.01",
        )
        partition = topic.partition(0)
        for sequence, marker in enumerate((Marker.ABORT, Marker.COMMIT)):
            for producer_id in range(100):
                key = b"%d" % producer_id
                _append(partition, producer_id, marker.name.encode(), key, sequence)
            for producer_id in range(100):
                partition.append_marker(producer_id, 0, marker)
        await partition.checkpoint()
        monkeypatch.setattr(Partition, "forget_aborted", forgets)
        monkeypatch.setattr(Partition, "checkpoint", fails_before)
        for _ in range(6):
            await rig.fill(partition, 1, 3000)
            monkeypatch.setattr(broker_rig, "NOW", broker_rig.NOW + 3_600_000)
            await rig.broker.storage.checkpoint()
            await rig.broker.cleaner.clean()
        assert not failures
        client, offset, seen = Client(rig.broker), 0, list[bytes]()
        while offset < partition.last_stable_offset:
            (data,) = partitions_of(await client.call(fetch(offset, 1), VERSION))
            values, offset = read(data)
            seen += values
        assert seen.count(b"COMMIT") == 100
        assert b"ABORT" not in seen

    run(tmp_path, work)
