"""What strangers can make the coordinators remember: bounded, and nothing of what is refused."""

import asyncio
from dataclasses import replace
from typing import cast

import pytest
from tests.unit.broker.brokers import PathFiles, call, new_topic, until, with_broker, write
from tests.unit.broker.state_logs import Now

from kafkaesque.broker.broker import Broker
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.groups.committed import MAX_PENDING_BYTES
from kafkaesque.groups.events import Heartbeat, Join, JoinReply, Reply, Sync, SyncReply
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.protocol.messages.init_producer_id import InitProducerIdRequest
from kafkaesque.types import TopicPartition

A = TopicPartition("a", 0)
MEGABYTE = 1 << 20


async def joined(broker: Broker, group_id: str, metadata: bytes = b"") -> JoinReply:
    reply = broker.coordinator.future()
    protocols = (("range", metadata),)
    join = Join(reply, "", None, "c", "/h", "consumer", protocols, 10_000, 10_000)
    broker.coordinator.ask(group_id, join)
    return cast(JoinReply, await reply)


async def heartbeat(broker: Broker, group_id: str) -> ErrorCode:
    reply = broker.coordinator.future()
    broker.coordinator.ask(group_id, Heartbeat(reply, 0, "?"))
    return cast(Reply, await reply).error


def test_a_member_of_sixty_megabytes_is_refused_and_nothing_of_it_kept() -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        refused = await joined(broker, "g", bytes(60 * MEGABYTE))
        assert refused.error is ErrorCode.GROUP_MAX_SIZE_REACHED
        coordinator = broker.coordinator
        assert coordinator.table.groups == {}
        assert coordinator.table.budget.used_bytes == 0
        assert (coordinator._waiting, coordinator._desks) == ({}, {})

    with_broker(None, work)


def test_all_groups_together_keep_no_more_than_their_budget() -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        budget = broker.coordinator.table.budget
        budget.max_bytes = 10 * MEGABYTE
        errors = [
            (await joined(broker, f"g{n}", bytes(MEGABYTE - 10_000))).error for n in range(12)
        ]
        assert errors == [ErrorCode.NONE] * 10 + [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
        assert len(broker.coordinator.table.groups) == 10
        assert budget.used_bytes <= budget.max_bytes

    with_broker(None, work)


def test_who_waits_for_a_leader_keeps_none_of_the_assignments_it_has_sent() -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        coordinator = broker.coordinator
        first = await joined(broker, "g")
        second = coordinator.future()
        again = coordinator.future()
        join = Join(second, "", None, "d", "/h", "consumer", (("range", b""),), 10_000, 10_000)
        coordinator.ask("g", join)
        coordinator.ask("g", replace(join, token=again, member_id=first.member_id))
        follower = cast(JoinReply, await second)
        waiting = coordinator.future()
        assignments = {str(n): bytes(1_000) for n in range(1_000)}
        sync = Sync(waiting, follower.generation, follower.member_id, assignments=assignments)
        coordinator.ask("g", sync)
        assert coordinator._waiting == {
            waiting: SyncReply(waiting, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        }
        coordinator.stop()
        assert cast(SyncReply, await waiting).error is ErrorCode.COORDINATOR_NOT_AVAILABLE

    with_broker(None, work)


def test_a_group_has_no_more_members_than_can_be_dealt_with_in_one_step() -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        leader = await joined(broker, "g")
        joining = [asyncio.ensure_future(joined(broker, "g")) for _ in range(1_001)]
        await until(joining[-1].done)
        assert joining[-1].result().error is ErrorCode.GROUP_MAX_SIZE_REACHED
        again = broker.coordinator.future()
        protocols = (("range", b""),)
        join = Join(again, leader.member_id, None, "c", "/h", "consumer", protocols, 10_000, 10_000)
        broker.coordinator.ask("g", join)
        assert cast(JoinReply, await again).error is ErrorCode.GROUP_MAX_SIZE_REACHED
        replies = await asyncio.gather(*joining[:-1])
        assert {reply.error for reply in replies} == {ErrorCode.NONE}

    with_broker(None, work)


def test_no_more_groups_than_are_to_be_remembered() -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        table = broker.coordinator.table
        table.config = replace(table.config, max_groups=2)
        for group_id in ("g", "h"):
            await broker.coordinator.commit(group_id, {A: CommittedOffset(1)})
        with pytest.raises(KafkaError) as refused:
            await broker.coordinator.commit("i", {A: CommittedOffset(1)})
        assert refused.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert (await joined(broker, "i")).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert set(table.groups) == {"g", "h"}
        await broker.coordinator.commit("h", {A: CommittedOffset(2)})
        await broker.coordinator.delete_topic("a")
        await broker.coordinator.commit("i", {A: CommittedOffset(1)})

    with_broker(None, work)


@pytest.mark.parametrize("group_id", ["g" * 32_768, "\u00e9" * 20_000])
def test_a_group_that_no_record_could_name_is_refused(group_id: str) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        assert (await joined(broker, group_id)).error is ErrorCode.INVALID_GROUP_ID
        assert await heartbeat(broker, group_id) is ErrorCode.INVALID_GROUP_ID
        with pytest.raises(KafkaError) as refused:
            await broker.coordinator.commit_in_transaction(group_id, 7, 0, {A: CommittedOffset(1)})
        assert refused.value.code is ErrorCode.INVALID_GROUP_ID
        assert broker.coordinator.table.groups == {}

    with_broker(None, work)


def test_offsets_of_transactions_that_go_on_and_on_are_bounded() -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        partition = await new_topic(broker, "a")
        offsets = broker.coordinator.table.offsets
        await broker.coordinator.commit_in_transaction("g", 7, 0, {A: CommittedOffset(1)})
        assert 0 < offsets.pending_bytes < 2_000
        offsets.pending_bytes += MAX_PENDING_BYTES
        with pytest.raises(KafkaError) as refused:
            await broker.coordinator.commit_in_transaction("g", 7, 0, {A: CommittedOffset(1)})
        assert refused.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
        await broker.coordinator.commit("g", {A: CommittedOffset(2)})
        offsets.pending_bytes -= MAX_PENDING_BYTES
        await write(partition, 8, 0)
        await broker.transactions.end_in(TopicPartition("__consumer_offsets", 0), 7, 0, commit=True)
        assert offsets.pending_bytes == 0

    with_broker(None, work)


def test_no_more_transactional_ids_than_are_to_be_remembered() -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        table = broker.transactions.table
        table.config = replace(table.config, max_kept_bytes=1_500)
        for name, error in (
            ("a", ErrorCode.NONE),
            ("b", ErrorCode.NONE),
            ("c", ErrorCode.COORDINATOR_NOT_AVAILABLE),
            ("a", ErrorCode.NONE),
        ):
            assert (await broker.transactions.init(name, 60_000, -1, -1)).error is error
        assert set(table.transactions) == {"a", "b"}
        now.ms += 8 * 24 * 3600 * 1000
        await broker.transactions.tick()
        await until(lambda: not table.transactions)
        assert (await broker.transactions.init("c", 60_000, -1, -1)).error is ErrorCode.NONE

    with_broker(None, work)


def test_a_transactional_id_that_no_record_could_name_is_refused() -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        request = InitProducerIdRequest(transactional_id="t" * 32_768, transaction_timeout_ms=1)
        assert (await call(broker, request, 5)).error_code == ErrorCode.INVALID_REQUEST
        assert not broker.transactions.table.transactions

    with_broker(None, work)
