"""Which partitions a transaction has is durable when a record in one of them is acknowledged."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.unit.broker.brokers import (
    PathFiles,
    call,
    new_topic,
    transactional_batch,
    until,
    with_broker,
    with_unopened,
    write,
)
from tests.unit.broker.ending_transactions import (
    TIMEOUT_MS,
    Identity,
    Unopened,
    begin,
    end,
    is_committed,
    state,
    ticked,
)
from tests.unit.broker.state_logs import Now

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.topics import TRANSACTIONS_TOPIC
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkaesque.transactions.events import State
from kafkaesque.types import TopicPartition

B = TopicPartition("b", 0)
ADDED, ADDS = 11, 12
"""Versions of Produce: the partitions are part of the transaction before, or become it by that."""


async def produce(
    broker: Broker,
    whose: Identity,
    partitions: Sequence[Partition],
    version: int,
    sequence: int = 0,
) -> set[int]:
    """A record in each of these. The errors of the answer."""
    if version == ADDED:
        names = [partition.name for partition in partitions]
        await broker.transactions.add("t", *whose, names, connection=0)
    data = [
        TopicProduceData(
            name=partition.name.topic,
            partition_data=[
                PartitionProduceData(
                    index=partition.name.partition,
                    records=transactional_batch(*whose, sequence=sequence),
                )
            ],
        )
        for partition in partitions
    ]
    request = ProduceRequest(transactional_id="t", acks=-1, timeout_ms=TIMEOUT_MS, topic_data=data)
    response = await call(broker, request, version)
    return {topic.partition_responses[0].error_code for topic in response.responses}


def are_durable(*partitions: Partition) -> bool:
    return all(each.log.end_offset == each.log.flushed_offset > 0 for each in partitions)


async def some_turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize("version", [ADDED, ADDS])
def test_records_are_acknowledged_when_it_is_durable_that_they_are_of_the_transaction(
    tmp_path: Path, version: int
) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a, b = await new_topic(broker, "a"), await new_topic(broker, "b")
        whose = await begin(broker)
        files.held.add(TRANSACTIONS_TOPIC)
        first = asyncio.ensure_future(produce(broker, whose, [a, b], version))
        await until(lambda: are_durable(a, b))
        second = asyncio.ensure_future(produce(broker, whose, [b], ADDED, sequence=1))
        await until(lambda: b.log.end_offset == 2 and are_durable(b))
        await some_turns()
        assert not first.done()
        assert not second.done()
        files.release()
        assert await first == await second == {ErrorCode.NONE}

    with_broker(tmp_path, work)


def test_records_of_a_partition_that_is_known_durably_do_not_wait_for_that_of_another(
    tmp_path: Path,
) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a, b = await new_topic(broker, "a"), await new_topic(broker, "b")
        whose = await begin(broker)
        assert await produce(broker, whose, [a], ADDS) == {ErrorCode.NONE}
        files.held.add(TRANSACTIONS_TOPIC)
        other = asyncio.ensure_future(produce(broker, whose, [b], ADDS))
        assert await produce(broker, whose, [a], ADDS, sequence=1) == {ErrorCode.NONE}
        assert not other.done()
        files.release()
        assert await other == {ErrorCode.NONE}

    with_broker(tmp_path, work)


def test_where_writes_are_cached_records_are_acknowledged_at_once(tmp_path: Path) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a = await new_topic(broker, "a")
        await broker.topics.configure(broker.topics.named("a"), lambda: {"write.caching": "true"})
        whose = await begin(broker)
        files.held.add(TRANSACTIONS_TOPIC)
        assert await produce(broker, whose, [a], ADDS) == {ErrorCode.NONE}

    with_broker(tmp_path, work)


@pytest.mark.parametrize("version", [ADDED, ADDS])
@pytest.mark.parametrize("then", ["nothing", "init", "next"])
def test_a_committed_transaction_is_not_forgotten_before_all_that_was_acknowledged_is_committed(
    tmp_path: Path, version: int, then: str
) -> None:
    """Though the record that `b` is part of it was lost once, and a start cannot open `b`."""
    whose: Identity = (-1, -1)

    async def before(broker: Broker, files: PathFiles, now: Now) -> None:
        nonlocal whose
        a, b = await new_topic(broker, "a"), await new_topic(broker, "b")
        whose = await begin(broker, a)
        await asyncio.wait_for(until(lambda: not broker.transactions._added), 60)
        files.unsynced.add(TRANSACTIONS_TOPIC)
        assert await produce(broker, whose, [b], version) == {ErrorCode.KAFKA_STORAGE_ERROR}
        again = await produce(broker, whose, [b], ADDS)
        assert again == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
        files.mend()
        await ticked(broker, lambda: not broker.transactions._desks)
        assert await produce(broker, whose, [b], version) == {ErrorCode.NONE}
        assert b.log.end_offset == 1

    async def decide(broker: Broker, b: Partition, files: PathFiles) -> None:
        assert await end(broker, whose, commit=True) is ErrorCode.NONE
        await broker.transactions.tick()
        assert state(broker) is State.PREPARE_COMMIT
        if then == "init":
            reply = await broker.transactions.init("t", TIMEOUT_MS, -1, -1)
            assert reply.error is ErrorCode.CONCURRENT_TRANSACTIONS
        elif then == "next":
            a = broker.topics.named("a").partition(0)
            following = whose[0], whose[1] + 1
            refused = await produce(broker, following, [a], ADDS)
            assert refused == {ErrorCode.CONCURRENT_TRANSACTIONS}

    async def after(broker: Broker, files: PathFiles, now: Now) -> None:
        await ticked(broker, lambda: state(broker) is State.COMPLETE_COMMIT)
        assert is_committed(broker.topics.named("b").partition(0))

    with_broker(tmp_path, before)
    with_unopened(tmp_path, B, decide)
    with_broker(tmp_path, after)


def test_a_transaction_goes_on_when_a_partition_that_cannot_be_opened_is_deleted(
    tmp_path: Path,
) -> None:
    whose: Identity = (-1, -1)

    async def before(broker: Broker, files: PathFiles, now: Now) -> None:
        nonlocal whose
        b = await new_topic(broker, "b")
        whose = await begin(broker)
        assert await produce(broker, whose, [b], ADDS) == {ErrorCode.NONE}

    async def decide(broker: Broker, b: Partition, files: PathFiles) -> None:
        assert await end(broker, whose, commit=True) is ErrorCode.NONE
        await broker.delete_topic(broker.topics.named("b"))
        await ticked(broker, lambda: state(broker) is State.COMPLETE_COMMIT)
        await begin(broker)

    with_broker(tmp_path, before)
    with_unopened(tmp_path, B, decide)


def test_what_was_committed_is_known_though_another_partition_shows_the_next_transaction(
    tmp_path: Path,
) -> None:
    """Of which, as of `b`, nothing is in the log."""
    story = Unopened(tmp_path)
    story.write()

    async def decide(broker: Broker, files: PathFiles, now: Now) -> None:
        reply = await broker.transactions.end("t", *story.identity, True, True, connection=0)
        await until(lambda: not broker.transactions._desks)
        a = broker.topics.named("a").partition(0)
        await write(a, reply.producer_id, reply.producer_epoch)

    async def after(broker: Broker, files: PathFiles, now: Now) -> None:
        b = broker.topics.named("b").partition(0)
        assert state(broker) is State.ONGOING
        files.broken.clear()
        await ticked(broker, lambda: b.offline is None and not b.open_transactions())
        assert is_committed(b)

    story.start_again(decide)
    story.start_again(after)
