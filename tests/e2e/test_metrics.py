"""A broker's metrics as Prometheus reads them: over HTTP, from the port that was asked for."""

import asyncio
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from http import HTTPStatus
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from tests import foreign
from tests.broker_process import COMMAND, BrokerProcess, free_port
from tests.in_process import InProcessBroker

from kafkaesque.broker.config import BrokerConfig, Listener
from kafkaesque.broker.metrics_page import Answer, MetricsPage
from kafkaesque.embedded.thread import BrokerThread
from kafkaesque.metrics import CONTENT_TYPE

TIMEOUT_S = foreign.TIMEOUT_S
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"
LINE = re.compile(r"([a-z_]+(?:\{[a-z]+=\"[^\"]*\"(?:,[a-z]+=\"[^\"]*\")*\})?) (\S+)")

Figures = dict[str, float]


def figures(url: str) -> Figures:
    with urlopen(url, timeout=TIMEOUT_S) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        lines = answer.read().decode().splitlines()
    found = [LINE.fullmatch(line) for line in lines if not line.startswith("# ")]
    assert None not in found, lines
    return {match[1]: float(match[2]) for match in found if match}


@pytest.fixture
def broker() -> Iterator[BrokerThread]:
    """A broker in memory that shows its metrics."""
    config = BrokerConfig.of([Listener("127.0.0.1", 0)], None, {}, metrics_port=0)
    thread = BrokerThread(config).start()
    yield thread
    thread.stop()


def url(broker: BrokerThread) -> str:
    assert broker.server.metrics_url is not None
    return broker.server.metrics_url


def say(broker: BrokerThread, request: bytes) -> bytes:
    """All that is answered to these bytes, until the connection closes."""
    port = int(url(broker).partition("/metrics")[0].rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.slow
def test_the_command_line_turns_them_on(tmp_path: Path) -> None:
    port = free_port()
    page = f"http://127.0.0.1:{port}/metrics"
    with BrokerProcess(tmp_path / "data", "--metrics-port", str(port)) as process:
        before = figures(page)
        foreign.create_topic(process.bootstrap, "orders", partitions=3)
        foreign.produce(process.bootstrap, "orders", [b"x" * 1000])
        after = figures(page)
        assert after["kafkaesque_topics"] == before["kafkaesque_topics"] + 1
        assert after["kafkaesque_partitions"] == before["kafkaesque_partitions"] + 3
        assert after["kafkaesque_log_bytes"] > before["kafkaesque_log_bytes"] + 1000
        assert process.stop() == 0
    with pytest.raises(OSError):
        figures(page)


@pytest.mark.slow
def test_a_second_line_names_the_port_that_was_free() -> None:
    command = [str(COMMAND), "broker", "--memory", "--port", "0", "--metrics-port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert "listening on" in process.stdout.readline()
            line = process.stdout.readline()
            assert "kafkaesque_loop_delay_seconds_count" in figures(line.split()[-1])
        finally:
            process.terminate()
            assert process.wait(TIMEOUT_S) == 0


@pytest.mark.slow
def test_a_port_in_use_is_refused_with_the_option_to_change() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        command = [str(COMMAND), "broker", "--memory", "--port", "0", "--metrics-port", str(port)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 1
    assert f"127.0.0.1:{port}" in done.stderr
    assert "--metrics-port" in done.stderr


def test_the_loop_is_timed_while_nothing_else_happens(broker: BrokerThread) -> None:
    count = figures(url(broker))["kafkaesque_loop_delay_seconds_count"]
    foreign.until(lambda: figures(url(broker))["kafkaesque_loop_delay_seconds_count"] > count + 10)
    now = figures(url(broker))
    buckets = [value for name, value in now.items() if "_bucket" in name]
    assert buckets == sorted(buckets)
    assert buckets[-1] == now["kafkaesque_loop_delay_seconds_count"]


def test_a_loop_that_was_blocked_shows(broker: BrokerThread) -> None:
    async def block() -> None:
        time.sleep(0.3)

    before = figures(url(broker))
    broker.call(block)
    foreign.until(lambda: figures(url(broker))["kafkaesque_loop_delay_max_seconds"] >= 0.28)
    after = figures(url(broker))
    inside, outside = (f'kafkaesque_loop_delay_seconds_bucket{{le="{b}"}}' for b in (0.1, "+Inf"))
    assert after[outside] - after[inside] > before[outside] - before[inside]


def test_connections_are_counted_while_they_are_open(broker: BrokerThread) -> None:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    with socket.create_connection((host, int(port))):
        foreign.until(lambda: figures(url(broker))["kafkaesque_connections"] == 1)
    foreign.until(lambda: figures(url(broker))["kafkaesque_connections"] == 0)


def test_another_path_is_not_found(broker: BrokerThread) -> None:
    with pytest.raises(HTTPError) as caught:
        urlopen(url(broker).replace("/metrics", "/"), timeout=TIMEOUT_S)
    with caught.value as answer:
        assert answer.code == 404


def test_a_request_may_come_in_pieces(broker: BrokerThread) -> None:
    port = int(url(broker).partition("/metrics")[0].rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n":
            connection.sendall(bytes([piece]))
        assert connection.recv(15) == b"HTTP/1.1 200 OK"


def test_what_is_no_request_is_refused_and_closed(broker: BrokerThread) -> None:
    assert say(broker, b"\x00\x00\x00\x0b\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert say(broker, b"GET /metrics HTTP/1.1\r\nx: " + b"y" * 9000).startswith(b"HTTP/1.1 431 ")
    assert "kafkaesque_topics" in figures(url(broker))


def test_a_visitor_who_says_nothing_is_closed_with_the_page() -> None:
    async def visit() -> bytes:
        page = MetricsPage({"/metrics": lambda: Answer(HTTPStatus.OK, CONTENT_TYPE, "")})
        port = await page.open("127.0.0.1", 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        # Connections are accepted in order: once this one is answered, the silent one is there.
        await asyncio.to_thread(figures, f"http://127.0.0.1:{port}/metrics")
        page.close()
        try:
            async with asyncio.timeout(TIMEOUT_S / 10):
                return await reader.read()
        except ConnectionResetError:
            return b""
        finally:
            writer.close()

    assert asyncio.run(visit()) == b""


def test_the_reference_names_each_metric_and_no_other(broker: BrokerThread) -> None:
    with urlopen(url(broker), timeout=TIMEOUT_S) as answer:
        shown = re.findall(r"^# TYPE (\S+) (\S+)$", answer.read().decode(), re.MULTILINE)
    reference = REFERENCE.read_text().partition("## The fan-out")[0]
    assert shown == re.findall(r"^\| `(kafkaesque_\w+)` \| (\w+) \|", reference, re.MULTILINE)


def test_without_the_option_nothing_is_shown(tmp_path: Path) -> None:
    with InProcessBroker(tmp_path / "data") as plain:
        assert plain.server.metrics_url is None
