"""Topic commands where no Kafka broker is: quick, clear, and silent otherwise."""

import socket
import time
from collections.abc import Callable, Iterator

import pytest
from tests.tiers import few
from tests.unit.cli.conftest import Result

PATIENCE_S = 30
COMMANDS = [
    ["list"],
    ["create", "a"],
    ["describe", "a"],
    ["delete", "a"],
    ["add-partitions", "a", "-n", "1"],
    ["alter-config", "a", "-s", "x=1"],
    ["trim", "a", "-o", "1"],
    ["produce", "a"],
    ["consume", "a"],
    ["consume", "a", "-g", "group"],
]


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that refuses: it is bound, so that nobody else gets it, but does not listen."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def mute_port() -> Iterator[int]:
    """A port that accepts, and never says anything."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_nobody_listening_is_said_at_once_with_the_cure(
    run: Callable[..., Result], command: list[str], closed_port: int
) -> None:
    started = time.monotonic()
    brokers = f"127.0.0.1:{closed_port}"
    result = run("topic", *command, "--brokers", brokers, "--timeout", str(PATIENCE_S))
    assert time.monotonic() - started < PATIENCE_S
    assert (result.exit_code, result.out) == (1, "")
    assert result.err == (
        f"kafkaesque: nothing answers at 127.0.0.1:{closed_port} (Connection refused): "
        "start one with `kafkaesque broker`, or name one with --brokers\n"
    )


def test_the_brokers_variable_is_used(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, closed_port: int
) -> None:
    monkeypatch.setenv("KAFKAESQUE_BROKERS", f"127.0.0.1:{closed_port}")
    assert f"nothing answers at 127.0.0.1:{closed_port} " in run("topic", "list").err


def test_all_brokers_that_do_not_answer_are_named(
    run: Callable[..., Result], closed_port: int
) -> None:
    two = f"127.0.0.1:{closed_port},localhost:{closed_port}"
    result = run("topic", "list", "--brokers", two)
    assert f"nothing answers at 127.0.0.1:{closed_port}, localhost:{closed_port} (" in result.err


@pytest.mark.parametrize("command", few(COMMANDS, 2), ids=lambda command: command[0])
def test_a_listener_that_does_not_speak_kafka_ends_in_one_line_after_the_timeout(
    run: Callable[..., Result], command: list[str], mute_port: int
) -> None:
    address = f"127.0.0.1:{mute_port}"
    result = run("topic", *command, "--brokers", address, "--timeout", "0.3")
    assert (result.exit_code, result.out) == (1, "")
    assert result.err.startswith(f"kafkaesque: no answer from {address} within 0.3 s (")
    assert "--advertise" in result.err
    assert result.err.count("\n") == 1
