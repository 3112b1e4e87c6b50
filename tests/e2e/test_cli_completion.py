"""Tab in a shell: topics and transactional ids, and silence where nothing answers."""

import subprocess
from collections.abc import Iterator

import pytest
from tests import foreign
from tests.broker_process import COMMAND
from tests.in_process import InProcessBroker
from tests.open_transaction import open_transaction

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with InProcessBroker(None) as broker:
        for topic in ("orders", "order-lines", "prices", "__mine"):
            foreign.create_topic(broker.bootstrap, topic)
        yield broker.bootstrap


def completed(line: str, **environment: str) -> list[str]:
    words = line.split(" ")
    asked = {
        "_KAFKAESQUE_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = subprocess.run(
        [str(COMMAND)], env=asked | environment, capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout.split()


def require(expected: list[str], line: str, **environment: str) -> None:
    """A Tab has a second's patience: on a busy machine it is pressed again."""
    foreign.until(lambda: completed(line, **environment) == expected)


@pytest.mark.parametrize(
    "command", ["describe", "delete", "produce", "consume", "trim", "add-partitions"]
)
def test_topics_are_completed(bootstrap: str, command: str) -> None:
    line = f"kafkaesque topic --brokers {bootstrap} {command} order"
    require(["order-lines", "orders"], line)


def test_the_brokers_may_come_from_the_environment(bootstrap: str) -> None:
    names = ["order-lines", "orders", "prices"]
    require(names, "kafkaesque topic describe ", KAFKAESQUE_BROKERS=bootstrap)


def test_internal_topics_are_for_those_who_type_an_underscore(bootstrap: str) -> None:
    line = f"kafkaesque topic --brokers {bootstrap} describe _"
    require(["__mine"], line)


def test_transactional_ids_are_completed_and_for_an_abort_those_that_are_open(
    bootstrap: str,
) -> None:
    line = f"kafkaesque txn --brokers {bootstrap}"
    with (
        open_transaction(bootstrap, "copier-1", "orders") as first,
        open_transaction(bootstrap, "copier-2", "orders"),
    ):
        first.commit_transaction(foreign.TIMEOUT_S)
        require(["copier-1", "copier-2"], f"{line} describe cop")
        require(["copier-2"], f"{line} abort cop")


def test_nothing_is_completed_and_nothing_said_where_nobody_answers() -> None:
    assert completed("kafkaesque topic --brokers 127.0.0.1:1 describe o") == []
    assert completed("kafkaesque topic --brokers : describe o") == []
    assert completed("kafkaesque txn --brokers 127.0.0.1:1 describe o") == []


def test_commands_are_completed_without_a_cluster() -> None:
    assert completed("kafkaesque topic des") == ["describe"]
