"""`kafkaesque txn …` against a broker with real producers in the midst of their transactions."""

import time
from collections.abc import Iterator

import pytest
from tests import foreign
from tests.commands import Commands
from tests.in_process import InProcessBroker
from tests.older_cluster import older_cluster
from tests.open_transaction import begin, is_fenced, open_transaction
from tests.typing_user import typing_user

from kafkaesque.client.admin import Admin
from kafkaesque.client.connection import Address, Connection
from kafkaesque.client.transaction import Transaction
from kafkaesque.client.transactions import Transactions
from kafkaesque.testing import Kafka

pytestmark = pytest.mark.slow

MINUTE_MS = 60_000


@pytest.fixture
def commands(capfd: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    with InProcessBroker(None) as broker:
        yield Commands(broker.bootstrap, capfd)


@pytest.fixture
def orders(commands: Commands) -> str:
    return foreign.create_topic(commands.bootstrap, "orders", 3)


def described(commands: Commands, transactional_id: str) -> dict[str, object]:
    (told,) = commands.succeed("txn", "describe", transactional_id, "--format", "json").json
    assert isinstance(told, dict)
    return told


def test_ids_are_listed_with_their_states_and_ages(commands: Commands, orders: str) -> None:
    heads = ["TRANSACTIONAL-ID", "COORDINATOR", "PRODUCER-ID", "STATE", "AGE"]
    assert commands.succeed("txn", "list").rows == [heads]
    with (
        open_transaction(commands.bootstrap, "copier-1", orders),
        open_transaction(commands.bootstrap, "copier-2", orders) as second,
    ):
        second.commit_transaction(foreign.TIMEOUT_S)
        rows = commands.succeed("txn", "list").rows
        told = commands.succeed("txn", "list", "--format", "json").json
    assert rows[0] == heads
    assert [[row[0], row[1], row[3]] for row in rows[1:]] == [
        ["copier-1", "0", "Ongoing"],
        ["copier-2", "0", "CompleteCommit"],
    ]
    assert rows[1][4].endswith("s")
    assert rows[2][4] == "-"
    assert [each["producer_id"] for each in told] == [int(row[2]) for row in rows[1:]]
    assert 0 <= told[0]["age_ms"] < MINUTE_MS
    assert told[0]["start_timestamp"].endswith("Z")
    assert (told[1]["age_ms"], told[1]["start_timestamp"]) == (None, None)


def test_ids_are_listed_by_state_producer_and_age(commands: Commands, orders: str) -> None:
    def listed(*options: object) -> list[str]:
        rows = commands.succeed("txn", "list", *options).rows
        return [row[0] for row in rows[1:]]

    with (
        open_transaction(commands.bootstrap, "copier-1", orders),
        open_transaction(commands.bootstrap, "copier-2", orders) as second,
    ):
        second.abort_transaction(foreign.TIMEOUT_S)
        first, other = (described(commands, f"copier-{n}")["producer_id"] for n in (1, 2))
        assert listed("--state", "ONGOING,prepareabort") == ["copier-1"]
        assert listed("--states", "CompleteAbort") == ["copier-2"]
        assert listed("--producer-id", first) == ["copier-1"]
        assert listed("-p", f"{first},{other}") == ["copier-1", "copier-2"]
        assert listed("--producer-id", 10**9) == []
        assert listed("--older-than", "1h") == []
        assert listed("--older-than", "0s", "-s", "ongoing") == ["copier-1"]


def test_a_description_shows_producer_timeout_age_and_partitions(
    commands: Commands, orders: str
) -> None:
    with open_transaction(commands.bootstrap, "copier", orders, [2, 0], timeout_ms=90_000):
        summary, table = commands.succeed("txn", "describe", "copier").out.split("\n\n")
        told = described(commands, "copier")
    rows = [line.split() for line in summary.splitlines()]
    assert [row[0] for row in rows] == [
        "TRANSACTIONAL-ID",
        "COORDINATOR",
        "PRODUCER-ID",
        "PRODUCER-EPOCH",
        "STATE",
        "TIMEOUT",
        "START-TIMESTAMP",
        "AGE",
    ]
    assert [row[1] for row in rows[:2]] == ["copier", "0"]
    assert [row[1] for row in rows[4:6]] == ["Ongoing", "1m30s"]
    assert table == "TOPIC   PARTITION\norders  0\norders  2\n"
    assert told["timeout_ms"] == 90_000
    assert told["partitions"] == [{"topic": orders, "partition": n} for n in (0, 2)]
    assert (str(told["producer_id"]), str(told["producer_epoch"])) == (rows[2][1], rows[3][1])


def test_what_has_ended_has_no_age_and_no_partitions(commands: Commands, orders: str) -> None:
    with open_transaction(commands.bootstrap, "copier", orders) as producer:
        producer.commit_transaction(foreign.TIMEOUT_S)
        told = described(commands, "copier")
    assert told["state"] == "CompleteCommit"
    assert (told["start_timestamp"], told["age_ms"], told["partitions"]) == (None, None, [])


def test_an_id_that_is_not_there_does_not_hide_the_others(commands: Commands, orders: str) -> None:
    with open_transaction(commands.bootstrap, "copier", orders):
        done = commands("txn", "describe", "missing", "copier", "copier")
    assert done.exit_code == 1
    assert [row for row in done.rows if row[:1] == ["TRANSACTIONAL-ID"]] == [
        ["TRANSACTIONAL-ID", "copier"]
    ]
    assert done.err == (
        "kafkaesque: transactional id missing: TRANSACTIONAL_ID_NOT_FOUND: there is no such "
        "transactional id; see which there are with `kafkaesque txn list`\n"
    )


def test_an_abort_ends_the_transaction_and_fences_its_producer(
    commands: Commands, orders: str
) -> None:
    with open_transaction(commands.bootstrap, "copier", orders) as producer:
        before = described(commands, "copier")
        done = commands.succeed("txn", "abort", "copier", "--no-confirm")
        assert is_fenced(producer)
    assert done.lines[0].split() == ["TRANSACTIONAL-ID", "STATUS"]
    assert done.lines[1].startswith("copier            OK: aborted after ")
    fenced = f"; producer {before['producer_id']} with epoch {before['producer_epoch']} is fenced"
    assert done.lines[1].endswith(fenced)
    assert described(commands, "copier")["state"] == "Empty"
    foreign.produce(commands.bootstrap, orders, ["after it"])
    (record,) = foreign.read(commands.bootstrap, orders, 1, isolation_level="read_committed")
    assert record.value() == b"after it"


def test_the_next_producer_of_an_aborted_id_goes_on(commands: Commands, orders: str) -> None:
    with open_transaction(commands.bootstrap, "copier", orders):
        commands.succeed("txn", "abort", "copier", "--no-confirm")
        with open_transaction(commands.bootstrap, "copier", orders) as successor:
            successor.commit_transaction(foreign.TIMEOUT_S)
    (record,) = foreign.read(commands.bootstrap, orders, 1, isolation_level="read_committed")
    assert record.value() == b"written in a transaction"


def test_aborts_are_reported_one_by_one(commands: Commands, orders: str) -> None:
    with (
        open_transaction(commands.bootstrap, "open", orders),
        open_transaction(commands.bootstrap, "ended", orders) as ended,
    ):
        ended.commit_transaction(foreign.TIMEOUT_S)
        line = ["txn", "abort", "ended", "missing", "open", "--no-confirm", "--format", "json"]
        done = commands(*line)
    assert done.exit_code == 1
    outcomes = {each["transactional_id"]: each for each in done.json}
    assert [*outcomes] == ["ended", "missing", "open"]
    assert (outcomes["open"]["error"], outcomes["missing"]["error"]) == (
        None,
        "TRANSACTIONAL_ID_NOT_FOUND",
    )
    assert outcomes["ended"]["status"] == (
        "INVALID_TXN_STATE: it has no open transaction; "
        "see which are open with `kafkaesque txn list --state Ongoing`"
    )
    # To ask for it in earnest would have made it.
    assert "missing" not in commands.succeed("txn", "list").out


def test_nothing_is_aborted_where_nobody_can_be_asked(commands: Commands, orders: str) -> None:
    with open_transaction(commands.bootstrap, "copier", orders) as producer:
        told = commands.complain("txn", "abort", "copier")
        producer.commit_transaction(foreign.TIMEOUT_S)
    assert told.endswith("there is no terminal to ask at: give --no-confirm\n")


@pytest.mark.parametrize(("answer", "exit_code", "state"), [("y", 0, "Empty"), ("n", 1, "Ongoing")])
def test_at_a_terminal_it_shows_what_it_would_do_and_asks(
    commands: Commands, orders: str, answer: str, exit_code: int, state: str
) -> None:
    with open_transaction(commands.bootstrap, "copier", orders, [0, 2]):
        with typing_user("txn", "abort", "copier", "-b", commands.bootstrap) as user:
            user.see("orders-0, orders-2\nAbort, and fence the producers? [y/N]: ")
            user.type(f"{answer}\n")
            assert user.exit_code() == exit_code
        assert described(commands, "copier")["state"] == state


def test_the_next_transaction_is_not_aborted_for_the_one_that_was_seen(
    commands: Commands, orders: str
) -> None:
    transactions = connected(commands.bootstrap)
    with open_transaction(commands.bootstrap, "copier", orders) as producer:
        (seen,) = transactions.open()
        producer.commit_transaction(foreign.TIMEOUT_S)
        foreign.until(lambda: time.time() * 1000 > (seen.started_ms or 0) + 1)
        begin(producer, orders)
        status = transactions.abort(seen)
        assert status.error == "INVALID_TXN_STATE"
        assert "it has begun another transaction" in str(status)
        (now,) = transactions.describe(["copier"])
        assert isinstance(now, Transaction)
        assert now.state == "Ongoing"


def connected(bootstrap: str) -> Transactions:
    host, _, port = bootstrap.rpartition(":")
    return Transactions.of(Admin.connect(Connection(brokers=(Address(host, int(port)),))))


def test_producers_show_where_a_transaction_is_open_and_whose_it_is(
    commands: Commands, orders: str
) -> None:
    foreign.produce(commands.bootstrap, orders, ["a", "b"], 1, enable_idempotence=True)
    with open_transaction(commands.bootstrap, "copier", orders, [1, 2]):
        rows = commands.succeed("txn", "producers", orders).rows
        opened = commands.succeed("txn", "producers", orders, "--open", "-p", "0,1").rows
        told = commands.succeed("txn", "producers", orders, "-p", 2, "--format", "json").json
        producer = described(commands, "copier")
    heads = ["TOPIC", "PARTITION", "PRODUCER-ID", "PRODUCER-EPOCH", "LAST-SEQUENCE"]
    assert rows[0] == [*heads, "LAST-TIMESTAMP", "TXN-START-OFFSET", "TRANSACTIONAL-ID"]
    assert [[row[1], row[4], *row[6:]] for row in rows[1:]] == [
        ["1", "1", "-", "-"],
        ["1", "0", "2", "copier"],
        ["2", "0", "0", "copier"],
    ]
    assert [row[1] for row in opened[1:]] == ["1"]
    assert [(each["producer_id"], each["txn_start_offset"]) for each in told] == [
        (producer["producer_id"], 0)
    ]


def test_a_topic_or_a_partition_without_producers_is_told_from_one_that_is_not_there(
    commands: Commands, orders: str
) -> None:
    assert len(commands.succeed("txn", "producers", orders).rows) == 1
    assert "there is no partition 7: " in commands.complain("txn", "producers", orders, "-p", 7)
    assert "there is no topic missing: " in commands.complain("txn", "producers", "missing")


def test_a_cluster_without_these_apis_is_said_to_be_one(capfd: pytest.CaptureFixture[str]) -> None:
    with older_cluster() as bootstrap:
        told = Commands(bootstrap, capfd).complain("txn", "list")
    assert f"{bootstrap} knows no ListTransactions of version 0: " in told


def test_an_abort_waits_for_a_coordinator_that_is_busy(
    kafka: Kafka, capfd: pytest.CaptureFixture[str]
) -> None:
    commands = Commands(kafka.bootstrap_servers, capfd)
    topic = foreign.create_topic(commands.bootstrap)
    with open_transaction(commands.bootstrap, "copier", topic):
        busy = kafka.faults.error(
            "InitProducerId", "CONCURRENT_TRANSACTIONS", client_id="kafkaesque", times=2
        )
        moved = kafka.faults.error("FindCoordinator", "NOT_COORDINATOR", times=1)
        commands.succeed("txn", "abort", "copier", "--no-confirm")
    assert (busy.count, moved.count) == (2, 1)


def test_a_coordinator_that_stays_busy_is_said_to_be(
    kafka: Kafka, capfd: pytest.CaptureFixture[str]
) -> None:
    commands = Commands(kafka.bootstrap_servers, capfd)
    topic = foreign.create_topic(commands.bootstrap)
    with open_transaction(commands.bootstrap, "copier", topic):
        kafka.faults.error("InitProducerId", "CONCURRENT_TRANSACTIONS", client_id="kafkaesque")
        done = commands("txn", "abort", "copier", "--no-confirm", "--timeout", "0.5")
    assert done.exit_code == 1
    assert "CONCURRENT_TRANSACTIONS: its transaction is still being ended; look at it" in done.out


def test_a_list_without_the_ids_of_one_broker_is_none(
    kafka: Kafka, capfd: pytest.CaptureFixture[str]
) -> None:
    kafka.faults.error("ListTransactions", "COORDINATOR_NOT_AVAILABLE")
    told = Commands(kafka.bootstrap_servers, capfd).complain("txn", "list")
    assert "broker 0 does not list its transactions (COORDINATOR_NOT_AVAILABLE): " in told
