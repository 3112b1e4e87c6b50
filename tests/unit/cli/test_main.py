"""Help, version, usage errors: what needs no broker."""

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version

import pytest
from tests.command_tree import EVERYTHING
from tests.tiers import few
from tests.unit.cli.conftest import Result

HEAVY = {"asyncio", "confluent_kafka", "fastapi", "kafkaesque.broker", "nicegui", "rich", "yaml"}
TAUGHT = [name.split()[1:] for name in EVERYTHING if name != "kafkaesque"]


@pytest.mark.parametrize("command", few(TAUGHT, 15), ids=" ".join)
def test_help_teaches_with_an_example(run: Callable[..., Result], command: list[str]) -> None:
    for option in ("--help", "-h"):
        result = run(*command, option)
        assert result.exit_code == 0
        example = " ".join(result.out.partition("Example")[2].split())
        assert f"kafkaesque {' '.join(command)}" in example


@pytest.mark.parametrize(
    "args", [["--help"], ["version"], ["broker", "--help"], ["topic", "consume", "--help"]]
)
def test_help_loads_neither_a_client_nor_the_broker_nor_rich(args: list[str]) -> None:
    program = (
        "import sys; from kafkaesque.cli.main import main\n"
        f"try: main({args!r})\n"
        "except SystemExit: print(*sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "kafkaesque.cli.broker" in loaded
    assert loaded.isdisjoint(HEAVY)


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
        (["broker", "--advertise", "example.org"], "'example.org' is not HOST:PORT"),
        (["broker", "--listen", "0.0.0.0"], "'--listen': '0.0.0.0' is not HOST:PORT"),
        (["broker", "--set", "retention"], "'--set': 'retention' is not name=value"),
        (["broker", "--log-level", "loud"], "--log-level"),
        (["broker", "--memory", "--data-dir", "x"], "not both"),
        (["topic", "create"], "TOPIC"),
        (["topic", "create", "a", "-p", "0"], "--partitions"),
        (["topic", "create", "a", "-p", "100001"], "--partitions"),
        (["topic", "create", "a", "-r", "0"], "--replicas"),
        (["topic", "create", "a", "-c", "x"], "'x' is not name=value"),
        (["topic", "create", "a", "--format", "xml"], "--format"),
        (["topic", "add-partitions", "a"], "--num"),
        (["topic", "add-partitions", "a", "-n", "0"], "--num"),
        (["topic", "alter-config", "a"], "--set, --delete, --append or --subtract"),
        (["topic", "alter-config", "a", "--set", "x"], "'x' is not name=value"),
        (["topic", "describe", "a", "--page", "0"], "--page"),
        (["topic", "produce"], "name a TOPIC, or read it with %t"),
        (["topic", "produce", "-f", "%v\\n"], "name a TOPIC, or read it with %t"),
        (["topic", "produce", "a", "-f", "%k%v"], "--format: '%k%v': where does %k end?"),
        (["topic", "produce", "a", "-o", "%q"], "--output-format: '%q': unknown '%q'"),
        (["topic", "produce", "a", "-z", "rar"], "--compression"),
        (["topic", "produce", "a", "--acks", "2"], "--acks"),
        (["topic", "produce", "a", "-H", "x"], "'x' is not name=value"),
        (["topic", "consume"], "TOPIC"),
        (["topic", "consume", "a", "-f", "%v\\q"], "unknown '\\\\q' at position 3"),
        (["topic", "consume", "a", "-o", "soon"], "'soon' is no offset"),
        (["topic", "consume", "a", "-o", "@soon"], "'soon' is no point in time"),
        (["topic", "consume", "a", "-p", "0;1"], "--partitions: '0;1' is not a list"),
        (["topic", "consume", "a", "-g", "g", "-p", "0"], "give --group or --partitions"),
        (["topic", "consume", "a", "-g", "g", "-o", "5"], "kafkaesque group seek"),
        (["topic", "consume", "a", "-g", "g", "-o", ":end"], "kafkaesque group seek"),
        (["topic", "trim", "a"], "--offset"),
        (["topic", "trim", "a", "-o", "1:2"], "'1:2' is a range"),
        (["topic", "list", "--timeout", "0"], "--timeout: 0 is not in 0.001 to 3600 seconds"),
        (["topic", "list", "--timeout", "nan"], "--timeout"),
        (["topic", "list", "--sasl-mechanism", "x"], "'x' is none of PLAIN, SCRAM-SHA-256"),
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
