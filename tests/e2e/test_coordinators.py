"""Coordinators of groups, asked while their broker is there, away, and back."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests import foreign, group_state
from tests.broker_process import BrokerProcess

from kafkaesque.client.connection import UnansweredError
from kafkaesque.client.coordinators import Coordinators
from kafkaesque.client.group_requests import Commit, commit, committed, describe
from kafkaesque.client.profiles import connection_of
from kafkaesque.errors import ErrorCode
from kafkaesque.testing import Kafka
from kafkaesque.types import TopicPartition

PLACE = TopicPartition("t", 0)
# Every line that comes is a question to all that live longer than a broker does.
ASKING = """
import sys
from dataclasses import replace
from kafkaesque.client.admin import Admin
from kafkaesque.client.connection import ClusterError
from kafkaesque.client.groups import Groups
from kafkaesque.client.profiles import connection_of
from kafkaesque.pipelines.sink.errors import LostError
from kafkaesque.pipelines.sink.ledger import Ledger
from kafkaesque.pipelines.source.commits import GroupCommits
from kafkaesque.types import TopicPartition

connection = replace(connection_of(sys.argv[1]), timeout_s=1.0)
groups = Groups(Admin.connect(connection))
commits = GroupCommits(connection, "g")
ledger = Ledger(connection, "writer", None)
for number, _ in enumerate(sys.stdin):
    commits.commit({TopicPartition("t", 0): number})
    try:
        ledger.read(stable=False)
        groups.committed("g")
        groups.describe(["g"])
        print("answered", flush=True)
    except (ClusterError, LostError):
        print("unanswered", flush=True)
"""


@contextmanager
def asking(bootstrap: str) -> "Iterator[subprocess.Popen[str]]":
    process = subprocess.Popen(
        [sys.executable, "-c", ASKING, bootstrap],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ask(process: "subprocess.Popen[str]") -> str:
    """What it says; nothing if it has died."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


@pytest.mark.slow
def test_a_process_lives_on_after_its_questions_have_timed_out_and_the_broker_is_back(
    broker: BrokerProcess,
) -> None:
    foreign.create_topic(broker.bootstrap, PLACE.topic)
    with asking(broker.bootstrap) as process:
        assert ask(process) == "answered"
        broker.kill()
        assert ask(process) == "unanswered"
        broker.start()
        foreign.until(lambda: ask(process) == "answered" or process.poll() is not None)
        assert [ask(process) for _ in range(3)] == ["answered"] * 3
        assert process.poll() is None
    assert group_state.commits(broker.bootstrap, "g")[PLACE].offset >= 4


def test_a_coordinator_that_loads_its_state_is_asked_again(kafka: Kafka) -> None:
    coordinators = Coordinators(connection_of(kafka.bootstrap_servers))
    foreign.create_topic(kafka.bootstrap_servers, PLACE.topic)
    for api in ("FindCoordinator", "OffsetCommit"):
        kafka.faults.error(api, "COORDINATOR_LOAD_IN_PROGRESS", times=1)
    assert coordinators.ask(["g"], commit({PLACE: 7})) == {"g": {PLACE: ErrorCode.NONE}}
    for api in ("FindCoordinator", "OffsetFetch"):
        kafka.faults.error(api, "NOT_COORDINATOR", times=1)
    assert coordinators.ask(["g"], committed()) == {"g": {PLACE: Commit(7, "", ErrorCode.NONE)}}


def test_a_refusal_is_of_its_group_alone(kafka: Kafka) -> None:
    foreign.create_topic(kafka.bootstrap_servers, PLACE.topic)
    names = [f"g{number}" for number in range(250)]
    coordinators = Coordinators(connection_of(kafka.bootstrap_servers))
    coordinators.ask(names, commit({PLACE: 7}))
    kafka.faults.error("OffsetFetch", "GROUP_AUTHORIZATION_FAILED", times=1)
    told = coordinators.ask(names, committed())
    assert list(told) == names
    refused = [name for name in names if told[name] is ErrorCode.GROUP_AUTHORIZATION_FAILED]
    assert refused == ["g0"]
    assert all(told[name] == {PLACE: Commit(7, "", ErrorCode.NONE)} for name in names[1:])


def test_one_of_the_brokers_that_are_named_is_enough(kafka: Kafka) -> None:
    both = connection_of(f"127.0.0.1:1,{kafka.bootstrap_servers}")
    told = Coordinators(both).ask_one("nobody", describe)
    assert not isinstance(told, ErrorCode)
    assert (told.state, told.members) == ("Dead", [])
    with pytest.raises(UnansweredError, match=r"nothing answers at 127\.0\.0\.1:1 "):
        Coordinators(connection_of("127.0.0.1:1")).ask(["g"], describe)
