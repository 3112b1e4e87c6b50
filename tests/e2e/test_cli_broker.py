"""`kafkaesque broker` as a user runs it, and commands in other processes that reach it."""

import signal
import socket
import subprocess
from pathlib import Path
from typing import TypeAlias

import pytest
from tests import foreign
from tests.broker_process import COMMAND, BrokerProcess, free_port

Done: TypeAlias = "subprocess.CompletedProcess[str]"


def kafkaesque(*args: object) -> Done:
    command = [str(COMMAND), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def assert_one_complaint(done: Done, *parts: str) -> None:
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("kafkaesque: ")
    assert done.stderr.count("\n") == 1
    for part in parts:
        assert part in done.stderr


@pytest.mark.slow
def test_the_installed_command_reaches_a_broker(broker: BrokerProcess) -> None:
    made = kafkaesque("topic", "create", "orders", "-b", broker.bootstrap)
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout == "TOPIC   STATUS\norders  OK\n"


@pytest.mark.slow
def test_partitions_default_to_the_brokers_setting(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", "--set", "num.partitions=4") as broker:
        kafkaesque("topic", "create", "orders", "-b", broker.bootstrap)
        listed = kafkaesque("topic", "list", "-b", broker.bootstrap)
        assert listed.stdout.splitlines()[1].split() == ["orders", "4", "1"]


def test_each_listener_advertises_its_own_address(tmp_path: Path) -> None:
    outside = free_port()
    listen = f"127.0.0.1:{outside}=localhost:{outside}"
    with BrokerProcess(tmp_path / "data", "--listen", listen) as broker:
        assert foreign.advertised(broker.bootstrap) == broker.bootstrap
        assert foreign.advertised(f"127.0.0.1:{outside}") == f"localhost:{outside}"


@pytest.mark.slow
def test_the_first_listener_advertises_what_it_is_told(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", "--advertise", "localhost:1") as broker:
        assert foreign.advertised(broker.bootstrap) == "localhost:1"


@pytest.mark.slow
def test_an_advertised_address_that_cannot_be_reached_is_explained(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", "--advertise", "localhost:1") as broker:
        made = kafkaesque("topic", "create", "a", "-b", broker.bootstrap, "--timeout", 1)
        assert_one_complaint(made, "advertise")


@pytest.mark.slow
def test_a_broker_prints_one_line_and_ends_with_0_when_told_to_stop(tmp_path: Path) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        command = [str(COMMAND), "broker", "--port", "0", "--data-dir", str(tmp_path / "data")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            process.send_signal(number)
            assert process.stdout.read() == ""
            assert process.wait(60) == 0
        assert "listening on 127.0.0.1:" in line
        assert ":0" not in line


@pytest.mark.slow
def test_memory_keeps_no_files(tmp_path: Path) -> None:
    port = free_port()
    command = [str(COMMAND), "broker", "--port", str(port), "--memory"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert "listening" in process.stdout.readline()
        made = kafkaesque("topic", "create", "orders", "-b", f"127.0.0.1:{port}")
        process.terminate()
    assert made.stdout.endswith("orders  OK\n")
    assert list(tmp_path.iterdir()) == []


def test_the_environment_gives_defaults_and_options_win(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKAESQUE_HOST", "localhost")
    monkeypatch.setenv("KAFKAESQUE_PORT", "1")
    monkeypatch.setenv("KAFKAESQUE_DATA_DIR", str(tmp_path / "from-environment"))
    command = [str(COMMAND), "broker", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
    assert "listening on localhost:" in line
    assert "localhost:1 " not in line
    assert (tmp_path / "from-environment").is_dir()


def test_a_port_that_is_taken_names_itself_and_the_flag(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = kafkaesque("broker", "--port", port, "--data-dir", tmp_path / "data")
    assert_one_complaint(done, f"127.0.0.1:{port}", "--port")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "cure"),
    [
        ("num.partition=3", "num.partitions"),
        ("num.partitions=many", "num.partitions"),
        ("retention.ms=1", "log.retention.ms"),
    ],
)
def test_a_wrong_setting_is_named_with_its_cure(setting: str, cure: str) -> None:
    assert_one_complaint(kafkaesque("broker", "--memory", "--set", setting), "--set", cure)


@pytest.mark.slow
def test_a_second_broker_on_the_same_data_is_refused(broker: BrokerProcess) -> None:
    done = kafkaesque("broker", "--port", "0", "--data-dir", broker.data_dir)
    assert_one_complaint(done, str(broker.data_dir))
