"""kafkaesque.toml: what its keys mean, who wins over it, and what a wrong one is told."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.unit.cli.conftest import Result

Run = Callable[..., Result]


@pytest.fixture
def ports() -> Iterator[list[int]]:
    """Ports that refuse: who is told so has tried that one."""
    bound = [socket.socket() for _ in range(4)]
    for each in bound:
        each.bind(("127.0.0.1", 0))
    yield [each.getsockname()[1] for each in bound]
    for each in bound:
        each.close()


def tried(result: Result) -> int:
    assert result.exit_code == 1
    return int(result.err.partition("nothing answers at 127.0.0.1:")[2].partition(" ")[0])


def write(path: Path, *lines: str) -> None:
    path.write_text("\n".join(lines))


def test_the_file_gives_a_default_to_every_command_that_has_the_option(
    run: Run, tmp_path: Path, ports: list[int]
) -> None:
    write(tmp_path / "kafkaesque.toml", f'brokers = "127.0.0.1:{ports[0]}"')
    for command in (["topic", "list"], ["topic", "consume", "a"], ["cluster", "info"]):
        assert tried(run(*command)) == ports[0]


def test_a_table_is_a_command_and_wins_over_what_is_for_all(
    run: Run, tmp_path: Path, ports: list[int]
) -> None:
    write(
        tmp_path / "kafkaesque.toml",
        f'brokers = "127.0.0.1:{ports[0]}"',
        f'[topic]\nbrokers = "127.0.0.1:{ports[1]}"',
        f'[topic.list]\nbrokers = "127.0.0.1:{ports[2]}"',
    )
    assert tried(run("cluster", "info")) == ports[0]
    assert tried(run("topic", "describe", "a")) == ports[1]
    assert tried(run("topic", "list")) == ports[2]


def test_the_line_wins_over_the_environment_and_that_over_the_file(
    run: Run, tmp_path: Path, ports: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = [f"127.0.0.1:{port}" for port in ports]
    write(tmp_path / "kafkaesque.toml", f'[topic.list]\nbrokers = "{addresses[0]}"')
    assert tried(run("topic", "list")) == ports[0]
    monkeypatch.setenv("KAFKAESQUE_BROKERS", addresses[1])
    assert tried(run("topic", "list")) == ports[1]
    assert tried(run("topic", "--brokers", addresses[2], "list")) == ports[2]
    line = ["topic", "--brokers", addresses[2], "list", "--brokers", addresses[3]]
    assert tried(run(*line)) == ports[3]


def test_the_file_may_be_named_by_an_option_or_a_variable(
    run: Run, tmp_path: Path, ports: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, port in zip(("kafkaesque.toml", "one.toml", "two.toml"), ports, strict=False):
        write(tmp_path / name, f'brokers = "127.0.0.1:{port}"')
    monkeypatch.setenv("KAFKAESQUE_CONFIG", "one.toml")
    assert tried(run("topic", "list")) == ports[1]
    assert tried(run("--config", "two.toml", "topic", "list")) == ports[2]


def test_options_that_are_lists_take_a_list_or_one(run: Run, tmp_path: Path) -> None:
    for value in ('"nonsense.setting=1"', '["nonsense.setting=1"]'):
        write(tmp_path / "kafkaesque.toml", f"[broker]\nmemory = true\nset = {value}")
        result = run("broker")
        assert result.exit_code == 1
        assert "nonsense.setting" in result.err


def test_a_value_is_checked_as_one_on_the_line_is(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "kafkaesque.toml", "[broker]\nport = 65536")
    result = run("broker")
    assert result.exit_code == 2
    assert "--port" in result.err


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ('borkers = "a"', "has an unknown key 'borkers' above its tables: there are acks, "),
        ("partitions = 3", "has an unknown key 'partitions' above its tables: "),
        ("[topics]\na = 1", "has an unknown key 'topics' above its tables: "),
        ("[topic.consume]\noffest = 1", "'offest' in [topic.consume]: there are brokers, "),
        ("[topic.consume.x]\na = 1", "'x' in [topic.consume]: "),
        ("[topic]\nx = 1", "'x' in [topic]: there are add-partitions, alter-config, brokers"),
        ("[topic", "is not TOML ("),
        ("brokers = 'a'\nbrokers = 'b'", "is not TOML ("),
    ],
)
def test_what_means_nothing_is_named_with_what_there_is(
    run: Run, tmp_path: Path, lines: str, complaint: str
) -> None:
    write(tmp_path / "kafkaesque.toml", lines)
    result = run("topic", "list")
    assert (result.exit_code, result.out) == (1, "")
    assert result.err.startswith("kafkaesque: kafkaesque.toml ")
    assert complaint in result.err


def test_a_file_that_is_not_there_is_named_only_if_it_was_asked_for(run: Run) -> None:
    assert run("version").exit_code == 0
    result = run("--config", "missing.toml", "version")
    assert result.exit_code == 1
    assert result.err == (
        "kafkaesque: cannot read missing.toml (No such file or directory): "
        "correct --config or KAFKAESQUE_CONFIG\n"
    )
