"""Schemas and requests of an enemy: refused or taken, in bounded time and memory, while others are
answered meanwhile."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.broker_process import BrokerProcess
from tests.hostile_schemas import Hostile, cases
from tests.registry_clients import V1, avro, fresh
from tests.registry_process import RegistryProcess

pytestmark = pytest.mark.slow

_SLOW_S = 30.0
"""Far more than anything takes on a busy machine, far less than what an unbounded search would."""
_GROWTH_BYTES = 700 << 20
_TRAP = "http://trap"
"""Stands for an address that no schema may send the registry to."""


class World:
    """A registry under attack, and somebody who only wants to look up a schema meanwhile."""

    def __init__(self, registry: RegistryProcess, trap: socket.socket) -> None:
        self.registry = registry
        self.http = httpx.Client(base_url=registry.url, timeout=2 * _SLOW_S)
        self.trap = trap
        self.slowest_s = 0.0
        self._is_over = threading.Event()
        self._bystander = threading.Thread(target=self._look_up)
        self._bystander.start()

    @property
    def rss_bytes(self) -> int:
        statm = Path(f"/proc/{self.registry.process.pid}/statm").read_text()
        return int(statm.split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def _look_up(self) -> None:
        with httpx.Client(base_url=self.registry.url, timeout=2 * _SLOW_S) as http:
            while not self._is_over.wait(0.02):
                began = time.perf_counter()
                assert http.get("/schemas/ids/1").status_code == 200
                self.slowest_s = max(self.slowest_s, time.perf_counter() - began)

    def end(self) -> None:
        self._is_over.set()
        self._bystander.join()
        self.http.close()

    @property
    def trap_url(self) -> str:
        return f"http://127.0.0.1:{self.trap.getsockname()[1]}"

    def visitors(self) -> int:
        self.trap.setblocking(False)
        try:
            self.trap.accept()[0].close()
        except BlockingIOError:
            return 0
        return 1


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory = tmp_path_factory.mktemp("hostile")
    with (
        BrokerProcess(directory / "data") as broker,
        RegistryProcess(broker.bootstrap, directory / "registry.log") as running,
        socket.create_server(("127.0.0.1", 0)) as trap,
    ):
        httpx.post(f"{running.url}/subjects/first/versions", json={"schema": V1}, timeout=60)
        scene = World(running, trap)
        before = scene.rss_bytes
        yield scene
        scene.end()
        assert scene.slowest_s < _SLOW_S / 3, "others had to wait"
        assert scene.rss_bytes - before < _GROWTH_BYTES
        assert scene.visitors() == 0, "a schema made the registry ask a stranger"
        assert "Traceback" not in running.log


@pytest.mark.parametrize("case", cases(_TRAP), ids=str)
def test_a_hostile_schema_is_dealt_with_in_time(world: World, case: Hostile) -> None:
    subject = fresh("hostile")
    texts = [text.replace(_TRAP, world.trap_url) for text in case.texts]
    for text in texts:
        began = time.perf_counter()
        path = f"/subjects/{subject}/versions"
        answer = world.http.post(path, json={"schema": text, "schemaType": case.type})
        assert time.perf_counter() - began < _SLOW_S
        _require_dealt_with(answer)
    began = time.perf_counter()
    body = {"schema": texts[-1], "schemaType": case.type}
    for path in ("/subjects/first", "/compatibility/subjects/first/versions"):
        answer = world.http.post(path, json=body, params={"normalize": "true", "verbose": "true"})
        _require_dealt_with(answer)
    assert time.perf_counter() - began < _SLOW_S


def _require_dealt_with(answer: httpx.Response) -> None:
    assert answer.status_code < 500, answer.text[:500]
    assert len(answer.content) < 4 << 20
    if answer.status_code != 200:
        assert answer.json()["message"]


@pytest.mark.parametrize("megabytes", [2, 5, 20])
def test_a_large_body_is_refused(world: World, megabytes: int) -> None:
    body = {"schema": " " * (megabytes << 20)}
    try:
        answer = world.http.post("/subjects/large/versions", json=body)
    except (httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError):
        return
    assert answer.status_code in (413, 422)


def test_a_body_without_end_is_refused(world: World) -> None:
    """Chunks for as long as the registry takes them."""
    host, port = world.registry.url.removeprefix("http://").split(":")
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    with socket.create_connection((host, int(port)), timeout=_SLOW_S) as wire:
        head = b"POST /subjects/endless/versions HTTP/1.1\r\nHost: x\r\n"
        wire.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
        sent = 0
        try:
            while sent < 200 << 20:
                wire.sendall(chunk)
                sent += len(chunk)
                wire.setblocking(False)
                try:
                    if wire.recv(4096):
                        break
                except BlockingIOError:
                    pass
                wire.settimeout(_SLOW_S)
        except OSError:
            pass
    assert sent < 100 << 20, "it went on reading"


@pytest.mark.parametrize(
    "path",
    [
        "/subjects/%/versions",
        "/subjects/%ZZ/versions",
        "/subjects/%FF%FE/versions",
        "/subjects/%ED%A0%80/versions",
        "/subjects/%00/versions",
        "/subjects/../../etc/passwd",
        "/subjects/..%2F..%2Fetc%2Fpasswd/versions",
        "/../../../../etc/passwd",
        "/subjects//versions",
        "/subjects/%20/versions",
        "/subjects/:/versions",
        "/subjects/::/versions",
        "/subjects/:.:/versions",
        "/subjects/:.x/versions",
        "/subjects/:.__GLOBAL:/versions",
        "/contexts//subjects",
        "/contexts/:/subjects",
        "/contexts/%2F/subjects",
        "/contexts/.a%00b/subjects",
        "/schemas/ids/" + "9" * 3_000,
        "/subjects/a/versions/" + "1" * 3_000,
        "/subjects/" + "s" * 60_000 + "/versions",
        "/subjects?limit=" + "9" * 3_000,
        "/subjects?offset=-99999999999999999999",
        "/subjects?subjectPrefix=%ED%A0%80&deleted=%FF",
        "/associations/resources/%2F/%00",
        "/mode/%F0%9F%A6%80",
        "\\..\\..",
        "*",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_a_strange_path_is_answered(world: World, method: str, path: str) -> None:
    """As raw bytes: clients would put many of these right."""
    body = b'{"schema": "\\"int\\""}' if method == "POST" else b""
    status = _raw(world, method, path, body)
    assert 200 <= status < 500


def _raw(world: World, method: str, path: str, body: bytes) -> int:
    host, port = world.registry.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=_SLOW_S) as wire:
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        wire.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = b""
        while data := wire.recv(65536):
            answer += data
    return int(answer.split(b" ", 2)[1])


def test_references_that_come_back_are_refused(world: World) -> None:
    base = f"/contexts/.{fresh('cycle')}"
    world.http.put(f"{base}/mode", json={"mode": "IMPORT"})

    def put(subject: str, other: str, version: int) -> httpx.Response:
        reference = {"name": f"N{other}", "subject": other, "version": version}
        return world.http.post(
            f"{base}/subjects/{subject}/versions",
            json={"schema": avro(f"x:N{other}", name=f"N{subject}"), "references": [reference]},
        )

    # Each refers to the other: the one that closes the circle, or was there first, is refused.
    assert put("a", "b", 1).json()["error_code"] == 42201
    first = world.http.post(f"{base}/subjects/b/versions", json={"schema": avro(name="Nb")})
    assert first.status_code == 200
    assert put("a", "b", 1).status_code == 200
    assert put("b", "a", 1).status_code in (200, 422)
    _require_dealt_with(put("b", "b", 2))
    _require_dealt_with(put("a", "b", 2))


def test_a_bomb_of_references_is_dealt_with(world: World) -> None:
    """Each level refers to both of the level below: 2^25 paths through 50 schemas."""
    prefix = fresh("bomb")
    began = time.perf_counter()
    for level in range(25):
        below = [f"N{level - 1}{side}" for side in "ab"] if level else []
        references: list[dict[str, Any]] = [
            {"name": name, "subject": f"{prefix}{name}", "version": 1} for name in below
        ]
        for side in "ab":
            name = f"N{level}{side}"
            text = avro(*(f"f{it}:{it}" for it in below), name=name)
            body = {"schema": text, "references": references}
            answer = world.http.post(f"/subjects/{prefix}{name}/versions", json=body)
            assert answer.status_code == 200, answer.text
            schema_id = answer.json()["id"]
    resolved = world.http.get(f"/schemas/ids/{schema_id}", params={"format": "resolved"})
    _require_dealt_with(resolved)
    assert time.perf_counter() - began < 2 * _SLOW_S
