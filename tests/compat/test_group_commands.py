"""`kafkaesque group` and `cluster` commands on Apache Kafka itself, for groups of both protocols.

What they do on our broker is in tests/e2e/.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, TopicPartition
from tests import foreign
from tests.commands import Commands
from tests.compat.apache_kafka import ApacheKafka

PROTOCOLS = ["classic", "consumer"]

pytestmark = pytest.mark.compat


@pytest.fixture
def commands(apache_kafka: ApacheKafka, capfd: pytest.CaptureFixture[str]) -> Commands:
    return Commands(apache_kafka.bootstrap, capfd)


@pytest.fixture
def topic(apache_kafka: ApacheKafka) -> str:
    """Two partitions, with three records in the second."""
    made = foreign.create_topic(apache_kafka.bootstrap, partitions=2)
    foreign.produce(apache_kafka.bootstrap, made, ["a", "b", "c"], 1, [1000, 2000, 3000])
    return made


@contextmanager
def member(bootstrap: str, group: str, topic: str, protocol: str) -> Iterator[Consumer]:
    reader = foreign.consumer(bootstrap, group, group_protocol=protocol, client_id="reader")
    reader.subscribe([topic])
    try:
        foreign.until(lambda: (reader.poll(0.05), reader.assignment())[1])
        yield reader
    finally:
        reader.close()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_is_listed_described_kept_and_at_last_deleted(
    commands: Commands, topic: str, protocol: str
) -> None:
    group = foreign.name("group")
    with member(commands.bootstrap, group, topic, protocol) as reader:
        reader.commit(offsets=[TopicPartition(topic, 1, 1)], asynchronous=False)
        assert [group, "Stable", protocol] in commands.succeed("group", "list").rows
        described = commands.succeed("group", "describe", group).rows
        lags = commands.succeed("cluster", "offsets", group).rows[1:]
        refused = commands.complain("group", "seek", group, "--to", "start")
        kept = commands("group", "delete", group)
    assert described[5] == ["TOTAL-LAG", "2"]
    assert [row[:6] for row in described[-2:]] == [
        [topic, "0", "-", "0", "0", "-"],
        [topic, "1", "1", "0", "3", "2"],
    ]
    assert all(row[7:] == ["reader", "127.0.0.1"] for row in described[-2:])
    assert lags[1][:7] == [group, topic, "1", "2", "66.67", "1", "3"]
    assert lags[1][8:] == ["127.0.0.1", "reader"]
    assert "has active members (1)" in refused
    assert (kept.exit_code, "NON_EMPTY_GROUP" in kept.out) == (1, True)
    assert commands.succeed("group", "delete", group).rows[1:] == [[group, "OK"]]
    assert group not in commands.succeed("group", "list").out


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_is_moved(commands: Commands, topic: str, protocol: str) -> None:
    group, other = foreign.name("group"), foreign.name("group")
    with member(commands.bootstrap, group, topic, protocol) as reader:
        reader.commit(offsets=[TopicPartition(topic, 1, 1)], asynchronous=False)
    seek = ["group", "seek", group]
    assert commands.succeed(*seek, "--to", "end").rows[1:] == [
        [topic, "0", "-", "0"],
        [topic, "1", "1", "3"],
    ]
    assert commands.succeed(*seek, "--to", "1970-01-01T00:00:02Z").rows[2][3] == "1"
    commands.succeed("group", "seek", other, "--to-group", group)
    assert foreign.committed(commands.bootstrap, other, topic, 1).offset == 1
    commands.succeed(*seek, "--to", "start", "--topics", topic)
    assert foreign.committed(commands.bootstrap, group, topic, 1).offset == 0


def test_a_group_and_a_partition_that_are_not_there_are_named(
    commands: Commands, topic: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    missing = foreign.name("group")
    assert "GROUP_ID_NOT_FOUND" in commands.complain("group", "describe", missing)
    path = tmp_path_factory.mktemp("offsets") / "offsets.txt"
    path.write_text(f"{topic} 0 0\n{topic} 9 0\n")
    done = commands("group", "seek", missing, "--to-file", path)
    assert done.exit_code == 1
    assert done.rows[1] == [topic, "0", "-", "0"]
    assert done.rows[2][:5] == [topic, "9", "-", "-", "UNKNOWN_TOPIC_OR_PARTITION:"]


def test_the_cluster_is_described_and_healthy(commands: Commands, topic: str) -> None:
    told = commands.succeed("cluster", "info", "--format", "json").json
    (broker,) = told["brokers"]
    assert f"{broker['host']}:{broker['port']}" == commands.bootstrap
    assert {"name": topic, "partitions": 2, "replicas": 1} in told["topics"]
    health = commands.succeed("cluster", "health", "--format", "json").json
    assert (health["healthy"], health["all_nodes"]) == (True, [broker["id"]])
