"""Help, version, usage errors: what needs no broker."""

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version

import pytest
from tests.unit.cli.conftest import Result

COMMANDS = [
    ["version"],
    ["broker"],
    ["topic"],
    ["topic", "create"],
    ["topic", "list"],
    ["topic", "describe"],
    ["topic", "delete"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_teaches_with_an_example(run: Callable[..., Result], command: list[str]) -> None:
    for option in ("--help", "-h"):
        result = run(*command, option)
        assert result.exit_code == 0
        example = " ".join(result.out.partition("Example")[2].split())
        assert f"kafkaesque {' '.join(command)}" in example


def test_help_on_the_broker_loads_neither_a_client_nor_the_broker_nor_rich() -> None:
    program = (
        "import sys; from kafkaesque.cli.main import main\n"
        "try: main(['broker', '--help'])\n"
        "except SystemExit: print(*sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "kafkaesque.cli.broker" in loaded
    heavy = {"asyncio", "confluent_kafka", "fastapi", "kafkaesque.broker", "rich"}
    assert loaded.isdisjoint(heavy)


@pytest.mark.parametrize("args", [["version"], ["--version"]])
def test_the_version_is_the_packages(run: Callable[..., Result], args: list[str]) -> None:
    result = run(*args)
    assert (result.exit_code, result.out) == (0, version("kafkaesque-broker") + "\n")


@pytest.mark.parametrize("args", [[], ["topic"]])
def test_a_group_without_a_command_shows_its_help(
    run: Callable[..., Result], args: list[str]
) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert "Commands:" in result.out + result.err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nonsense"], "nonsense"),
        (["broker", "--port", "65536"], "--port"),
        (["broker", "--port", "x"], "--port"),
        (["broker", "--advertise", "example.org"], "'--advertise': 'example.org' is not HOST:PORT"),
        (["broker", "--listen", "0.0.0.0"], "'--listen': '0.0.0.0' is not HOST:PORT"),
        (["broker", "--set", "retention"], "'--set': 'retention' is not name=value"),
        (["broker", "--log-level", "loud"], "--log-level"),
        (["broker", "--memory", "--data-dir", "x"], "not both"),
        (["topic", "create"], "NAME"),
        (["topic", "create", "a", "-p", "0"], "--partitions"),
        (["topic", "create", "a", "-p", "100001"], "--partitions"),
        (["topic", "create", "a", "-r", "0"], "--replicas"),
        (["topic", "create", "a", "-c", "x"], "'x' is not name=value"),
        (["topic", "list", "--format", "xml"], "--format"),
        (["topic", "list", "--brokers", "host:x"], "--brokers: 'host:x' is not HOST:PORT"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_command_line_ends_with_2_and_says_what_is_wrong(
    run: Callable[..., Result], args: list[str], message: str
) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert message in " ".join(result.err.split())
    assert result.out == ""
