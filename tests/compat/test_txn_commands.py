"""`kafkaesque txn` commands on Apache Kafka itself. What they do on our broker is in tests/e2e/.

Other tests may have transactions on the same Kafka: each looks at its own.
"""

import pytest
from tests import foreign
from tests.commands import Commands
from tests.compat.apache_kafka import ApacheKafka
from tests.open_transaction import is_fenced, open_transaction

pytestmark = pytest.mark.compat


@pytest.fixture
def commands(apache_kafka: ApacheKafka, capfd: pytest.CaptureFixture[str]) -> Commands:
    return Commands(apache_kafka.bootstrap, capfd)


@pytest.fixture
def topic(apache_kafka: ApacheKafka) -> str:
    return foreign.create_topic(apache_kafka.bootstrap, partitions=3)


def listed(commands: Commands, name: str, *options: object) -> list[list[str]]:
    return [row for row in commands.succeed("txn", "list", *options).rows if row[0] == name]


def test_an_open_transaction_is_listed_and_described(commands: Commands, topic: str) -> None:
    name = foreign.name("copier")
    with open_transaction(commands.bootstrap, name, topic, [0, 2]) as producer:
        ((_, coordinator, producer_id, state, age),) = listed(commands, name)
        (told,) = commands.succeed("txn", "describe", name, "--format", "json").json
        assert listed(commands, name, "--state", "ongoing", "-p", producer_id)
        assert listed(commands, name, "--older-than", "0s")
        assert not listed(commands, name, "--older-than", "1h")
        producer.commit_transaction(foreign.TIMEOUT_S)
        foreign.until(lambda: listed(commands, name, "--state", "CompleteCommit"))
        ((*_, ended_age),) = listed(commands, name)
    assert (coordinator, state, age.endswith("s")) == ("1", "Ongoing", True)
    assert told["producer_id"] == int(producer_id)
    assert told["timeout_ms"] == 60_000
    assert 0 <= told["age_ms"] < 60_000
    assert told["partitions"] == [{"topic": topic, "partition": n} for n in (0, 2)]
    assert ended_age == "-"


def test_an_abort_ends_the_transaction_and_fences_its_producer(
    commands: Commands, topic: str
) -> None:
    name = foreign.name("copier")
    with open_transaction(commands.bootstrap, name, topic) as producer:
        done = commands.succeed("txn", "abort", name, "--no-confirm")
        assert is_fenced(producer)
    assert " OK: aborted after " in done.lines[1]
    (told,) = commands.succeed("txn", "describe", name, "--format", "json").json
    assert (told["state"], told["partitions"]) == ("Empty", [])
    foreign.produce(commands.bootstrap, topic, ["after it"])
    (record,) = foreign.read(commands.bootstrap, topic, 1, isolation_level="read_committed")
    assert record.value() == b"after it"


def test_what_cannot_be_aborted_is_told(commands: Commands, topic: str) -> None:
    name, missing = foreign.name("copier"), foreign.name("missing")
    with open_transaction(commands.bootstrap, name, topic) as producer:
        producer.commit_transaction(foreign.TIMEOUT_S)
        done = commands("txn", "abort", name, missing, "--no-confirm")
    assert done.exit_code == 1
    assert [row[1] for row in done.rows[1:]] == [
        "INVALID_TXN_STATE:",
        "TRANSACTIONAL_ID_NOT_FOUND:",
    ]
    assert not listed(commands, missing)
    assert "TRANSACTIONAL_ID_NOT_FOUND" in commands.complain("txn", "describe", missing)


def test_producers_show_where_a_transaction_is_open_and_whose_it_is(
    commands: Commands, topic: str
) -> None:
    name = foreign.name("copier")
    foreign.produce(commands.bootstrap, topic, ["a", "b"], 1, enable_idempotence=True)
    with open_transaction(commands.bootstrap, name, topic, [1]):
        rows = commands.succeed("txn", "producers", topic).rows[1:]
        opened = commands.succeed("txn", "producers", topic, "--open").rows[1:]
    assert [[row[1], row[4], *row[6:]] for row in rows] == [
        ["1", "1", "-", "-"],
        ["1", "0", "2", name],
    ]
    assert opened == rows[1:]
