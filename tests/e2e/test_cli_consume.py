"""`kafkaesque topic consume`: from where, until when, and what a group remembers of it."""

import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests import foreign, group_state
from tests.broker_process import COMMAND, BrokerProcess
from tests.commands import Commands
from tests.in_process import InProcessBroker

from kafkaesque.cli.options import parse_brokers
from kafkaesque.client import reader
from kafkaesque.client.connection import Connection

FORM = ["-f", r"%p/%o=%v\n"]


@pytest.fixture
def commands(capfd: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    """Four records in the first partition of `orders`, two in the second, at 1, 2, 3 … seconds."""
    with InProcessBroker(None) as broker:
        foreign.create_topic(broker.bootstrap, "orders", 2)
        foreign.produce(broker.bootstrap, "orders", list("abcd"), 0, [1000, 2000, 3000, 4000])
        foreign.produce(broker.bootstrap, "orders", list("ef"), 1, [1000, 9000])
        yield Commands(broker.bootstrap, capfd)


@contextmanager
def consumer(commands: Commands, *args: str) -> "Iterator[subprocess.Popen[str]]":
    """`topic consume orders …` in a process of its own, for as long as the block takes."""
    command = [str(COMMAND), "topic", "consume", "orders", *FORM, *args, "-b", commands.bootstrap]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def lines(process: "subprocess.Popen[str]", count: int) -> list[str]:
    assert process.stdout is not None
    return sorted(process.stdout.readline().rstrip("\n") for _ in range(count))


def committed(commands: Commands, group: str) -> list[int]:
    found = [foreign.committed(commands.bootstrap, group, "orders", number) for number in (0, 1)]
    return [place.offset for place in found]


ALL = ["0/0=a", "0/1=b", "0/2=c", "0/3=d", "1/0=e", "1/1=f"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (":end", ALL),
        ("start:end", ALL),
        ("1:end", ["0/1=b", "0/2=c", "0/3=d", "1/1=f"]),
        ("+3:end", ["0/3=d"]),
        ("-1:end", ["0/3=d", "1/1=f"]),
        ("0:1", ["0/0=a", "1/0=e"]),
        ("1:9", ["0/1=b", "0/2=c", "0/3=d", "1/1=f"]),
        ("3:2", []),
        ("0-2", ["0/0=a", "0/1=b", "1/0=e", "1/1=f"]),
        (":1", ["0/0=a", "1/0=e"]),
        ("@1970-01-01T00:00:03Z:end", ["0/2=c", "0/3=d", "1/1=f"]),
        ("@1970-01-01T00:00:02Z:1970-01-01T00:00:04Z", ["0/1=b", "0/2=c"]),
        ("@-1h:end", []),
        ("end:end", []),
        ("100:end", []),
    ],
)
def test_a_range_is_read_and_then_it_ends(
    commands: Commands, offset: str, expected: list[str]
) -> None:
    done = commands.succeed("topic", "consume", "orders", "-o", offset, *FORM)
    assert sorted(done.lines) == expected


def test_it_ends_after_so_many_records(commands: Commands) -> None:
    done = commands.succeed("topic", "consume", "orders", "-n", 2, "-p", 0, *FORM)
    assert done.lines == ["0/0=a", "0/1=b"]


def test_an_offset_that_is_gone_begins_with_the_first_there_is(commands: Commands) -> None:
    commands.succeed("topic", "trim", "orders", "-o", 2, "-p", 0, "--no-confirm")
    done = commands.succeed("topic", "consume", "orders", "-o", "1:end", "-p", 0, *FORM)
    assert done.lines == ["0/2=c", "0/3=d"]


@pytest.mark.slow
def test_only_the_chosen_partitions_are_read(commands: Commands) -> None:
    done = commands.succeed("topic", "consume", "orders", "-o", ":end", "-p", "1", *FORM)
    assert done.lines == ["1/0=e", "1/1=f"]
    told = commands.complain("topic", "consume", "orders", "-p", "0,7")
    assert "there is no partition 7: " in told


def test_json_names_the_topic_if_there_are_several(commands: Commands) -> None:
    foreign.create_topic(commands.bootstrap, "prices")
    foreign.produce(commands.bootstrap, "prices", ["x"], timestamps=[5000])
    several = ["topic", "consume", "orders", "prices", "-o", "-1:end", "--no-pretty-print"]
    assert (
        '{"topic": "prices", "key": null, "message": "x", "partition": 0, "offset": 0, '
        '"timestamp": "1970-01-01T00:00:05.000Z"}'
    ) in commands.succeed(*several).lines
    one = commands.succeed("topic", "consume", "prices", "-n", 1)
    assert one.out == (
        '{\n "key": null,\n "message": "x",\n "partition": 0,\n "offset": 0,\n'
        ' "timestamp": "1970-01-01T00:00:05.000Z"\n}\n'
    )


@pytest.mark.slow
def test_topics_may_be_a_regular_expression(commands: Commands) -> None:
    for topic in ("order-lines", "prices"):
        foreign.create_topic(commands.bootstrap, topic)
        foreign.produce(commands.bootstrap, topic, ["x"])
    form = ["-o", ":end", "-f", r"%t\n"]
    found = commands.succeed("topic", "consume", "-r", "^order", *form).lines
    assert set(found) == {"orders", "order-lines"}
    assert "no topic matches" in commands.complain("topic", "consume", "-r", "^x", *form)
    wrong = commands("topic", "consume", "-r", "(", *form)
    assert wrong.exit_code == 2
    assert "not a regular expression" in wrong.err


@pytest.mark.slow
def test_a_topic_that_is_not_there_is_named(commands: Commands) -> None:
    for group in ([], ["-g", "billing"]):
        told = commands.complain("topic", "consume", "orders", "missing", *group)
        assert told.startswith("kafkaesque: there is no topic missing: ")


@pytest.mark.slow
def test_records_are_printed_as_they_come_until_ctrl_c(commands: Commands) -> None:
    with consumer(commands) as process:
        assert lines(process, 6) == ALL
        foreign.produce(commands.bootstrap, "orders", ["new"], 1)
        assert lines(process, 1) == ["1/2=new"]
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == ("", "")
        assert process.returncode == 0


@pytest.mark.slow
def test_at_the_end_only_what_is_new_is_printed(commands: Commands) -> None:
    with consumer(commands, "-o", "end") as process:
        # What is produced before the consumer knows the end is not new to it.
        def is_printed() -> bool:
            foreign.produce(commands.bootstrap, "orders", ["new"], 0)
            assert process.stdout is not None
            return bool(select.select([process.stdout], [], [], 0.1)[0])

        foreign.until(is_printed)
        assert lines(process, 1)[0].endswith("=new")
        process.terminate()
        assert process.wait(60) == 0


@pytest.mark.slow
def test_a_group_continues_where_it_was_and_another_begins_anew(commands: Commands) -> None:
    first = commands.succeed("topic", "consume", "orders", "-g", "one", "-n", 4, *FORM).lines
    rest = commands.succeed("topic", "consume", "orders", "-g", "one", "-n", 2, *FORM).lines
    assert sorted(first + rest) == ALL
    assert committed(commands, "one") == [4, 2]
    again = commands.succeed("topic", "consume", "orders", "-g", "two", "-n", 6, *FORM).lines
    assert sorted(again) == ALL


def test_a_group_commits_exactly_what_it_printed_when_ctrl_c_ends_it(commands: Commands) -> None:
    with consumer(commands, "-g", "one") as process:
        assert lines(process, 6) == ALL
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert committed(commands, "one") == [4, 2]


def test_a_group_commits_what_it_printed_while_it_goes_on(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "COMMIT_INTERVAL_S", 0.0)
    connection = Connection(brokers=tuple(parse_brokers(commands.bootstrap)))
    member = reader.GroupReader(connection, "one", ["orders"], "earliest", print)
    read = 0
    try:
        while read < 6:
            if record := member.poll(0.1):
                member.accept(record)
                read += 1
        foreign.until(lambda: (member.poll(0.1), committed(commands, "one"))[1] == [4, 2])
    finally:
        member.close()


@pytest.mark.slow
def test_two_members_of_a_group_share_the_partitions(commands: Commands) -> None:
    with consumer(commands, "-g", "one") as first:
        assert lines(first, 6) == ALL
        with consumer(commands, "-g", "one") as second:
            foreign.until(lambda: _members(commands, "one") == [1, 1])
            for partition in (0, 1):
                foreign.produce(commands.bootstrap, "orders", ["new"], partition)
            assert sorted(lines(first, 1) + lines(second, 1)) == ["0/4=new", "1/2=new"]


@pytest.mark.slow
def test_a_reader_that_closes_the_pipe_ends_it_quietly(commands: Commands) -> None:
    values = ["x" * 1000] * 1000
    foreign.produce(commands.bootstrap, "orders", values, 0)
    with consumer(commands, "-g", "one") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 1
        assert process.stderr is not None
        assert process.stderr.read() == ""
    # What the pipe did not take is not committed.
    assert 0 < sum(max(0, offset) for offset in committed(commands, "one")) < 1006


@pytest.mark.slow
def test_ctrl_c_ends_it_at_once_though_the_broker_is_gone(tmp_path: Path) -> None:
    """And says that what it printed is not committed."""
    with BrokerProcess(tmp_path / "data") as broker:
        foreign.create_topic(broker.bootstrap, "orders")
        foreign.produce(broker.bootstrap, "orders", ["a"])
        command = [str(COMMAND), "topic", "consume", "orders", "-g", "one", *FORM]
        with subprocess.Popen(
            [*command, "-b", broker.bootstrap],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert lines(process, 1) == ["0/0=a"]
            broker.kill()
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=60)
    assert process.returncode == 1
    last = told.splitlines()[-1]
    assert last.startswith("kafkaesque: what was read last is not committed, and will be read ")
    assert f"nothing answers at {broker.bootstrap} " in last


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["-g", "one"]], ids=["alone", "in a group"])
def test_a_broker_that_goes_away_and_comes_back_is_told_of(tmp_path: Path, more: list[str]) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        foreign.create_topic(broker.bootstrap, "orders")
        foreign.produce(broker.bootstrap, "orders", ["a"])
        command = [str(COMMAND), "topic", "consume", "orders", *more, *FORM, "-n", "2"]
        with subprocess.Popen(
            [*command, "-b", broker.bootstrap],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert lines(process, 1) == ["0/0=a"]
            assert process.stderr is not None
            broker.kill()
            away = process.stderr.readline()
            broker.start()
            foreign.produce(broker.bootstrap, "orders", ["b"])
            printed, back = process.communicate(timeout=60)
    where = f"kafkaesque: nothing answers at {broker.bootstrap}; "
    assert away == f"{where}records will go on when something does\n"
    assert (printed.strip(), back) == ("0/1=b", "kafkaesque: the broker is back\n")
    assert process.returncode == 0


def _members(commands: Commands, group: str) -> list[int]:
    """How many partitions each member has."""
    return [len(member.partitions) for member in group_state.members(commands.bootstrap, group)]
