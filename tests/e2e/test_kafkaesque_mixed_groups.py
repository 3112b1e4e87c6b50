"""Consumers of the program and Kafka clients in one group."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewPartitions
from tests import foreign

from kafkaesque import ConsumerGroup, Kafkaesque
from kafkaesque.groups.events import Leave, Leaving

pytestmark = pytest.mark.slow


@pytest.fixture
def k() -> Iterator[Kafkaesque]:
    with Kafkaesque(partitions=4) as kafkaesque:
        kafkaesque.create("t")
        yield kafkaesque


class Reader:
    """A confluent consumer: what it was assigned and what it has read."""

    def __init__(self, bootstrap: str, group: str) -> None:
        self.consumer: Consumer = foreign.consumer(
            bootstrap, group, heartbeat_interval_ms=100, enable_auto_commit=True
        )
        self.consumer.subscribe(["t"])
        self.values: list[Any] = []

    def poll(self) -> None:
        message = self.consumer.poll(0.01)
        if message is not None and message.error() is None:
            self.values.append(int(message.value() or b""))

    def poll_until(self, condition: Callable[[], bool]) -> None:
        def polled() -> bool:
            self.poll()
            return condition()

        foreign.until(polled)

    def poll_until_it_has(self, partitions: int) -> None:
        self.poll_until(lambda: len(self.consumer.assignment()) == partitions)


def _drain(group: ConsumerGroup, consumer: str) -> list[Any]:
    values = []
    while event := group.next(consumer):
        values.append(event.value)
    return values


def test_both_get_a_share_and_leaving_hands_it_over(k: Kafkaesque) -> None:
    group = k.group("g", ["t"])
    group.join("here")
    k.extend("t", range(100), key=str)
    seen = [event.value for _ in range(10) if (event := group.next("here"))]
    reader = Reader(k.bootstrap_servers, "g")
    reader.poll_until_it_has(2)
    shares = group.assignment
    assert len(shares) == 2
    assert sorted(map(len, shares.values())) == [2, 2]
    assert sorted(chain(*shares.values())) == [("t", n) for n in range(4)]
    theirs = {
        value
        for name in reader.consumer.assignment()
        for value in k.topic("t")[name.partition, :]
        if value not in seen
    }
    reader.poll_until(lambda: theirs <= set(reader.values))
    reader.consumer.close()
    foreign.until(lambda: group.assignment == {"here": [("t", n) for n in range(4)]})
    k.extend("t", range(100, 140), key=str)
    assert sorted(seen + reader.values + _drain(group, "here")) == list(range(140))


def test_who_leaves_here_hands_over_to_a_client(k: Kafkaesque) -> None:
    k.extend("t", range(60), key=str)
    group = k.group("g", ["t"])
    group.join("here")
    seen = [event.value for _ in range(25) if (event := group.next("here"))]
    reader = Reader(k.bootstrap_servers, "g")
    reader.poll_until_it_has(2)
    group.leave("here")
    reader.poll_until(lambda: len(seen) + len(reader.values) >= 60)
    reader.consumer.close()
    assert sorted(seen + reader.values) == list(range(60))


def test_tools_see_the_consumers_of_the_program(k: Kafkaesque) -> None:
    group = k.group("g", ["t"])
    group.join("one")
    group.join("two")
    client = AdminClient({"bootstrap.servers": k.bootstrap_servers, "log_level": 0})
    found = client.describe_consumer_groups(["g"])["g"].result(foreign.TIMEOUT_S)
    assert (found.state.name, found.partition_assignor) == ("STABLE", "range")
    shares = {
        member.client_id: [(p.topic, p.partition) for p in member.assignment.topic_partitions]
        for member in found.members
    }
    assert shares == group.assignment
    assert {member.host for member in found.members} == {"/embedded"}


def test_partitions_that_a_client_adds_are_shared_out_too(k: Kafkaesque) -> None:
    group = k.group("g", ["t"])
    group.join("one")
    client = AdminClient({"bootstrap.servers": k.bootstrap_servers, "log_level": 0})
    client.create_partitions([NewPartitions("t", 6)])["t"].result(foreign.TIMEOUT_S)
    k.put("t", "x", partition=5)
    assert _drain(group, "one") == ["x"]
    assert len(group.assignment["one"]) == 6


def test_a_consumer_that_was_removed_by_a_tool_comes_back_and_loses_nothing(k: Kafkaesque) -> None:
    """LeaveGroup for somebody else's member: what an administrator's tool sends."""
    k.extend("t", range(20), key=str)
    group = k.group("g", ["t"])
    group.join("one")
    seen = [event.value for _ in range(5) if (event := group.next("one"))]
    coordinator = k._node.broker.coordinator
    member = k._groups["g"]._members["one"].member_id

    async def remove() -> None:
        reply = coordinator.future()
        coordinator.ask("g", Leave(reply, (Leaving(member),)))
        await reply

    k._call(remove)
    rest = _drain(group, "one")
    assert set(seen) | set(rest) == set(range(20))
    assert len(seen) + len(rest) <= 21, "only the last event may come again"
