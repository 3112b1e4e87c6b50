"""Clients that break the rules: each is closed alone, with the reason, and memory stays bounded.

A well-behaved client is there all the time, and gets every record.
"""

import json
import os
import signal
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests import foreign
from tests.fanout_pair import FanoutPair, fanout_pair
from websockets.sync.client import ClientConnection, connect

from kafkaesque.client.v1 import decode_event
from kafkaesque.gateway.fanout.websocket import frame_head

pytestmark = pytest.mark.slow

SHAKE = (
    b"GET /%s HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
HALVES = (b"", b"GET /v1 HTTP/1.1\r\nHos", SHAKE % b"ws", SHAKE % b"v1")
MAX_GROWTH_BYTES = 30 << 20
FETCH_BYTES = 1 << 20
"""What one fetch may bring of one partition."""


class Steady:
    """Somebody who keeps to the rules."""

    def __init__(self, pair: FanoutPair, topic: str, connection: ClientConnection) -> None:
        self._pair = pair
        self.topic = topic
        self._connection = connection
        self._connection.send(json.dumps({"type": "subscribe", "id": 1, "topic": self.topic}))
        assert '"subscribed"' in str(self._connection.recv(foreign.TIMEOUT_S))
        self._sent = 0

    def check(self) -> None:
        """What is written now comes."""
        self._pair.write(self.topic, [("k", str(self._sent))])
        message = self._connection.recv(foreign.TIMEOUT_S)
        assert isinstance(message, bytes)
        _, event = decode_event(message)
        assert event.value == str(self._sent).encode()
        self._sent += 1


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FanoutPair]:
    with fanout_pair(tmp_path_factory.mktemp("hostile"), "--buffer", "20") as pair:
        yield pair
        assert "Traceback" not in pair.fanout.log


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FanoutPair]:
    """One that waits for nobody. On a busy machine fifty clients are not there so soon."""
    options = ("--handshake-timeout", "1", "--ping-interval", "1")
    with fanout_pair(tmp_path_factory.mktemp("hasty"), *options) as pair:
        yield pair
        assert "Traceback" not in pair.fanout.log


@pytest.fixture(scope="module")
def topic(pair: FanoutPair) -> str:
    return pair.topic()


@contextmanager
def well_behaved(pair: FanoutPair, topic: str) -> Iterator[Steady]:
    with connect(f"ws://{pair.web}/v1", compression=None, open_timeout=60) as connection:
        steady = Steady(pair, topic, connection)
        yield steady
        steady.check()
    foreign.until(lambda: pair.stats()["connections"] == 0)


@pytest.fixture
def steady(pair: FanoutPair, topic: str) -> Iterator[Steady]:
    with well_behaved(pair, topic) as client:
        yield client


@pytest.fixture
def prompt(hasty: FanoutPair) -> Iterator[Steady]:
    with well_behaved(hasty, hasty.topic()) as client:
        yield client


def dial(address: str) -> socket.socket:
    host, _, port = address.partition(":")
    return socket.create_connection((host, int(port)), foreign.TIMEOUT_S)


def shaken(pair: FanoutPair, path: str) -> socket.socket:
    """A WebSocket by hand, its handshake done."""
    connection = dial(pair.web)
    connection.sendall(SHAKE % path.encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += connection.recv(1)
    assert head.startswith(b"HTTP/1.1 101 ")
    return connection


def ended(connection: socket.socket) -> bytes:
    """All that comes until the server has closed."""
    received = b""
    try:
        while data := connection.recv(65536):
            received += data
    except ConnectionError:
        pass
    return received


def close_frame(received: bytes) -> tuple[int, str]:
    """The code and reason of the close that it ends with."""
    at = received.rindex(b"\x88")
    length = received[at + 1]
    assert len(received) == at + 2 + length
    return struct.unpack(">H", received[at + 2 : at + 4])[0], received[at + 4 :].decode()


def masked(first: int, payload: bytes) -> bytes:
    """A frame as a client sends it; the mask is zero, which leaves bytes as they are."""
    head = frame_head(first & 0x0F, len(payload))
    return bytes((first, head[1] | 0x80)) + head[2:] + bytes(4) + payload


@pytest.mark.parametrize("path", ["ws", "v1"])
@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\x81\x05Hello", 1002),
        (b"\xf1\x80mask", 1002),
        (b"\x87\x80mask", 1002),
        (b"\x89\xfe\x01\x00", 1002),
        (masked(0x80, b"x"), 1002),
        (masked(0x81, b"\xff"), 1007),
        (b"\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff", 1009),
        (masked(0x82, bytes(65_537)), 1009),
        (masked(0x02, bytes(60_000)) * 2, 1009),
    ],
)
def test_frames_that_are_wrong_close_their_client(
    pair: FanoutPair, steady: Steady, path: str, data: bytes, code: int
) -> None:
    with shaken(pair, path) as connection:
        connection.sendall(data)
        assert close_frame(ended(connection))[0] == code
    steady.check()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"incoming", "topic/key"),
        (b"/key", "topic/key"),
        (b"\xff/key", "topic/key"),
        (b"nothing/key", "there is no topic 'nothing'"),
        (b"x" * 60_000 + b"/key", "there is no topic"),
    ],
)
def test_answers_that_cannot_be_served_close_with_1008(
    pair: FanoutPair, steady: Steady, answer: bytes, reason: str
) -> None:
    with shaken(pair, "ws") as connection:
        connection.sendall(masked(0x82, answer))
        code, said = close_frame(ended(connection))
    assert code == 1008
    assert reason in said


@pytest.mark.parametrize(
    "head",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET /ws HTTP/1.1\r\nHost: x\r\n\r\n",
        b"BREW /pot HTTP/1.1\r\n\r\n",
        b"GET /" + b"a" * 20_000,
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n",
        (SHAKE % b"v1").replace(b"13", b"99"),
    ],
)
def test_heads_that_are_wrong_are_answered_and_closed(
    pair: FanoutPair, steady: Steady, head: bytes
) -> None:
    with dial(pair.web) as connection:
        connection.sendall(head)
        received = ended(connection)
    assert received.startswith(b"HTTP/1.1 4")
    assert b"Connection: close\r\n" in received


def test_half_a_handshake_is_not_waited_for(hasty: FanoutPair, prompt: Steady) -> None:
    """Also that which comes a byte at a time, and that which never says what it wants."""
    start = time.monotonic()
    with ExitStack() as stack:
        connections = [stack.enter_context(dial(hasty.web)) for _ in HALVES]
        for connection, half in zip(connections, HALVES, strict=True):
            for byte in half:
                connection.sendall(bytes((byte,)))
        for connection in connections:
            ended(connection)
    assert time.monotonic() - start > 0.5


def test_who_answers_no_ping_is_closed(hasty: FanoutPair, prompt: Steady) -> None:
    with shaken(hasty, "ws") as connection:
        connection.sendall(masked(0x82, f"{prompt.topic}/x".encode()))
        code, _ = close_frame(ended(connection))
    assert code == 1011


def test_who_was_not_asked_while_the_server_stood_still_is_not_closed(
    hasty: FanoutPair, prompt: Steady
) -> None:
    hasty.fanout.process.send_signal(signal.SIGSTOP)
    time.sleep(3)
    hasty.fanout.process.send_signal(signal.SIGCONT)
    time.sleep(1.5)
    prompt.check()


@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.1\r\n\r\n", b"\xff\xff\xff\xff", b"\x00\x01\x00\x01"]
)
def test_tcp_that_is_no_v1_is_closed_with_the_reason(
    pair: FanoutPair, steady: Steady, data: bytes
) -> None:
    with dial(pair.fanout.tcp) as connection:
        connection.sendall(data)
        received = ended(connection)
    assert json.loads(received[4:])["type"] == "closing"
    assert "65536 is the most" in json.loads(received[4:])["reason"]


def test_requests_that_are_nonsense_are_answered_each(pair: FanoutPair, steady: Steady) -> None:
    with connect(f"ws://{pair.web}/v1", open_timeout=60) as connection:
        nonsense = ["", "{", "[]", "null", '{"type":"x"}', '{"type":"subscribe"}', "[" * 60_000]
        for text in nonsense:
            connection.send(text)
            assert json.loads(connection.recv(foreign.TIMEOUT_S))["type"] == "error"
        connection.send('{"type":"ping"}')
        assert connection.recv(foreign.TIMEOUT_S) == '{"type":"pong"}'


def test_who_asks_too_often_is_closed(pair: FanoutPair, steady: Steady) -> None:
    with shaken(pair, "v1") as connection:
        connection.sendall(masked(0x81, b'{"type":"ping"}') * 5000)
        # A close with bytes unread is a reset, which may overtake the reason.
        assert ended(connection).count(b"pong") < 5000


def test_clients_that_do_not_read_take_no_memory(pair: FanoutPair, steady: Steady) -> None:
    """Fifty of them, with 20 MB for each: a socket holds what one fetch brought, and no more."""
    pid = pair.fanout.process.pid
    topic = pair.topic()
    with ExitStack() as stack:
        for _ in range(50):
            connection = stack.enter_context(shaken(pair, "v1"))
            request = json.dumps({"type": "subscribe", "id": 1, "topic": topic}).encode()
            connection.sendall(masked(0x81, request))
        foreign.until(lambda: pair.stats()["subscriptions"] == 51)
        before = rss_bytes(pid)
        for _ in range(20):
            pair.write(topic, [("k", "v" * 50_000)] * 20)
            steady.check()
        foreign.until(lambda: pair.stats()["dropped"] > 0)
        assert rss_bytes(pid) - before < MAX_GROWTH_BYTES + 50 * FETCH_BYTES


def test_bytes_that_trickle_in_take_no_memory(pair: FanoutPair, steady: Steady) -> None:
    """A hundred clients that announce the most and send it but for the last byte."""
    pid, before = pair.fanout.process.pid, rss_bytes(pair.fanout.process.pid)
    frame = masked(0x81, b"x" * 65_536)
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(shaken(pair, "v1")).sendall(frame[:-1])
        steady.check()
        assert rss_bytes(pid) - before < MAX_GROWTH_BYTES


def rss_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
