"""However many clients have long work, one of them is served in each turn of the loop."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

import pytest
from tests.unit.broker.brokers import PathFiles, call, new_topic, with_broker
from tests.unit.broker.state_logs import Now

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.patterns import Pattern
from kafkaesque.groups.events import Event, Leave
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.protocol.messages.delete_groups import DeleteGroupsRequest
from kafkaesque.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkaesque.protocol.messages.list_transactions import ListTransactionsRequest
from kafkaesque.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkaesque.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafkaesque.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kafkaesque.types import TopicPartition

CLIENTS = 10
PARTITIONS = 1_000


def with_long_work(work: Callable[[Broker], Awaitable[Any]]) -> None:
    """A broker whose clock goes so fast that each batch takes a slice."""

    async def main(broker: Broker, files: PathFiles, now: Now) -> None:
        clock = count()
        broker.slices._clock = lambda: next(clock)
        await new_topic(broker, "t", PARTITIONS)
        await work(broker)

    with_broker(None, main)


async def most_in_a_turn(done: Callable[[], int], *work: Awaitable[Any]) -> int:
    """How much of all that is done between two looks, at most."""
    working = asyncio.gather(*work)
    most, before = 0, done()
    while not working.done():
        await asyncio.sleep(0)
        most, before = max(most, done() - before), done()
    await working
    return most


async def most_written_in_a_turn(broker: Broker, *work: Awaitable[Any]) -> int:
    """Of committed offsets and their tombstones."""
    log = broker.coordinator._log
    return await most_in_a_turn(lambda: log.end_offset, *work)


def _commit(group_id: str) -> OffsetCommitRequest:
    partitions = [OffsetCommitRequestPartition(partition_index=n) for n in range(PARTITIONS)]
    topic = OffsetCommitRequestTopic(name="t", partitions=partitions)
    return OffsetCommitRequest(group_id=group_id, topics=[topic])


async def _commit_in_transaction(broker: Broker, group_id: str) -> None:
    reply = await broker.transactions.init(group_id, 60_000, -1, -1)
    partitions = [TxnOffsetCommitRequestPartition(partition_index=n) for n in range(PARTITIONS)]
    request = TxnOffsetCommitRequest(
        transactional_id=group_id,
        group_id=group_id,
        producer_id=reply.producer_id,
        producer_epoch=reply.producer_epoch,
        topics=[TxnOffsetCommitRequestTopic(name="t", partitions=partitions)],
    )
    answer = await call(broker, request, 5)
    assert {partition.error_code for partition in answer.topics[0].partitions} == {0}


async def commit_for_all(broker: Broker) -> list[str]:
    """The groups, each with an offset of each partition."""
    group_ids = [f"g{number}" for number in range(CLIENTS)]
    for group_id in group_ids:
        names = [TopicPartition("t", number) for number in range(PARTITIONS)]
        await broker.coordinator.commit(group_id, dict.fromkeys(names, CommittedOffset(1)))
    return group_ids


def test_commits() -> None:
    async def work(broker: Broker) -> None:
        requests = (_commit(f"g{number}") for number in range(CLIENTS))
        answers = [call(broker, request, 8) for request in requests]
        assert await most_written_in_a_turn(broker, *answers) <= 150
        offsets = broker.coordinator.table.offsets
        assert {len(offsets.partitions(f"g{n}")) for n in range(CLIENTS)} == {PARTITIONS}

    with_long_work(work)


def test_commits_in_transactions() -> None:
    async def work(broker: Broker) -> None:
        commits = [_commit_in_transaction(broker, f"g{n}") for n in range(CLIENTS)]
        assert await most_written_in_a_turn(broker, *commits) <= 150

    with_long_work(work)


def test_deletions_of_offsets() -> None:
    async def work(broker: Broker) -> None:
        partitions = [OffsetDeleteRequestPartition(partition_index=n) for n in range(PARTITIONS)]
        topics = [OffsetDeleteRequestTopic(name="t", partitions=partitions)]
        answers = [
            call(broker, OffsetDeleteRequest(group_id=group_id, topics=topics), 0)
            for group_id in await commit_for_all(broker)
        ]
        assert await most_written_in_a_turn(broker, *answers) <= 250
        assert broker.coordinator.table.groups == {}

    with_long_work(work)


def test_deletions_of_groups() -> None:
    async def work(broker: Broker) -> None:
        answers = [
            call(broker, DeleteGroupsRequest(groups_names=[group_id]), 2)
            for group_id in await commit_for_all(broker)
        ]
        # The last two batches of one go together.
        assert await most_written_in_a_turn(broker, *answers) <= 2 * 250
        assert broker.coordinator.table.groups == {}

    with_long_work(work)


def test_members_that_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    leaving = 0

    async def work(broker: Broker) -> None:
        ask = broker.coordinator.ask

        def counted(group_id: str, event: Event) -> None:
            nonlocal leaving
            leaving += len(event.members) if isinstance(event, Leave) else 0
            ask(group_id, event)

        monkeypatch.setattr(broker.coordinator, "ask", counted)
        members = [MemberIdentity(member_id=f"{number}") for number in range(2_000)]
        request = LeaveGroupRequest(group_id="g", members=members)
        answers = [call(broker, request, 5) for _ in range(CLIENTS)]
        assert await most_in_a_turn(lambda: leaving, *answers) <= 500
        assert leaving == CLIENTS * 2_000

    with_long_work(work)


def test_members_that_leave_are_answered_in_the_order_of_the_request() -> None:
    async def work(broker: Broker) -> None:
        members = [MemberIdentity(member_id=f"{number}") for number in range(2_000)]
        answer = await call(broker, LeaveGroupRequest(group_id="g", members=members), 5)
        assert [member.member_id for member in answer.members] == [m.member_id for m in members]

    with_long_work(work)


def test_patterns_of_transactional_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = 0

    class Counted(Pattern):
        def __init__(self, text: str) -> None:
            nonlocal patterns
            patterns += 1
            super().__init__(text)

    async def work(broker: Broker) -> None:
        module = sys.modules["kafkaesque.broker.apis.list_transactions"]
        monkeypatch.setattr(module, "Pattern", Counted)
        request = ListTransactionsRequest(transactional_id_pattern="(t|r|.)*")
        answers = [call(broker, request, 2) for _ in range(CLIENTS)]
        assert await most_in_a_turn(lambda: patterns, *answers) == 1

    with_long_work(work)
