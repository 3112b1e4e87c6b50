"""What `group` and `cluster` commands read from a command line, and what a wrong one is told."""

from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from tests.broker_process import free_port
from tests.unit.cli.conftest import Result

from kafkaesque.cli.group.seek import parse_target, parse_topics, read_offsets
from kafkaesque.cli.moments import parse_moment
from kafkaesque.cli.output import CommandError
from kafkaesque.client.seek import End, Moment
from kafkaesque.types import TopicPartition

COMMANDS = [
    ["group", "list"],
    ["group", "describe", "a"],
    ["group", "delete", "a"],
    ["group", "seek", "a", "--to", "end"],
    ["group", "seek", "a", "--to-group", "b"],
    ["cluster", "info"],
    ["cluster", "health"],
    ["cluster", "offsets"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_nobody_listening_is_said_with_the_cure(
    run: Callable[..., Result], command: list[str]
) -> None:
    port = free_port()
    result = run(*command, "--brokers", f"127.0.0.1:{port}")
    assert (result.exit_code, result.out) == (1, "")
    assert result.err == (
        f"kafkaesque: nothing answers at 127.0.0.1:{port} (Connection refused): "
        "start one with `kafkaesque broker`, or name one with --brokers\n"
    )


@pytest.mark.parametrize(
    ("text", "timestamp_ms"),
    [
        ("1622505600", 1_622_505_600_000),
        ("1622505600123", 1_622_505_600_123),
        ("1622505600123456789", 1_622_505_600_123),
        ("2021-06-01T00:00:00Z", 1_622_505_600_000),
        ("2021-06-01T02:00:00.123999+02:00", 1_622_505_600_123),
        ("2021-06-01T00:00:00", 1_622_505_600_000),
        ("2021-06-01", 1_622_505_600_000),
        ("1969-12-31T23:59:59.999Z", -1),
    ],
)
def test_a_time_is_seconds_milliseconds_nanoseconds_or_a_date(text: str, timestamp_ms: int) -> None:
    assert parse_moment(text) == timestamp_ms


@pytest.mark.parametrize("text", ["", "yesterday", "12", "-1622505600", "2021-13-01", "١٦٢٢٥٠٥٦٠٠"])
def test_what_is_no_time_is_told_the_forms(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is no point in time: write seconds"):
        parse_moment(text)


def test_a_target_is_an_end_or_a_time() -> None:
    assert parse_target("start") is End.START
    assert parse_target("end") is End.END
    assert parse_target("1622505600") == Moment(1_622_505_600_000)


def test_topics_are_a_list_and_none_is_all() -> None:
    assert parse_topics(None) is None
    assert parse_topics("orders, prices,") == {"orders", "prices"}
    with pytest.raises(typer.BadParameter, match="names none"):
        parse_topics(" ,")


def test_offsets_are_read_from_a_file_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "offsets.txt"
    path.write_text("orders 0 12\n\n  orders\t1   0\nprices 2 7")
    assert read_offsets(path) == {
        TopicPartition("orders", 0): 12,
        TopicPartition("orders", 1): 0,
        TopicPartition("prices", 2): 7,
    }


@pytest.mark.parametrize(
    "line", ["orders", "orders 0", "orders 0 -1", "orders x 1", "orders 0 1 2"]
)
def test_a_line_that_is_no_offset_is_named_by_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "offsets.txt"
    path.write_text(f"orders 0 12\n{line}\n")
    with pytest.raises(CommandError, match=r"line 2: .* is not TOPIC PARTITION OFFSET, as in"):
        read_offsets(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for name in ("missing", "binary"):
        with pytest.raises(CommandError, match=f"cannot read .*{name} .*: name a text file"):
            read_offsets(tmp_path / name)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["list", "--states", "stable,asleep"], "'asleep' is no state: choose from "),
        (["seek", "billing"], "give one of --to, --to-group and --to-file"),
        (["seek", "billing", "--to", "end", "--to-group", "other"], "give one of --to,"),
        (["seek", "billing", "--to", "later"], "'later' is no point in time"),
        (["seek", "billing", "--to", "end", "--topics", ","], "--topics names none"),
    ],
)
def test_a_wrong_command_line_is_told_before_anybody_is_asked(
    run: Callable[..., Result], args: list[str], told: str
) -> None:
    result = run("group", *args)
    assert (result.exit_code, result.out) == (2, "")
    assert told in result.err
