"""A partition that a start could not open, for readers and writers in the broker's process."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.broker.brokers import PathFiles, new_topic, with_broker, with_unopened
from tests.unit.broker.state_logs import Now

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.partition import Partition
from kafkaesque.embedded.members import Members
from kafkaesque.embedded.node import NewEvent, Node
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.murmur2 import partition_for_key
from kafkaesque.types import TopicPartition

EVENT = NewEvent(None, b"value")
UNOPENED = TopicPartition("t", 1)


def _start(path: Path, work: Callable[[Node, PathFiles], Awaitable[None]]) -> None:
    """With one event in partition 0, and five in partition 1, which could not be opened."""

    async def fill(broker: Broker, files: PathFiles, now: Now) -> None:
        node = Node(broker, 1, None)
        await new_topic(broker, "t", partitions=2)
        await node.append("t", [EVENT], 0)
        await node.append("t", [EVENT] * 5, 1)
        await node.commit("g", {UNOPENED: 4})

    async def with_node(broker: Broker, partition: Partition, files: PathFiles) -> None:
        await work(Node(broker, 1, None), files)

    with_broker(path, fill)
    with_unopened(path, UNOPENED, with_node)


async def _revive(node: Node, files: PathFiles) -> None:
    files.broken.clear()
    await node.broker.storage.revive()


def test_a_group_goes_on_where_it_was_when_the_partition_comes_late(tmp_path: Path) -> None:
    """Meanwhile it reads the others, and then it is told."""

    async def work(node: Node, files: PathFiles) -> None:
        members = Members(node, "g", frozenset({"t"}))
        await members.join("c")
        event = await members.next("c", 0)
        assert event is not None
        assert (event.partition, event.offset) == (0, 0)
        with pytest.raises(KafkaError) as told:
            await members.next("c", 0)
        assert told.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        await _revive(node, files)
        event = await members.next("c", 0)
        assert event is not None
        assert (event.partition, event.offset) == (1, 4)
        await members.close()

    _start(tmp_path, work)


@pytest.mark.parametrize(
    "ask",
    [
        lambda node: node.event("t", 0, 1),
        lambda node: node.event("t", -1, 1),
        lambda node: node.earliest("t", 1),
        lambda node: node.events("t", 0, 5, 1),
        lambda node: node.spans("t"),
        lambda node: node.span("t", 1),
    ],
)
def test_nobody_is_told_that_an_unopened_partition_is_empty(
    tmp_path: Path, ask: Callable[[Node], Awaitable[Any]]
) -> None:
    async def work(node: Node, files: PathFiles) -> None:
        with pytest.raises(KafkaError) as told:
            await ask(node)
        assert told.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        await _revive(node, files)
        assert await ask(node)

    _start(tmp_path, work)


def test_the_other_partitions_of_its_topic_are_read(tmp_path: Path) -> None:
    async def work(node: Node, files: PathFiles) -> None:
        assert (await node.span("t", 0)).end == 1
        assert await node.partition_count("t") == 2

    _start(tmp_path, work)


def test_events_of_which_some_go_to_an_unopened_partition_are_all_refused(tmp_path: Path) -> None:
    async def work(node: Node, files: PathFiles) -> None:
        assert [partition_for_key(key, 2) for key in (b"a", b"d")] == [0, 1]
        keyed = [NewEvent(key, b"value") for key in (b"a", b"d")]
        with pytest.raises(KafkaError):
            await node.append("t", keyed)
        assert (await node.span("t", 0)).end == 1

    _start(tmp_path, work)
