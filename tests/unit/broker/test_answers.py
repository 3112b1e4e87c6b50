"""What the group and transaction APIs answer where Kafka's answer is easily missed."""

from pathlib import Path
from typing import Any

import pytest
from tests.unit.broker.brokers import (
    PathFiles,
    call,
    new_topic,
    time_passes,
    until,
    with_broker,
    write,
)
from tests.unit.broker.state_logs import Now

from kafkaesque.broker import metadata
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.topics import METADATA_TOPIC
from kafkaesque.errors import ErrorCode
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkaesque.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    TopicRequest,
)
from kafkaesque.protocol.messages.end_txn import EndTxnRequest
from kafkaesque.protocol.messages.list_transactions import ListTransactionsRequest
from kafkaesque.records.batch import Record, new_batch
from kafkaesque.records.control import Marker
from kafkaesque.types import TopicPartition

TIMEOUT_MS = 600_000


async def listed(broker: Broker, **filters: Any) -> list[str]:
    response = await call(broker, ListTransactionsRequest(**filters), 2)
    assert response.error_code == ErrorCode.NONE
    return [each.transactional_id for each in response.transaction_states]


async def begin(broker: Broker, name: str, partition: Partition) -> tuple[int, int]:
    reply = await broker.transactions.init(name, TIMEOUT_MS, -1, -1)
    whose = reply.producer_id, reply.producer_epoch
    broker.transactions.admit(name, *whose, partition.name, adds=True)
    await write(partition, *whose)
    return whose


def test_who_ends_a_transaction_is_told_that_no_producer_id_can_be_given_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "_PRODUCER_IDS_BLOCK", 1)

    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        files.unsynced.add(METADATA_TOPIC)
        request = EndTxnRequest(transactional_id="t", producer_id=1, committed=True)
        response = await call(broker, request, 5)
        assert response.error_code == ErrorCode.KAFKA_STORAGE_ERROR

    with_broker(tmp_path, work)


def test_transactions_are_listed_by_how_long_ago_they_began_whatever_became_of_them() -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        partition = await new_topic(broker, "a")
        await broker.transactions.init("never began", TIMEOUT_MS, -1, -1)
        whose = await begin(broker, "ended", partition)
        await begin(broker, "going on", partition)
        await broker.transactions.end("ended", *whose, commit=True, bumps=True, connection=0)
        time_passes(now, 1_000)
        await begin(broker, "young", partition)
        old = ["ended", "going on", "never began"]
        assert sorted(await listed(broker, duration_filter=999)) == old
        assert sorted(await listed(broker, duration_filter=1_000)) == ["never began"]
        assert len(await listed(broker, duration_filter=-1)) == 4
        complete = {"duration_filter": 999, "state_filters": ["CompleteCommit"]}
        assert await listed(broker, **complete) == ["ended"]

    with_broker(None, work)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        (None, ["a-1", "a-2", "b"]),
        ("", ["a-1", "a-2", "b"]),
        (r"a-\d", ["a-1", "a-2"]),
        ("(a-1|b)+", ["a-1", "b"]),
        ("a?" * 26 + "a" * 26, []),
    ],
)
def test_transactions_are_listed_by_a_pattern_for_the_whole_name(
    pattern: str | None, names: list[str]
) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        for name in ("a-1", "a-2", "b"):
            await broker.transactions.init(name, TIMEOUT_MS, -1, -1)
        assert sorted(await listed(broker, transactional_id_pattern=pattern)) == names

    with_broker(None, work)


def test_a_pattern_that_is_not_understood_is_refused() -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        response = await call(broker, ListTransactionsRequest(transactional_id_pattern="("), 2)
        assert response.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION

    with_broker(None, work)


def test_an_id_that_is_being_forgotten_is_not_listed(tmp_path: Any) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        await broker.transactions.init("t", TIMEOUT_MS, -1, -1)
        files.held.add("__transaction_state")
        now.ms += 7 * 24 * 3600 * 1000
        await broker.transactions.tick()
        assert await listed(broker) == []
        files.release()
        await until(lambda: not broker.transactions.table.transactions)

    with_broker(tmp_path / "data", work)


async def coordinator_epochs(broker: Broker) -> list[int]:
    wanted = TopicRequest(name="a", partition_indexes=[0])
    response = await call(broker, DescribeProducersRequest(topics=[wanted]), 0)
    return [each.coordinator_epoch for each in response.topics[0].partitions[0].active_producers]


def test_a_producer_has_no_coordinator_until_a_marker_has_ended_a_transaction_of_it(
    tmp_path: Any,
) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        partition = await new_topic(broker, "a")
        record = Record(0, 0, b"key", b"value")
        idempotent = new_batch([record], producer_id=5, producer_epoch=0, base_sequence=0)
        partition.append(memoryview(idempotent))
        await write(partition, 6, 0)
        assert await coordinator_epochs(broker) == [-1, -1]
        partition.append_marker(6, 0, Marker.COMMIT)
        assert await coordinator_epochs(broker) == [-1, 0]
        await write(partition, 6, 1)
        assert await coordinator_epochs(broker) == [-1, 0]

    with_broker(tmp_path / "data", work)

    async def after(broker: Broker, files: PathFiles, now: Now) -> None:
        assert await coordinator_epochs(broker) == [-1, 0]

    with_broker(tmp_path / "data", after)


@pytest.mark.parametrize(
    ("asked", "operations"), [(True, [3400, -(2**31)]), (False, [-(2**31)] * 2)]
)
def test_who_asks_is_told_all_operations_on_a_group(asked: bool, operations: list[int]) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        await broker.coordinator.commit("g", {TopicPartition("a", 0): CommittedOffset(1)})
        request = DescribeGroupsRequest(groups=["g", "?"], include_authorized_operations=asked)
        response = await call(broker, request, 6)
        assert [group.authorized_operations for group in response.groups] == operations

    with_broker(None, work)
