"""`kafkaesque group …` against a broker with real consumers in its groups."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from tests import foreign
from tests.broker_process import COMMAND
from tests.commands import Commands
from tests.in_process import InProcessBroker

pytestmark = pytest.mark.slow


@pytest.fixture
def commands(capfd: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    with InProcessBroker(None) as broker:
        yield Commands(broker.bootstrap, capfd)


@pytest.fixture
def orders(commands: Commands) -> str:
    """A topic of two partitions, with four records in the first and two in the second."""
    topic = foreign.create_topic(commands.bootstrap, "orders", 2)
    foreign.produce(commands.bootstrap, topic, ["a", "b", "c", "d"], 0, [1000, 2000, 3000, 4000])
    foreign.produce(commands.bootstrap, topic, ["e", "f"], 1, [1000, 9000])
    return topic


@contextmanager
def member(commands: Commands, group: str, topic: str) -> Iterator[Consumer]:
    """Somebody who reads the topic, until the block ends."""
    reader = foreign.consumer(
        commands.bootstrap, group, client_id="reader", heartbeat_interval_ms=100
    )
    reader.subscribe([topic])
    try:
        foreign.until(lambda: (reader.poll(0.05), reader.assignment())[1])
        yield reader
    finally:
        reader.close()


def commit(commands: Commands, group: str, **offsets: int) -> None:
    """`commit(commands, "billing", orders_0=3)`."""
    places = [(name.rpartition("_"), offset) for name, offset in offsets.items()]
    wanted = [TopicPartition(topic, int(number), at) for (topic, _, number), at in places]
    foreign.commit(commands.bootstrap, group, *wanted)


def committed(commands: Commands, group: str, topic: str) -> list[int]:
    found = [foreign.committed(commands.bootstrap, group, topic, number) for number in (0, 1)]
    return [place.offset for place in found]


def test_groups_are_listed_with_their_states(commands: Commands, orders: str) -> None:
    assert commands.succeed("group", "list").out == "NAME  STATE  TYPE\n"
    commit(commands, "shipping", orders_0=1)
    with member(commands, "billing", orders):
        assert commands.succeed("group", "list").out == (
            "NAME      STATE   TYPE\n"  #
            "billing   Stable  classic\n"
            "shipping  Empty   classic\n"
        )
        listed = commands.succeed("group", "list", "--format", "json").json
        assert listed[1] == {"name": "shipping", "state": "Empty", "type": "classic"}


def test_groups_can_be_listed_by_state(commands: Commands, orders: str) -> None:
    commit(commands, "shipping", orders_0=1)
    with member(commands, "billing", orders):
        assert "billing" not in commands.succeed("group", "list", "-s", "EMPTY,dead").out
        assert "shipping" not in commands.succeed("group", "list", "-s", "stable").out


def test_a_description_shows_the_lag_and_who_reads_each_partition(
    commands: Commands, orders: str
) -> None:
    with member(commands, "billing", orders) as reader:
        reader.commit(offsets=[TopicPartition(orders, 0, 1)], asynchronous=False)
        summary, table = commands.succeed("group", "describe", "billing").out.split("\n\n")
    assert summary == (
        "GROUP        billing\n"
        "COORDINATOR  0\n"
        "STATE        Stable\n"
        "BALANCER     range\n"
        "MEMBERS      1\n"
        "TOTAL-LAG    3"
    )
    heads, first, second = [line.split() for line in table.splitlines()]
    assert heads == [
        "TOPIC",
        "PARTITION",
        "CURRENT-OFFSET",
        "LOG-START-OFFSET",
        "LOG-END-OFFSET",
        "LAG",
        "MEMBER-ID",
        "CLIENT-ID",
        "HOST",
    ]
    assert first[:6] == [orders, "0", "1", "0", "4", "3"]
    assert second[:6] == [orders, "1", "-", "0", "2", "-"]
    assert first[6].startswith("reader-")
    assert first[6:] == second[6:] == [first[6], "reader", "127.0.0.1"]


def test_a_member_without_a_partition_is_shown(commands: Commands) -> None:
    narrow = foreign.create_topic(commands.bootstrap, "narrow", 1)
    with member(commands, "billing", narrow) as first:
        second = foreign.consumer(commands.bootstrap, "billing", client_id="second")
        second.subscribe([narrow])

        def both_are_in() -> bool:
            first.poll(0.05)
            second.poll(0.05)
            summary = commands.succeed("group", "describe", "-s", "billing").rows
            return summary[2] == ["STATE", "Stable"] and summary[4] == ["MEMBERS", "2"]

        foreign.until(both_are_in)
        owner, idle = commands.succeed("group", "describe", "billing").rows[-2:]
        second.close()
    assert owner[:2] == [narrow, "0"]
    assert idle[:6] == ["-"] * 6
    assert {owner[7], idle[7]} == {"reader", "second"}


def test_several_groups_are_described_one_after_the_other(commands: Commands, orders: str) -> None:
    commit(commands, "billing", orders_0=1)
    commit(commands, "shipping", orders_1=2)
    done = commands.succeed("group", "describe", "-s", "shipping", "billing", "shipping")
    assert [row[1] for row in done.rows if row[:1] == ["GROUP"]] == ["shipping", "billing"]
    assert [row[1] for row in done.rows if row[:1] == ["TOTAL-LAG"]] == ["0", "3"]


def test_a_description_as_json_says_the_same(commands: Commands, orders: str) -> None:
    with member(commands, "billing", orders) as reader:
        reader.commit(offsets=[TopicPartition(orders, 1, 2)], asynchronous=False)
        (group,) = commands.succeed("group", "describe", "billing", "--format", "json").json
    (told,) = group["members"]
    assert group["offsets"][1] == {
        "topic": orders,
        "partition": 1,
        "current_offset": 2,
        "log_start_offset": 0,
        "log_end_offset": 2,
        "lag": 0,
        "member_id": told["member_id"],
    }
    assert told["partitions"] == [{"topic": orders, "partition": n} for n in (0, 1)]
    assert (group["state"], group["balancer"], group["total_lag"]) == ("Stable", "range", 0)


def test_a_group_that_is_not_there_does_not_hide_the_others(
    commands: Commands, orders: str
) -> None:
    commit(commands, "billing", orders_0=1)
    done = commands("group", "describe", "-s", "missing", "billing")
    assert done.exit_code == 1
    assert done.rows[0] == ["GROUP", "billing"]
    assert done.err == (
        "kafkaesque: group missing: GROUP_ID_NOT_FOUND: there is no such group; "
        "see which groups there are with `kafkaesque group list`\n"
    )


def test_commits_of_a_topic_that_is_gone_have_no_lag(commands: Commands, orders: str) -> None:
    gone = foreign.create_topic(commands.bootstrap, "gone", 2)
    commit(commands, "billing", orders_0=1, gone_1=0)
    foreign.delete_topic(commands.bootstrap, gone)
    foreign.create_topic(commands.bootstrap, gone, 1)
    rows = commands.succeed("group", "describe", "billing").rows[8:]
    assert [orders, "0", "1", "0", "4", "3", "-", "-", "-"] in rows
    assert all(row[5] == "-" for row in rows if row[0] == gone)


def test_groups_are_deleted_one_by_one(commands: Commands, orders: str) -> None:
    commit(commands, "shipping", orders_0=1)
    with member(commands, "billing", orders):
        done = commands("group", "delete", "billing", "shipping", "missing")
    assert done.exit_code == 1
    statuses = {line.split()[0]: line for line in done.lines}
    assert "NON_EMPTY_GROUP: " in statuses["billing"]
    assert "stop its members first; `kafkaesque group describe billing`" in statuses["billing"]
    assert statuses["shipping"].split() == ["shipping", "OK"]
    assert "GROUP_ID_NOT_FOUND: " in statuses["missing"]
    assert "shipping" not in commands.succeed("group", "list").out


def test_a_group_is_moved_to_the_start_and_to_the_end(commands: Commands, orders: str) -> None:
    commit(commands, "billing", orders_0=3)
    assert commands.succeed("group", "seek", "billing", "--to", "start").out == (
        "TOPIC   PARTITION  PRIOR-OFFSET  CURRENT-OFFSET  ERROR\n"
        "orders  0          3             0\n"
        "orders  1          -             0\n"
    )
    commands.succeed("group", "seek", "billing", "--to", "end")
    assert committed(commands, "billing", orders) == [4, 2]


def test_a_group_that_was_moved_back_reads_again(commands: Commands, orders: str) -> None:
    commit(commands, "billing", orders_0=4, orders_1=2)
    commands.succeed("group", "seek", "billing", "--to", "start")
    reader = foreign.consumer(commands.bootstrap, "billing")
    reader.subscribe([orders])
    values = foreign.values(reader.consume(6, foreign.TIMEOUT_S))
    reader.close()
    assert set(values) == {b"a", b"b", b"c", b"d", b"e", b"f"}


def test_a_group_is_moved_to_a_time_and_to_the_end_where_nothing_is_as_new(
    commands: Commands, orders: str
) -> None:
    commit(commands, "billing", orders_0=0)
    commands.succeed("group", "seek", "billing", "--to", "1970-01-01T00:00:03Z")
    assert committed(commands, "billing", orders) == [2, 1]
    commands.succeed("group", "seek", "billing", "--to", "0000000005")
    assert committed(commands, "billing", orders) == [4, 1]


def test_a_group_is_moved_to_where_another_one_is(commands: Commands, orders: str) -> None:
    foreign.create_topic(commands.bootstrap, "prices", 1)
    commit(commands, "shipping", orders_0=2, prices_0=0)
    commit(commands, "billing", orders_0=4, orders_1=1)
    moves = commands.succeed(
        "group", "seek", "billing", "--to-group", "shipping", "--topics", orders, "--format", "json"
    ).json
    assert moves == [
        {
            "topic": orders,
            "partition": 0,
            "prior_offset": 4,
            "current_offset": 2,
            "error": None,
        }
    ]
    assert committed(commands, "billing", orders) == [2, 1]


def test_a_group_without_commits_is_nowhere_to_move_to(commands: Commands, orders: str) -> None:
    told = commands.complain("group", "seek", "billing", "--to-group", "missing")
    assert "group missing has committed nothing to move to: " in told


def test_a_group_is_moved_to_offsets_in_a_file(
    commands: Commands, orders: str, tmp_path: Path
) -> None:
    path = tmp_path / "offsets.txt"
    path.write_text("orders 0 1\norders 1 2\norders 9 0\nmissing 0 0\n")
    done = commands("group", "seek", "fresh", "--to-file", path)
    assert done.exit_code == 1
    assert committed(commands, "fresh", orders) == [1, 2]
    failed = [row for row in done.rows[1:] if len(row) > 4]
    assert [row[:5] for row in failed] == [
        ["missing", "0", "-", "-", "UNKNOWN_TOPIC_OR_PARTITION:"],
        ["orders", "9", "-", "-", "UNKNOWN_TOPIC_OR_PARTITION:"],
    ]


def test_a_group_moves_in_new_topics_only_if_that_is_allowed(
    commands: Commands, orders: str
) -> None:
    to_end = ["group", "seek", "billing", "--to", "end"]
    assert "name topics with --topics" in commands.complain(*to_end)
    told = commands.complain(*to_end, "--topics", orders)
    assert "group billing has committed nothing of orders: give --allow-new-topics" in told
    commands.succeed(*to_end, "--topics", orders, "--allow-new-topics")
    assert committed(commands, "billing", orders) == [4, 2]
    told = commands.complain(*to_end, "--topics", "missing", "--allow-new-topics")
    assert "there is no topic missing: " in told


def test_a_group_with_members_is_not_moved(commands: Commands, orders: str) -> None:
    with member(commands, "billing", orders) as reader:
        reader.commit(offsets=[TopicPartition(orders, 0, 3)], asynchronous=False)
        told = commands.complain("group", "seek", "billing", "--to", "start")
        assert "group billing has active members (1), which would commit over it" in told
        assert "stop its consumers and try again" in told
        assert committed(commands, "billing", orders)[0] == 3


def test_a_tab_completes_group_names(commands: Commands, orders: str) -> None:
    commit(commands, "billing", orders_0=1)
    commit(commands, "shipping", orders_0=1)
    line = f"kafkaesque group --brokers {commands.bootstrap} describe bi"
    asked = {"_KAFKAESQUE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": "5"}

    def is_completed() -> bool:
        done = subprocess.run([COMMAND], env=os.environ | asked, capture_output=True, text=True)
        assert done.stderr == ""
        return done.stdout.split() == ["billing"]

    # A Tab has a second's patience: on a busy machine it is pressed again.
    foreign.until(is_completed)
