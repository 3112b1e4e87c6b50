"""The gateway's process: its limits, its edges, slow clients, and how it stops."""

import hashlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests import foreign
from tests.broker_process import COMMAND, BrokerProcess
from tests.gateway_process import GatewayProcess

pytestmark = pytest.mark.slow

SSE = {"accept": "text/event-stream"}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("broker") / "data") as broker:
        yield broker


def streams(gateway: GatewayProcess) -> int:
    text = httpx.get(f"{gateway.url}/metrics", timeout=60).text
    (line,) = (line for line in text.splitlines() if line.startswith("kafkaesque_gateway_streams "))
    return int(line.split()[1])


def rss_bytes(gateway: GatewayProcess) -> int:
    pages = int(Path(f"/proc/{gateway.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_streams_are_bounded_freed_when_their_clients_leave_and_ended_at_a_stop(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    topic = foreign.create_topic(broker.bootstrap)
    with GatewayProcess(broker.bootstrap, tmp_path / "log", "--max-streams", "2") as gateway:
        path = f"{gateway.url}/topics/{topic}/events"
        with (
            httpx.Client(timeout=60) as client,
            client.stream("GET", path, headers=SSE),
            client.stream("GET", path, headers=SSE),
        ):
            foreign.until(lambda: streams(gateway) == 2)
            refused = httpx.get(path, headers=SSE, timeout=60)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
            assert "--max-streams" in refused.json()["message"]
        foreign.until(lambda: streams(gateway) == 0)
        with httpx.Client(timeout=60) as client, client.stream("GET", path, headers=SSE) as stream:
            chunks = stream.iter_text()
            assert "id: 0:0" in next(chunks)
            assert gateway.stop() == 0
            # It ends as a stream ends, not in the middle.
            assert list(chunks) == []
        assert gateway.log == ""


def test_a_client_that_does_not_read_costs_no_more_than_a_fetch(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    topic = foreign.create_topic(broker.bootstrap)
    foreign.produce(broker.bootstrap, topic, [os.urandom(50_000) for _ in range(600)])
    with GatewayProcess(broker.bootstrap, tmp_path / "log") as gateway:
        before = rss_bytes(gateway)
        stalled = []
        for _ in range(4):
            connection = socket.create_connection(("127.0.0.1", gateway.port))
            connection.sendall(
                f"GET /topics/{topic}/events?from=earliest HTTP/1.1\r\nHost: here\r\n"
                "Accept: text/event-stream\r\n\r\n".encode()
            )
            stalled.append(connection)
        foreign.until(lambda: streams(gateway) == 4)
        lines = httpx.get(
            f"{gateway.url}/topics/{topic}/events?until=end",
            headers={"accept": "application/x-ndjson"},
            timeout=60,
        )
        assert lines.text.count("\n") == 600
        assert rss_bytes(gateway) - before < 60 << 20
        assert gateway.stop() == 0
        for connection in stalled:
            connection.close()


def test_pages_of_other_hosts_may_connect_if_they_are_named(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    topic = foreign.create_topic(broker.bootstrap)
    foe, friend = {"origin": "http://evil.example.org"}, {"origin": "https://app.example.org"}
    with GatewayProcess(
        broker.bootstrap, tmp_path / "log", "--origin", "https://*.example.org"
    ) as gateway:
        path = f"{gateway.url}/topics/{topic}/events"
        assert httpx.get(path, headers=foe, timeout=60).status_code == 403
        allowed = httpx.get(path, headers=friend, timeout=60)
        assert allowed.headers["access-control-allow-origin"] == friend["origin"]
        asked = {**friend, "access-control-request-method": "POST"}
        asked["access-control-request-headers"] = "content-type"
        preflight = httpx.options(path, headers=asked, timeout=60)
        assert preflight.status_code == 204
        assert "POST" in preflight.headers["access-control-allow-methods"]
        assert preflight.headers["access-control-allow-headers"] == "content-type"


def test_tokens_say_who_may_read_and_write_what(broker: BrokerProcess, tmp_path: Path) -> None:
    mine, other = (foreign.create_topic(broker.bootstrap) for _ in range(2))
    tokens = tmp_path / "tokens.toml"

    def grant(secret: str) -> None:
        digest = hashlib.sha256(secret.encode()).hexdigest()
        rights = f'topics = ["{mine}"]\nwrite = ["{other}"]\n'
        tokens.write_text(f'[[token]]\nname = "me"\nsha256 = "{digest}"\n{rights}')

    grant("secret")
    with (
        GatewayProcess(broker.bootstrap, tmp_path / "log", "--tokens", str(tokens)) as gateway,
        httpx.Client(base_url=gateway.url, timeout=60) as client,
    ):
        bearer = {"authorization": "Bearer secret"}
        assert client.get(f"/topics/{mine}/events").status_code == 401
        assert client.get(f"/topics/{mine}/events", headers=bearer).status_code == 200
        assert client.get(f"/topics/{mine}/events?token=secret").status_code == 200
        assert client.get(f"/topics/{other}/events", headers=bearer).status_code == 403
        assert client.get(f"/topics/{other}", headers=bearer).status_code == 403
        listed = client.get("/topics", headers=bearer).json()["topics"]
        assert [topic["name"] for topic in listed] == [mine]
        assert client.get("/groups", headers=bearer).status_code == 403
        statuses = [
            client.post(f"/topics/{topic}/events", content=b"x", headers=bearer).status_code
            for topic in (mine, other)
        ]
        assert statuses == [403, 200]
        assert client.delete(f"/topics/{mine}", headers=bearer).status_code == 403
        assert client.delete(f"/topics/{other}", headers=bearer).status_code == 204
        assert client.post("/topics", json={"name": other}, headers=bearer).status_code == 201
        assert client.get("/health").status_code == 200
        grant("changed")
        gateway.process.send_signal(signal.SIGHUP)
        foreign.until(lambda: client.get("/topics", headers=bearer).status_code == 401)


def test_a_port_that_is_taken_is_said_with_the_cure(broker: BrokerProcess) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [str(COMMAND), "gateway", "--port", port], capture_output=True, text=True, timeout=60
        )
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr
    assert "--port" in done.stderr


def test_who_presses_ctrl_c_twice_sees_no_traceback(tmp_path: Path) -> None:
    with GatewayProcess("127.0.0.1:1", tmp_path / "log") as running:
        for _ in range(2):
            running.process.send_signal(signal.SIGINT)
            time.sleep(0.02)
        assert running.stop() == 0
        assert running.log == ""
