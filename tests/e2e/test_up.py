"""`kafkaesque up`: all of it on free ports, and what is left when it ends, in whichever way."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from tests import foreign
from tests.broker_process import COMMAND, BrokerProcess
from tests.up_process import Up, children, is_running
from websockets.sync.client import connect

TOPIC = "stock_json_topic"
BARE = ("--no-console", "--no-registry", "--no-gateway", "--no-fanout")
NO_WEB = (
    "import sys; sys.modules['nicegui'] = sys.modules['fastapi'] = None\n"
    "sys.modules['starlette'] = None\n"
    "from kafkaesque.cli.main import main\n"
    "main(sys.argv[1:])"
)


def topics(bootstrap: str) -> set[str]:
    return set(foreign.admin(bootstrap).list_topics(timeout=60).topics)


def read_ticks(bootstrap: str, count: int) -> list[dict[str, object]]:
    reader = foreign.consumer(bootstrap)
    reader.subscribe([TOPIC])
    try:
        messages = reader.consume(count, timeout=60)
    finally:
        reader.close()
    return [json.loads(message.value() or b"") for message in messages]


def answer_of(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        assert answer.status == 200
        text: str = answer.read().decode()
        return text


def test_ticks_flow_every_part_answers_and_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Up("--data-dir", data, "--rate", 50) as up:
        assert set(up.children) == {
            *("broker", "console", "registry", "gateway", "fanout", "demo", "avro demo")
        }
        for bootstrap in (up.bootstrap, f"localhost:{up.course_port}"):
            assert bootstrap in up.told
            found = read_ticks(bootstrap, 20)
            assert len(found) == 20
            assert set(found[0]) == {"event_time", "ticker", "price"}
        ports = up.console_port, up.registry_port, up.gateway_port, up.fanout_port
        page, registry, gateway, fanout = (f"http://127.0.0.1:{port}" for port in ports)
        assert [url for url in (page, registry, gateway, fanout) if url not in up.told] == []
        # The other demo begins when it likes.
        foreign.until(lambda: answer_of(f"{registry}/subjects") != "[]")
        assert answer_of(f"{registry}/subjects") == '["stock_avro_topic-value"]'
        assert first_price(gateway, "stock_avro_topic") == first_price(gateway, TOPIC)
        assert "/fanout" in answer_of(page)
        assert TOPIC in answer_of(f"{gateway}/topics")
        foreign.until(lambda: json.loads(answer_of(f"{fanout}/stats"))["workers"] != [])
        read_over_both_ports(up)
        assert up.end(signal.SIGINT) == 0
        assert [pid for pid in up.children.values() if is_running(pid)] == []
    assert "ended" not in up.told
    assert "killed" not in up.told
    assert (data / ".kafka_cleanshutdown").exists()


def first_price(gateway: str, topic: str) -> float:
    """A stock has one price, whichever topic tells it."""
    url = f"{gateway}/topics/{topic}/events?from=earliest&key=AMZN&decode=json&limit=1"
    foreign.until(lambda: json.loads(answer_of(url))["events"])
    (event,) = json.loads(answer_of(url))["events"]
    value = event["value"]
    tick = json.loads(value) if isinstance(value, str) else value
    price: float = tick["price"]
    return price


def read_over_both_ports(up: Up) -> None:
    """As a page of this machine does, and as a program."""
    origin = "http://localhost:3000"
    uri = f"ws://127.0.0.1:{up.fanout_port}/ws"
    with connect(uri, additional_headers={"Origin": origin}, open_timeout=60) as client:
        client.recv(timeout=60)
        client.send(f"{TOPIC}/*")
        assert b"ticker" in (client.recv(timeout=60), client.recv(timeout=60))[1]
    with socket.create_connection(("127.0.0.1", up.fanout_tcp_port), timeout=60) as tcp:
        ping = b'{"type":"ping"}'
        tcp.sendall(len(ping).to_bytes(4, "big") + ping)
        assert b"pong" in tcp.recv(1000)


@pytest.mark.slow
def test_sigterm_ends_it_too_and_the_data_stays_until_it_is_reset(tmp_path: Path) -> None:
    options = ("--data-dir", tmp_path / "data", "--no-demo", *BARE)
    with Up(*options) as up:
        assert set(up.children) == {"broker"}
        foreign.create_topic(up.bootstrap, "orders")
        assert topics(up.bootstrap) == {"orders"}
        assert up.end(signal.SIGTERM) == 0
    with Up(*options) as up:
        assert topics(up.bootstrap) == {"orders"}
    with Up(*options, "--reset") as up:
        assert topics(up.bootstrap) == set()


@pytest.mark.slow
def test_reset_refuses_what_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / ".profile").write_text("precious")
    up = Up("--data-dir", tmp_path, "--no-console", "--reset")
    done = subprocess.run([COMMAND, *up.args], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "--data-dir" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [".profile"]


@pytest.mark.slow
def test_reset_refuses_the_data_of_a_broker_that_runs(broker: BrokerProcess) -> None:
    topic = foreign.create_topic(broker.bootstrap)
    up = Up("--data-dir", broker.data_dir, "--no-console", "--reset")
    done = subprocess.run([COMMAND, *up.args], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert f"in use by process {broker.pid}" in done.stderr
    assert (broker.data_dir / f"{topic}-0").is_dir()


@pytest.mark.slow
@pytest.mark.parametrize(
    "flag",
    [
        "--port",
        "--course-port",
        "--console-port",
        "--registry-port",
        "--gateway-port",
        "--fanout-port",
        "--fanout-tcp-port",
    ],
)
def test_a_port_that_is_taken_names_itself_and_the_flag(tmp_path: Path, flag: str) -> None:
    up = Up("--data-dir", tmp_path / "data")
    with socket.socket() as taken:
        port = up.args[up.args.index(flag) + 1]
        taken.bind(("127.0.0.1", int(port)))
        taken.listen()
        done = subprocess.run([COMMAND, *up.args], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"kafkaesque: cannot listen on 127.0.0.1:{port}")
    assert f"with {flag}\n" in done.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["--port", "19092"], "--port and --course-port must differ: both are 19092"),
        (["--gateway-port", "8084"], "--gateway-port and --fanout-tcp-port must differ"),
        (["--memory", "--reset"], "--memory keeps no files"),
        (["--memory", "--data-dir", "x"], "--memory keeps no files"),
    ],
)
def test_options_that_exclude_each_other_are_a_wrong_command_line(
    args: list[str], complaint: str
) -> None:
    done = subprocess.run([COMMAND, "up", *args], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert complaint in done.stderr


@pytest.mark.slow
def test_what_dies_is_started_again_but_the_brokers_death_ends_it_all() -> None:
    with Up("--memory", *BARE, "--rate", 50) as up:
        os.kill(up.children["demo"], signal.SIGKILL)
        assert "started again in 1 s" in up.hear("ticks has ended (by SIGKILL)")
        sent = sum(foreign.watermarks(up.bootstrap, TOPIC, p)[1] for p in range(3))
        assert len(read_ticks(up.bootstrap, sent + 20)) == sent + 20
        again = children(up.process.pid)
        assert again["demo"] != up.children["demo"]
        assert again["broker"] == up.children["broker"]

        os.kill(again["broker"], signal.SIGKILL)
        assert up.process.wait(60) == 1
        up.hear("kafkaesque: the broker has ended (by SIGKILL)")
        assert not is_running(again["demo"])


@pytest.mark.slow
def test_a_broker_that_cannot_start_says_why(broker: BrokerProcess) -> None:
    up = Up("--data-dir", broker.data_dir, *BARE)
    done = subprocess.run([COMMAND, *up.args], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert f"broker  | kafkaesque: the data directory {broker.data_dir} is in use" in done.stdout
    assert "the broker has ended (exit code 1)" in done.stderr
    assert "is up" not in done.stdout


@pytest.mark.slow
def test_a_supervisor_that_is_killed_takes_its_processes_with_it(tmp_path: Path) -> None:
    with Up("--data-dir", tmp_path / "data", *BARE[:3]) as up:
        up.process.kill()
        foreign.until(lambda: not any(map(is_running, up.children.values())))
    assert set(up.children) == {"broker", "fanout", "demo"}
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


@pytest.mark.slow
def test_without_the_web_extra_it_says_what_to_install_and_goes_on() -> None:
    up = Up("--memory", "--no-fanout")
    up.command = [sys.executable, "-c", NO_WEB]
    with up:
        assert set(up.children) == {"broker", "demo"}
    assert "without the console, the registry and the gateway: they need" in up.told
    assert "pip install 'kafkaesque-broker[web]'" in up.told
    assert "http://" not in up.told


@pytest.mark.slow
def test_options_in_the_environment_do_not_reach_its_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KAFKAESQUE_USER", "somebody")
    monkeypatch.setenv("KAFKAESQUE_PORT", "1")
    with Up("--memory", *BARE, "--rate", 50) as up:
        assert len(read_ticks(up.bootstrap, 5)) == 5
