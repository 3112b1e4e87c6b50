"""What `txn` commands read from a command line, and what a wrong one is told."""

from collections.abc import Callable

import pytest
from tests.broker_process import free_port
from tests.unit.cli.conftest import Result

COMMANDS = [
    ["list"],
    ["describe", "a"],
    ["abort", "a", "--no-confirm"],
    ["producers", "a"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_nobody_listening_is_said_with_the_cure(
    run: Callable[..., Result], command: list[str]
) -> None:
    port = free_port()
    result = run("txn", *command, "--brokers", f"127.0.0.1:{port}")
    assert (result.exit_code, result.out) == (1, "")
    assert result.err == (
        f"kafkaesque: nothing answers at 127.0.0.1:{port} (Connection refused): "
        "start one with `kafkaesque broker`, or name one with --brokers\n"
    )


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["list", "--state", "ongoing,asleep"], "'asleep' is no state: choose from Ongoing, "),
        (["list", "--producer-id", "one"], "'one' is not a list of numbers"),
        (["list", "--older-than", "5"], "'5' is no length of time: write it as in 500ms, 30s"),
        (["describe"], "TXN_ID"),
        (["abort"], "TXN_ID"),
        (["producers"], "TOPIC"),
        (["producers", "orders", "-p", "x"], "'x' is not a list of numbers"),
    ],
)
def test_a_wrong_command_line_is_told_before_anybody_is_asked(
    run: Callable[..., Result], args: list[str], told: str
) -> None:
    result = run("txn", *args)
    assert (result.exit_code, result.out) == (2, "")
    assert told in result.err
