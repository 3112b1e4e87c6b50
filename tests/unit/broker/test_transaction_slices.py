"""A transaction with many partitions holds nobody up, and keeps what one with few keeps."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.unit.broker.brokers import (
    PathFiles,
    call,
    new_topic,
    time_passes,
    transactional_batch,
    until,
    with_broker,
)
from tests.unit.broker.ending_transactions import (
    STRANGER,
    TIMEOUT_MS,
    Identity,
    begin,
    end,
    is_committed,
    state,
    ticked,
)
from tests.unit.broker.state_logs import Now

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kafkaesque.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkaesque.transactions.events import State
from kafkaesque.transactions.partitions import Partitions
from kafkaesque.types import TopicPartition

MANY = 40
MOST_PER_TURN = 10


async def begin_in_many(broker: Broker) -> tuple[Identity, Sequence[Partition]]:
    """Each thing that is done in slices takes one whole."""
    await new_topic(broker, "a", MANY)
    broker.slices._clock = count().__next__
    partitions = broker.topics.named("a").partitions
    return await begin(broker, *partitions), partitions


def ended(partitions: Sequence[Partition]) -> int:
    return sum(not partition.open_transactions() for partition in partitions)


async def abort(broker: Broker, whose: Identity, now: Now) -> object:
    return await end(broker, whose, commit=False)


async def fence(broker: Broker, whose: Identity, now: Now) -> object:
    return await broker.transactions.init("t", TIMEOUT_MS, -1, -1)


async def time_out(broker: Broker, whose: Identity, now: Now) -> None:
    time_passes(now, TIMEOUT_MS)
    await broker.transactions.tick()


@pytest.mark.parametrize("how", [abort, fence, time_out])
def test_the_markers_of_many_partitions_are_written_in_slices(
    how: Callable[[Broker, Identity, Now], Coroutine[Any, Any, object]],
) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        whose, partitions = await begin_in_many(broker)
        ending = asyncio.ensure_future(how(broker, whose, now))
        before = 0
        while before < MANY:
            await asyncio.sleep(0)
            assert ended(partitions) - before <= MOST_PER_TURN
            before = ended(partitions)
        await ending
        await until(lambda: not broker.transactions._desks)
        assert state(broker) in (State.COMPLETE_ABORT, State.EMPTY)

    with_broker(None, work)


def test_an_end_that_is_repeated_while_markers_are_written_is_answered_like_the_first() -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        whose, partitions = await begin_in_many(broker)
        ends = [
            asyncio.ensure_future(broker.transactions.end("t", *whose, True, True, connection=0))
        ]
        await until(lambda: ended(partitions))
        ends.append(
            asyncio.ensure_future(broker.transactions.end("t", *whose, True, True, connection=0))
        )
        first, second = await asyncio.gather(*ends)
        assert first.error is second.error is ErrorCode.NONE
        assert first.producer_epoch == second.producer_epoch == whose[1] + 1
        assert all(map(is_committed, partitions))

    with_broker(None, work)


def test_a_stop_leaves_the_markers_that_are_not_written_to_the_next_start(tmp_path: Path) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        whose, partitions = await begin_in_many(broker)
        ending = asyncio.ensure_future(end(broker, whose, commit=True))
        await until(lambda: ended(partitions))
        broker.transactions.stop()
        assert await ending is ErrorCode.NONE
        assert ended(partitions) < MANY
        assert state(broker) is State.PREPARE_COMMIT

    async def after(broker: Broker, files: PathFiles, now: Now) -> None:
        async with asyncio.timeout(60):
            await until(lambda: state(broker) is State.COMPLETE_COMMIT)
        assert all(map(is_committed, broker.topics.named("a").partitions))

    with_broker(tmp_path, work)
    with_broker(tmp_path, after)


async def ends_when_mended(
    broker: Broker, files: PathFiles, partitions: Sequence[Partition]
) -> None:
    assert state(broker) is State.PREPARE_COMMIT
    files.mend()
    async with asyncio.timeout(60):
        await ticked(broker, lambda: state(broker) is State.COMPLETE_COMMIT)
    assert all(map(is_committed, partitions))


def test_a_partition_that_fails_among_many_stops_no_other(tmp_path: Path) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        whose, partitions = await begin_in_many(broker)
        files.full.add("/a-3/")
        assert await end(broker, whose, commit=True) is ErrorCode.NONE
        assert ended(partitions) == MANY - 1
        await ends_when_mended(broker, files, partitions)

    with_broker(tmp_path, work)


def test_a_marker_that_is_lost_among_many_is_written_again(tmp_path: Path) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        whose, partitions = await begin_in_many(broker)
        files.unsynced.add("/a-3/")
        assert await end(broker, whose, commit=True) is ErrorCode.NONE
        await ends_when_mended(broker, files, partitions)

    with_broker(tmp_path, work)


def test_a_topic_may_be_deleted_while_its_markers_are_written() -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        whose, partitions = await begin_in_many(broker)
        ending = asyncio.ensure_future(end(broker, whose, commit=True))
        await until(lambda: ended(partitions))
        await broker.delete_topic(broker.topics.named("a"))
        assert await ending is ErrorCode.NONE
        await ticked(broker, lambda: state(broker) is State.COMPLETE_COMMIT)

    with_broker(None, work)


def data(name: str, numbers: range, whose: Identity) -> TopicProduceData:
    parts = [PartitionProduceData(index=n, records=transactional_batch(*whose)) for n in numbers]
    return TopicProduceData(name=name, partition_data=parts)


@pytest.mark.parametrize("partitions", [1, 5, 300])
def test_a_produce_stores_once_what_it_adds_to_a_transaction(partitions: int) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        await new_topic(broker, "a", partitions)
        whose = await begin(broker)
        records = [data("a", range(partitions), whose)]
        log = broker.topics.named(TRANSACTIONS_TOPIC).partition(0).log
        before = log.end_offset
        request = ProduceRequest(
            transactional_id="t", acks=-1, timeout_ms=TIMEOUT_MS, topic_data=records
        )
        response = await call(broker, request, 12)
        answers = response.responses[0].partition_responses
        assert {answer.error_code for answer in answers} == {ErrorCode.NONE}
        assert log.end_offset == before + 1
        assert await end(broker, whose, commit=True) is ErrorCode.NONE
        assert all(map(is_committed, broker.topics.named("a").partitions))

    with_broker(None, work)


@pytest.mark.parametrize("partitions", [3, 200])
def test_a_produce_adds_nothing_that_it_is_refused(partitions: int) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        await new_topic(broker, "a", partitions)
        whose = await begin(broker)
        records = [
            data("a", range(1, partitions + 1), whose),
            data("unknown", range(1), whose),
            data(OFFSETS_TOPIC, range(1), whose),
            data("a", range(1), (STRANGER, 0)),
        ]
        request = ProduceRequest(
            transactional_id="t", acks=-1, timeout_ms=TIMEOUT_MS, topic_data=records
        )
        response = await call(broker, request, 12)
        errors = [topic.partition_responses[-1].error_code for topic in response.responses]
        assert errors == [
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ]
        transaction = broker.transactions.table.get("t")
        assert transaction is not None
        assert transaction.partitions == {TopicPartition("a", n) for n in range(1, partitions)}

    with_broker(None, work)


def test_a_produce_of_many_producers_adds_what_they_claim_in_slices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        await new_topic(broker, "a")
        whose = await begin(broker)
        records = [data("a", range(1), (STRANGER + number, 0)) for number in range(200)]
        records.append(data("a", range(1), whose))
        request = ProduceRequest(
            transactional_id="t", acks=-1, timeout_ms=TIMEOUT_MS, topic_data=records
        )
        claims: list[Partitions] = []
        add_together = broker.transactions.add_together

        def counted(transactional_id: str, pid: int, epoch: int, partitions: Partitions) -> None:
            claims.append(partitions)
            add_together(transactional_id, pid, epoch, partitions)

        monkeypatch.setattr(broker.transactions, "add_together", counted)
        broker.slices._clock = count().__next__
        producing = asyncio.ensure_future(call(broker, request, 12))
        before = 0
        while not producing.done():
            await asyncio.sleep(0)
            assert len(claims) - before <= MOST_PER_TURN
            before = len(claims)
        assert before == 201
        answers = [topic.partition_responses[0] for topic in producing.result().responses]
        assert answers[-1].error_code == ErrorCode.NONE
        assert {each.error_code for each in answers[:-1]} == {ErrorCode.INVALID_PRODUCER_ID_MAPPING}

    with_broker(None, work)


def test_a_produce_of_topics_without_partitions_looks_at_each_in_slices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        request = ProduceRequest(
            transactional_id="t", acks=-1, topic_data=[data("a", range(0), (0, 0))] * 500
        )
        slices = 0
        turn = broker.slices.turn

        async def counted(*, is_first: bool = False) -> None:
            nonlocal slices
            slices += 1
            await turn(is_first=is_first)

        monkeypatch.setattr(broker.slices, "turn", counted)
        broker.slices._clock = count().__next__
        response = await call(broker, request, 12)
        assert len(response.responses) == 500
        # Once for the answers, and once for what it adds to the transaction.
        assert slices > 1.9 * 500

    with_broker(None, work)


def entry(
    whose: Identity, number: int, *, topic: str = "a", verify_only: bool = False
) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id="t",
        producer_id=whose[0],
        producer_epoch=whose[1],
        verify_only=verify_only,
        topics=[AddPartitionsToTxnTopic(name=topic, partitions=[number])],
    )


async def errors_of(broker: Broker, entries: list[AddPartitionsToTxnTransaction]) -> list[int]:
    response = await call(broker, AddPartitionsToTxnRequest(transactions=entries), 5)
    return [
        result.topic_results[0].results_by_partition[0].partition_error_code
        for result in response.results_by_transaction
    ]


@pytest.mark.parametrize("partitions", [5, 300])
def test_a_transaction_that_a_request_names_again_and_again_is_stored_once(partitions: int) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        await new_topic(broker, "a", partitions)
        whose = await begin(broker)
        log = broker.topics.named(TRANSACTIONS_TOPIC).partition(0).log
        before = log.end_offset
        errors = await errors_of(broker, [entry(whose, number) for number in range(partitions)])
        assert errors == [ErrorCode.NONE] * partitions
        assert log.end_offset == before + 1
        transaction = broker.transactions.table.get("t")
        assert transaction is not None
        assert transaction.partitions == {TopicPartition("a", n) for n in range(partitions)}

    with_broker(None, work)


def test_each_entry_for_a_transaction_is_answered_by_itself() -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        await new_topic(broker, "a", 3)
        whose = await begin(broker)
        errors = await errors_of(
            broker,
            [
                entry(whose, 0),
                entry(whose, 0, topic="unknown"),
                entry((STRANGER, 0), 1),
                entry((whose[0], whose[1] + 1), 1),
                entry(whose, 0, verify_only=True),
                entry(whose, 1, verify_only=True),
                entry(whose, 2),
            ],
        )
        assert errors == [
            ErrorCode.NONE,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.INVALID_PRODUCER_ID_MAPPING,
            ErrorCode.PRODUCER_FENCED,
            ErrorCode.NONE,
            ErrorCode.INVALID_TXN_STATE,
            ErrorCode.NONE,
        ]
        transaction = broker.transactions.table.get("t")
        assert transaction is not None
        assert transaction.partitions == {TopicPartition("a", n) for n in (0, 2)}

    with_broker(None, work)
