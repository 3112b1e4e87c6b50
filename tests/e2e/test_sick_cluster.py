"""`group` and `cluster` commands on a cluster that is not well: what can be said is said."""

import gc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from tests import foreign
from tests.commands import Commands

from kafkaesque.broker.apis import APIS, Context
from kafkaesque.broker.config import BrokerConfig, Listener
from kafkaesque.embedded.thread import BrokerThread
from kafkaesque.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from kafkaesque.testing import Kafka

pytestmark = pytest.mark.slow

METADATA = 3
LEADER_NOT_AVAILABLE = 5
ABSENT_NODE = 7


@pytest.fixture(scope="module", autouse=True)
def _no_others() -> None:
    """A client that an earlier test has left to the collector would still complain on stderr."""
    gc.collect()


@pytest.fixture
def commands(kafka: Kafka, capfd: pytest.CaptureFixture[str]) -> Commands:
    """Two groups: one has committed `orders`, the other `prices`."""
    bootstrap = kafka.bootstrap_servers
    for group, topic in (("billing", "orders"), ("shipping", "prices")):
        foreign.create_topic(bootstrap, topic)
        foreign.commit(bootstrap, group, TopicPartition(topic, 0, 0))
    return Commands(bootstrap, capfd)


@pytest.fixture
def half_cluster(capfd: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    """A cluster whose other node is away, and with it the leader of `prices`."""

    async def metadata(context: Context, request: Any) -> MetadataResponse:
        handled: Any = APIS[METADATA].handle(context, request)
        answer: MetadataResponse = await handled
        return replace(answer, topics=[_without_leader(topic) for topic in answer.topics])

    apis = {**APIS, METADATA: APIS[METADATA]._replace(handle=metadata)}
    thread = BrokerThread(BrokerConfig.of([Listener("127.0.0.1", 0)], None, {}), apis=apis)
    thread.start()
    yield Commands(thread.bootstrap_servers, capfd)
    thread.stop()


def _without_leader(topic: MetadataResponseTopic) -> MetadataResponseTopic:
    if topic.name != "prices":
        return topic
    partitions = [
        replace(
            each,
            error_code=LEADER_NOT_AVAILABLE,
            leader_id=-1,
            replica_nodes=[0, ABSENT_NODE],
            isr_nodes=[0],
        )
        for each in topic.partitions
    ]
    return replace(topic, partitions=partitions)


def test_a_cluster_with_a_partition_that_nobody_leads_is_unhealthy(half_cluster: Commands) -> None:
    foreign.create_topic(half_cluster.bootstrap, "orders")
    foreign.create_topic(half_cluster.bootstrap, "prices")
    done = half_cluster("cluster", "health")
    assert (done.exit_code, done.err) == (1, "")
    assert done.lines[2:] == [
        "Healthy:                          false",
        "Unhealthy reasons:                "
        "[nodes_down, leaderless_partitions, under_replicated_partitions]",
        "Controller ID:                    0",
        "All nodes:                        [0, 7]",
        "Nodes down:                       [7]",
        "Leaderless partitions (1):        [prices/0]",
        "Under-replicated partitions (1):  [prices/0]",
    ]


def test_a_partition_that_nobody_leads_does_not_hide_the_lag_of_the_others(
    half_cluster: Commands,
) -> None:
    for topic in ("orders", "prices"):
        foreign.create_topic(half_cluster.bootstrap, topic)
        foreign.commit(half_cluster.bootstrap, "billing", TopicPartition(topic, 0, 0))
    orders, prices = half_cluster.succeed("cluster", "offsets").rows[1:]
    assert orders[1:7] == ["orders", "0", "0", "0.00", "0", "0"]
    assert prices[1:7] == ["prices", "0", "-", "-", "0", "-"]
    done = half_cluster("group", "seek", "billing", "--to", "end")
    assert done.exit_code == 1
    assert done.rows[1] == ["orders", "0", "0", "0"]
    assert done.rows[2][:5] == ["prices", "0", "0", "0", "OFFSET_NOT_AVAILABLE:"]


def test_a_group_that_may_not_be_seen_does_not_hide_the_others(
    kafka: Kafka, commands: Commands
) -> None:
    kafka.faults.error("OffsetFetch", "GROUP_AUTHORIZATION_FAILED", times=1)
    done = commands("cluster", "offsets")
    assert done.exit_code == 1
    assert len(done.rows) == 2
    assert "GROUP_AUTHORIZATION_FAILED: Group authorization failed; connect as a" in done.err
    assert done.err.count("\n") == 1


def test_groups_that_may_not_be_listed_are_one_complaint(kafka: Kafka, commands: Commands) -> None:
    kafka.faults.error("ListGroups", "CLUSTER_AUTHORIZATION_FAILED")
    told = commands.complain("group", "list")
    assert told.startswith("kafkaesque: the groups cannot be listed (Cluster authorization failed)")


def test_a_partition_whose_end_is_not_told_has_no_lag(kafka: Kafka, commands: Commands) -> None:
    kafka.faults.error("ListOffsets", "LEADER_NOT_AVAILABLE", topic="prices")
    billing, shipping = commands.succeed("cluster", "offsets").rows[1:]
    assert (billing[3], shipping[3], shipping[6]) == ("0", "-", "-")


def test_a_member_that_comes_in_between_keeps_its_commits(kafka: Kafka, commands: Commands) -> None:
    kafka.faults.error("OffsetCommit", "UNKNOWN_MEMBER_ID")
    done = commands("group", "seek", "billing", "--to", "end")
    assert done.exit_code == 1
    assert done.rows[1][:5] == ["orders", "0", "0", "0", "UNKNOWN_MEMBER_ID:"]
    assert "stop its members first; `kafkaesque group describe billing` names them" in done.out


def test_a_cluster_that_does_not_answer_in_time_is_one_complaint(
    kafka: Kafka, commands: Commands
) -> None:
    kafka.faults.delay("DescribeGroups", seconds=60)
    told = commands.complain("group", "describe", "billing", "--timeout", "0.5")
    assert "within 0.5 s" in told
