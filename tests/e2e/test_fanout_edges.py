"""The edges of the fan-out, with real clients: TLS, tokens, limits, origins, files read again."""

import asyncio
import json
import signal
import socket
import ssl
from collections.abc import Awaitable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
from confluent_kafka import Producer
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.certificates import make_certificate
from tests.fanout_process import FanoutProcess
from tests.foreign import TIMEOUT_S, until
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidMessage, InvalidStatus
from websockets.typing import Origin

T = TypeVar("T")

TOKENS = """
[[token]]
name = "dashboard"
token = "some-of-it"
topics = ["ticks"]
keys = ["AMZN", "eu-*"]

[[token]]
name = "operator"
token = "all-of-it"
topics = ["*"]
max_connections = 1
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with BrokerProcess(tmp_path_factory.mktemp("edges") / "data") as broker:
        for topic in ("ticks", "payroll"):
            foreign.create_topic(broker.bootstrap, topic)
        yield broker.bootstrap


class Client:
    """A WebSocket, used from outside its event loop."""

    # Not websockets.sync: its two threads share one SSLSocket, which Python 3.11 does not stand.
    def __init__(self, loop: asyncio.AbstractEventLoop, url: str, **options: Any) -> None:
        self._loop = loop
        self._socket = self._run(connect(url, open_timeout=TIMEOUT_S, **options))

    def send(self, message: str) -> None:
        self._run(self._socket.send(message))

    def receive(self) -> str | bytes:
        return self._run(self._socket.recv())

    def refusal(self) -> tuple[int, str]:
        """The server closes: with which code, and why."""
        self._run(self._socket.wait_closed())
        assert self._socket.close_code is not None
        return self._socket.close_code, self._socket.close_reason or ""

    def close(self) -> None:
        self._run(self._socket.close())

    def _run(self, work: Awaitable[T]) -> T:
        async def bounded() -> T:
            return await asyncio.wait_for(work, TIMEOUT_S)

        return self._loop.run_until_complete(bounded())


class Edges:
    """A fan-out with TLS and tokens, and a client that trusts it."""

    def __init__(self, cluster: str, directory: Path) -> None:
        self.tokens = directory / "tokens.toml"
        self.tokens.write_text(TOKENS)
        self._directory = directory
        self._files = make_certificate(directory)
        cert, key = map(str, self._files)
        self.fanout = FanoutProcess(
            *(cluster, directory / "fanout.log", "--tokens", str(self.tokens)),
            *("--tls-cert", cert, "--tls-key", key),
        )
        self._loop = asyncio.new_event_loop()
        self._clients: list[Client] = []

    def connect(self, path: str, token: str | None = None) -> Client:
        client = Client(
            self._loop,
            self.fanout.url.replace("https:", "wss:") + path,
            ssl=self.trust(),
            additional_headers={"Authorization": f"Bearer {token}"} if token else {},
            subprotocols=["kafkaesque.v1"] if path.startswith("/v1") else None,
        )
        self._clients.append(client)
        return client

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._files[0])

    def renew(self) -> None:
        make_certificate(self._directory)

    def read_again(self) -> None:
        self.fanout.process.send_signal(signal.SIGHUP)

    def close(self) -> None:
        for client in self._clients:
            client.close()
        self._loop.close()
        self.fanout.stop()


@pytest.fixture(scope="module")
def edges(cluster: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edges]:
    edges = Edges(cluster, tmp_path_factory.mktemp("edges"))
    yield edges
    edges.close()


def ask(client: Client, answer: str) -> None:
    assert client.receive() == "what topic/key do you want?\n"
    client.send(answer)


def subscribe(client: Client, **wants: Any) -> dict[str, Any]:
    client.send(json.dumps({"type": "subscribe", "id": 1, **wants}))
    answer: dict[str, Any] = json.loads(client.receive())
    return answer


@pytest.mark.slow
def test_a_token_opens_the_topics_and_keys_it_names(edges: Edges, cluster: str) -> None:
    client = edges.connect("/v1", "some-of-it")
    assert subscribe(client, topic="ticks", prefix="eu-w")["type"] == "subscribed"
    producer = Producer({"bootstrap.servers": cluster, "log_level": 0})
    for key in ("us-west", "eu-west"):
        producer.produce("ticks", b"1", key=key)
    producer.flush(TIMEOUT_S)
    record = client.receive()
    assert isinstance(record, bytes)
    assert b"eu-west" in record
    for wants in ({"topic": "ticks"}, {"topic": "ticks", "key": "GOOG"}, {"topic": "payroll"}):
        assert subscribe(client, **wants)["type"] == "error"


def test_the_two_frame_protocol_asks_for_the_token_too(edges: Edges) -> None:
    client = edges.connect("/ws", "some-of-it")
    ask(client, "ticks/GOOG")
    assert client.refusal() == (1008, "this token may not read key 'GOOG'")


@pytest.mark.parametrize("token", [None, "none-of-it"])
def test_without_a_token_that_is_known_nobody_comes_in(edges: Edges, token: str | None) -> None:
    with pytest.raises(InvalidStatus) as caught:
        edges.connect("/ws", token)
    assert caught.value.response.status_code == 401


def test_what_exists_is_told_only_to_who_may_read_it(edges: Edges) -> None:
    reasons = []
    for topic in ("payroll", "absent"):
        client = edges.connect("/ws", "some-of-it")
        ask(client, f"{topic}/AMZN")
        reasons.append(client.refusal()[1].replace(topic, "TOPIC"))
    assert reasons == ["this token may not read topic 'TOPIC'"] * 2


def test_figures_that_name_topics_are_for_who_may_read_all(edges: Edges) -> None:
    for token, status in ((None, 401), ("some-of-it", 401), ("all-of-it", 200)):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        answer = httpx.get(
            f"{edges.fanout.url}/stats", headers=headers, verify=edges.trust(), timeout=60
        )
        assert answer.status_code == status
    health = httpx.get(f"{edges.fanout.url}/health", verify=edges.trust(), timeout=60)
    assert health.status_code == 200


def test_a_browser_names_its_token_in_the_first_message(edges: Edges) -> None:
    client = edges.connect("/v1")
    client.send(json.dumps({"type": "token", "token": "some-of-it"}))
    assert subscribe(client, topic="ticks", key="AMZN")["type"] == "subscribed"


def test_tls_and_tokens_hold_over_tcp(edges: Edges) -> None:
    host, _, port = edges.fanout.tcp.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as plain:
        client = edges.trust().wrap_socket(plain, server_hostname=host)
        for message in (
            {"type": "token", "token": "some-of-it"},
            {"type": "subscribe", "id": 1, "topic": "ticks", "key": "AMZN"},
        ):
            data = json.dumps(message).encode()
            client.sendall(len(data).to_bytes(4) + data)
        length = int.from_bytes(client.recv(4))
        assert json.loads(client.recv(length))["type"] == "subscribed"
        client.close()


def test_files_are_read_again_on_sighup(edges: Edges) -> None:
    keeps, loses = edges.connect("/v1", "all-of-it"), edges.connect("/v1", "some-of-it")
    with pytest.raises(InvalidStatus):
        edges.connect("/v1", "all-of-it")
    edges.tokens.write_text("[[token")
    edges.read_again()
    until(lambda: "is not TOML" in edges.fanout.log)
    edges.connect("/v1", "some-of-it")
    edges.tokens.write_text(TOKENS.replace("some-of-it", "new-token"))
    edges.renew()
    edges.read_again()
    assert loses.refusal()[0] == 1008
    edges.connect("/v1", "new-token")
    with pytest.raises(InvalidStatus):
        edges.connect("/v1", "some-of-it")
    assert subscribe(keeps, topic="payroll")["type"] == "subscribed"


def test_limits_and_origins(cluster: str, tmp_path: Path) -> None:
    options = ["--max-connections-per-address", "2", "--origin", "https://app.example.org"]

    async def statuses(url: str) -> list[int]:
        async with AsyncExitStack() as stack:
            return [
                await status(stack, url, Origin("https://evil.example")),
                await status(stack, url, Origin("https://app.example.org")),
                await status(stack, url),
                await refused_status(stack, url),
            ]

    with FanoutProcess(cluster, tmp_path / "fanout.log", *options) as fanout:
        url = fanout.url.replace("http:", "ws:") + "/v1"
        assert asyncio.run(statuses(url)) == [403, 101, 101, 503]


async def refused_status(stack: AsyncExitStack, url: str) -> int:
    """Refused before the request is read: the answer may get lost with the rest."""
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            try:
                return await status(stack, url)
            except (InvalidMessage, OSError):
                pass


async def status(stack: AsyncExitStack, url: str, origin: Origin | None = None) -> int:
    try:
        await stack.enter_async_context(connect(url, origin=origin))
    except InvalidStatus as refused:
        return refused.response.status_code
    return 101


def test_the_log_says_whom_it_asks_and_what_it_found(edges: Edges, cluster: str) -> None:
    assert "connecting to" in edges.fanout.log
    assert cluster in edges.fanout.log
    found = edges.fanout.log.partition("discovered topics: ")[2].partition("\n")[0]
    assert sorted(found.strip("{}").split(", ")) == ["'payroll'", "'ticks'"]
    assert edges.fanout.log.count("Traceback") == 0
