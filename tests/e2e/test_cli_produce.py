"""`kafkaesque topic produce`: what of standard input becomes which records."""

import io
import re
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Message
from tests import foreign
from tests.broker_process import COMMAND
from tests.commands import Commands, Done
from tests.in_process import InProcessBroker
from tests.typing_user import CTRL_C, CTRL_D, typing_user

PROMPT = "Reading message... Press CTRL + D to send, CTRL + C to cancel.\n"


@pytest.fixture
def commands(capfd: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    with InProcessBroker(None) as broker:
        foreign.create_topic(broker.bootstrap, "orders", 3)
        yield Commands(broker.bootstrap, capfd)


@pytest.fixture
def produce(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """`produce("input", "orders", "-k", "key1")`"""

    def run(typed: str | bytes, *args: object) -> Done:
        data = typed.encode() if isinstance(typed, str) else typed
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return commands("topic", "produce", *args)

    return run


def only_record(commands: Commands, partition: int) -> Message:
    (record,) = foreign.read(commands.bootstrap, "orders", 1, partition=partition)
    return record


@pytest.mark.slow
def test_all_of_the_input_is_one_message(commands: Commands, produce: Callable[..., Done]) -> None:
    done = produce(b"two\nlines\n\xff\n", "orders", "-k", "key1")
    assert (done.exit_code, done.err) == (0, "")
    assert re.fullmatch(
        re.escape(PROMPT) + r"Sent record to partition 2 at offset 0 with timestamp "
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \+0000 UTC\.\n",
        done.out,
    )
    record = only_record(commands, 2)
    assert (record.key(), record.value()) == (b"key1", b"two\nlines\n\xff\n")
    assert record.headers() is None


@pytest.mark.slow
def test_no_input_is_an_empty_message_or_with_tombstone_none(
    commands: Commands, produce: Callable[..., Done]
) -> None:
    produce("", "orders", "-p", 0)
    produce("", "orders", "-p", 0, "--tombstone")
    produce("x", "orders", "-p", 0, "-Z")
    found = foreign.read(commands.bootstrap, "orders", 3)
    assert foreign.values(found) == [b"", None, b"x"]
    assert [record.key() for record in found] == [None, None, None]


def test_headers_and_partition_are_as_given(
    commands: Commands, produce: Callable[..., Done]
) -> None:
    done = produce("x", "orders", "-k", "key1", "-p", 1, "-H", "source=web", "-H", "n:1=2")
    assert "Sent record to partition 1 at offset 0 " in done.out
    assert only_record(commands, 1).headers() == [("source", b"web"), ("n", b"1=2")]


@pytest.mark.slow
def test_with_a_format_every_line_is_a_record(
    commands: Commands, produce: Callable[..., Done]
) -> None:
    done = produce("key1 a b\nkey1 c", "orders", "-f", "%k %v\\n", "-o", "%p/%o/%k/%v\\n")
    assert (done.exit_code, done.err) == (0, "")
    assert done.lines == ["2/0/key1/a b", "2/1/key1/c"]
    found = foreign.read(commands.bootstrap, "orders", 2, partition=2)
    assert [(record.key(), record.value()) for record in found] == [
        (b"key1", b"a b"),
        (b"key1", b"c"),
    ]


def test_topic_partition_and_time_may_come_from_the_input(
    commands: Commands, produce: Callable[..., Done]
) -> None:
    done = produce("orders 1 1625049829475 x\n", "-f", "%t %p %d %v\\n")
    assert done.exit_code == 0
    assert "with timestamp 2021-06-30 10:43:49.475 +0000 UTC." in done.out
    assert only_record(commands, 1).timestamp()[1] == 1_625_049_829_475


@pytest.mark.slow
def test_what_does_not_match_the_format_is_named_and_what_came_before_is_sent(
    commands: Commands, produce: Callable[..., Done]
) -> None:
    done = produce("key1 a\nnonsense\n", "orders", "-f", "%k %v\\n")
    assert done.exit_code == 1
    assert done.err.startswith("kafkaesque: record 2 of the input does not match --format: ")
    assert only_record(commands, 2).value() == b"a"


@pytest.mark.slow
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("acks", [-1, 1])
def test_any_codec_and_any_acks_will_do(
    commands: Commands, produce: Callable[..., Done], codec: str, acks: int
) -> None:
    value = "a" * 10_000
    assert produce(value, "orders", "-p", 0, "-z", codec, "--acks", acks).exit_code == 0
    assert only_record(commands, 0).value() == value.encode()


def test_without_acks_nobody_knows_the_offset(
    commands: Commands, produce: Callable[..., Done]
) -> None:
    done = produce("x", "orders", "-p", 0, "--acks", 0)
    told = done.out.removeprefix(PROMPT)
    assert (done.exit_code, told[:42]) == (0, "Sent record to partition 0 at offset -1 wi")
    assert only_record(commands, 0).value() == b"x"


@pytest.mark.slow
def test_a_topic_that_is_not_there_is_made_only_if_allowed(
    commands: Commands, produce: Callable[..., Done]
) -> None:
    done = produce("x", "missing")
    assert (done.exit_code, done.out) == (1, "")
    assert done.err.startswith("kafkaesque: there is no topic missing: ")
    assert produce("x", "missing", "--allow-auto-topic-creation").exit_code == 0
    assert foreign.values(foreign.read(commands.bootstrap, "missing", 1)) == [b"x"]


@pytest.mark.slow
def test_a_partition_that_is_not_there_is_named(produce: Callable[..., Done]) -> None:
    done = produce("x", "orders", "-p", 3)
    assert (done.exit_code, done.out) == (1, "")
    assert "there is no partition 3: see which there are with `kafkaesque topic d" in done.err
    done = produce("3 x\n", "orders", "-f", "%p %v\\n")
    assert (done.exit_code, done.out) == (1, "")
    assert "topic orders took no record: " in done.err


@pytest.mark.slow
def test_a_record_that_is_too_large_for_the_topic_is_told_the_setting(
    commands: Commands, produce: Callable[..., Done]
) -> None:
    foreign.alter(commands.bootstrap, "orders", "max.message.bytes", "1000")
    done = produce("x" * 2000, "orders", "-z", "none")
    assert (done.exit_code, done.out) == (1, PROMPT)
    assert "alter-config orders --set max.message.bytes=" in done.err


@pytest.mark.slow
def test_a_compacted_topic_says_that_it_wants_a_key(
    commands: Commands, produce: Callable[..., Done]
) -> None:
    foreign.alter(commands.bootstrap, "orders", "cleanup.policy", "compact")
    done = produce("x", "orders")
    assert (done.exit_code, done.out) == (1, PROMPT)
    assert "every record needs a key: give --key" in done.err
    assert produce("x", "orders", "-k", "key1", "-o", "").out == ""
    assert only_record(commands, 2).value() == b"x"


@pytest.mark.slow
def test_a_record_is_sent_as_soon_as_its_line_is_there(commands: Commands) -> None:
    command = ["topic", "produce", "orders", "-p", "0", "-f", r"%v\n", "-o", r"%o\n"]
    with subprocess.Popen(
        [str(COMMAND), *command, "-b", commands.bootstrap],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(3):
            print("line", file=process.stdin, flush=True)
            assert process.stdout.readline() == f"{number}\n"
        process.stdin.close()
        assert process.wait(foreign.TIMEOUT_S) == 0


@pytest.mark.slow
def test_ctrl_d_sends_what_was_typed(commands: Commands) -> None:
    line = ["topic", "produce", "orders", "-k", "key1", "-b", commands.bootstrap]
    with typing_user(*line) as user:
        user.see(PROMPT)
        user.type("test\n" + CTRL_D)
        assert user.exit_code() == 0
        shown = PROMPT + "test\nSent record to partition 2 at offset 0 "
        assert shown in user.screen.replace("^D\b\b", "")
    assert only_record(commands, 2).value() == b"test\n"


def test_ctrl_c_sends_nothing(commands: Commands) -> None:
    line = ["topic", "produce", "orders", "-k", "key1", "-b", commands.bootstrap]
    with typing_user(*line) as user:
        user.see(PROMPT)
        user.type("test\n" + CTRL_C)
        assert user.exit_code() == 130
        assert "Sent" not in user.screen
        assert "Traceback" not in user.screen
    assert foreign.watermarks(commands.bootstrap, "orders", 2) == (0, 0)
