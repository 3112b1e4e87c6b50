"""`kafkaesque cluster …` against a broker, one that goes away among them."""

import signal
import subprocess
from collections.abc import Iterator

import pytest
from confluent_kafka import TopicPartition
from tests import foreign, group_state
from tests.broker_process import COMMAND, BrokerProcess
from tests.commands import Commands
from tests.in_process import InProcessBroker

pytestmark = pytest.mark.slow

HEALTHY = (
    "CLUSTER HEALTH OVERVIEW\n"
    "=======================\n"
    "Healthy:                          true\n"
    "Unhealthy reasons:                []\n"
    "Controller ID:                    0\n"
    "All nodes:                        [0]\n"
    "Nodes down:                       []\n"
    "Leaderless partitions (0):        []\n"
    "Under-replicated partitions (0):  []\n"
)


@pytest.fixture
def commands(capfd: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    with InProcessBroker(None) as broker:
        yield Commands(broker.bootstrap, capfd)


@pytest.fixture
def topic1(commands: Commands) -> str:
    """Three partitions, and two records in the last."""
    topic = foreign.create_topic(commands.bootstrap, "topic1", 3)
    foreign.produce(commands.bootstrap, topic, ["test", "test2"], 2)
    return topic


def test_the_id_the_brokers_and_the_topics_are_shown(commands: Commands, topic1: str) -> None:
    cluster_id = foreign.admin(commands.bootstrap).list_topics(timeout=60).cluster_id
    host, port = commands.bootstrap.split(":")
    assert commands.succeed("cluster", "info").out == (
        f"CLUSTER\n=======\n{cluster_id}\n\n"
        f"BROKERS\n=======\nID  HOST       PORT\n0*  {host}  {port}\n\n"
        "TOPICS\n======\nNAME    PARTITIONS  REPLICAS\ntopic1  3           1\n"
    )


def test_one_part_of_it_is_shown_without_a_title(commands: Commands, topic1: str) -> None:
    assert commands.succeed("cluster", "info", "--print-brokers").rows[0] == ["ID", "HOST", "PORT"]
    foreign.commit(commands.bootstrap, "group1", TopicPartition(topic1, 2, 1))
    assert commands.succeed("cluster", "info", "-t").rows[1:] == [["topic1", "3", "1"]]
    internal = commands.succeed("cluster", "info", "-i").rows[1:]
    assert [row[0] for row in internal] == ["__consumer_offsets", "topic1"]


def test_the_parts_come_as_json_too(commands: Commands, topic1: str) -> None:
    told = commands.succeed("cluster", "info", "--format", "json").json
    (broker,) = told["brokers"]
    assert (broker["id"], broker["controller"]) == (0, True)
    assert f"{broker['host']}:{broker['port']}" == commands.bootstrap
    assert told["topics"] == [{"name": "topic1", "partitions": 3, "replicas": 1}]


def test_a_broker_with_all_its_partitions_is_healthy(commands: Commands, topic1: str) -> None:
    assert commands.succeed("cluster", "health").out == HEALTHY
    told = commands.succeed("cluster", "health", "--format", "json").json
    assert (told["healthy"], told["all_nodes"], told["nodes_down"]) == (True, [0], [])


def watching(broker: BrokerProcess, option: str) -> "subprocess.Popen[str]":
    command = [str(COMMAND), "cluster", "health", option, "--brokers", broker.bootstrap]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_watch_waits_for_a_broker_that_is_not_there_yet(broker: BrokerProcess) -> None:
    broker.stop()
    watch = watching(broker, "-e")
    assert watch.stderr is not None
    assert watch.stderr.readline().startswith(f"kafkaesque: nothing answers at {broker.bootstrap}")
    broker.start()
    out, err = watch.communicate(timeout=60)
    assert (watch.returncode, out, err) == (0, HEALTHY, "")


def test_a_watch_prints_changes_until_it_is_interrupted(broker: BrokerProcess) -> None:
    watch = watching(broker, "--watch")
    assert watch.stdout is not None
    assert watch.stderr is not None
    assert [watch.stdout.readline() for _ in HEALTHY.splitlines()] == HEALTHY.splitlines(True)
    broker.stop()
    assert watch.stderr.readline().startswith("kafkaesque: n")
    broker.start()
    again = [watch.stdout.readline() for _ in range(10)]
    assert again == ["\n", *HEALTHY.splitlines(True)]
    watch.send_signal(signal.SIGINT)
    out, _ = watch.communicate(timeout=60)
    assert (watch.returncode, out) == (0, "")


def test_the_lag_table_is_rpks(commands: Commands, topic1: str) -> None:
    reader = foreign.consumer(commands.bootstrap, "group2", client_id="rpk")
    reader.subscribe([topic1])
    foreign.until(lambda: (reader.poll(0.05), reader.assignment())[1])
    (member,) = group_state.members(commands.bootstrap, "group2")
    heads, *lines = commands.succeed("cluster", "offsets").lines
    reader.close()
    consumer = "CONSUMER".ljust(len(member.member_id))
    assert heads == (
        "  GROUP   TOPIC   PARTITION  LAG  LAG %  COMMITTED  LATEST  "
        f"{consumer}  CLIENT-HOST  CLIENT-ID  "
    )
    assert lines == [
        f"  group2  topic1  {partition}          -    -      -          {latest}       "
        f"{member.member_id}  127.0.0.1    rpk        "
        for partition, latest in enumerate((0, 0, 2))
    ]


def test_the_lag_of_a_group_whose_consumers_have_left_is_shown(
    commands: Commands, topic1: str
) -> None:
    foreign.commit(commands.bootstrap, "group1", TopicPartition(topic1, 2, 1))
    foreign.commit(commands.bootstrap, "group3", TopicPartition(topic1, 0, 0))
    first, third = commands.succeed("cluster", "offsets").rows[1:]
    assert first == ["group1", "topic1", "2", "1", "50.00", "1", "2", "-", "-", "-"]
    assert third == ["group3", "topic1", "0", "0", "0.00", "0", "0", "-", "-", "-"]
    named = commands.succeed("cluster", "offsets", "group3", "--format", "json").json
    assert named == [
        {
            "group": "group3",
            "topic": "topic1",
            "partition": 0,
            "lag": 0,
            "lag_percent": 0.0,
            "committed": 0,
            "latest": 0,
            "consumer": None,
            "client_host": None,
            "client_id": None,
        }
    ]


def test_a_group_without_an_account_is_named_on_stderr(commands: Commands, topic1: str) -> None:
    done = commands("cluster", "offsets", "missing")
    assert done.exit_code == 1
    assert [row[0] for row in done.rows] == ["GROUP"]
    assert done.err.startswith("kafkaesque: group missing: GROUP_ID_NOT_FOUND: ")
