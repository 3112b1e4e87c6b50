"""Clients that know nothing of us: websockets, websocat and picows speak the sample's protocol,
curl reads Server-Sent Events."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import picows
import pytest
from confluent_kafka import Producer
from tests import foreign
from tests.broker_process import COMMAND
from tests.fanout_pair import FanoutPair, fanout_pair
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import ClientConnection, connect

pytestmark = pytest.mark.slow

GREETING = "what topic/key do you want?\n"
WEBSOCAT = COMMAND.with_name("websocat")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FanoutPair]:
    with fanout_pair(tmp_path_factory.mktemp("foreign")) as pair:
        yield pair
        assert "Traceback" not in pair.fanout.log


@pytest.fixture
def topic(pair: FanoutPair) -> str:
    foreign.until(lambda: pair.stats()["subscriptions"] == 0)
    return pair.topic()


def write(
    pair: FanoutPair, topic: str, records: Sequence[tuple[bytes | None, bytes | None]]
) -> None:
    """To the one who has subscribed, once it has."""
    foreign.until(lambda: pair.stats()["subscriptions"] == 1)
    producer = Producer({"bootstrap.servers": pair.broker.bootstrap, "log_level": 0})
    for key, value in records:
        producer.produce(topic, value, key)
    assert producer.flush(foreign.TIMEOUT_S) == 0


@contextmanager
def answered(pair: FanoutPair, answer: Any) -> Iterator[ClientConnection]:
    with connect(f"ws://{pair.web}/ws", open_timeout=60) as connection:
        assert connection.recv(foreign.TIMEOUT_S) == GREETING
        connection.send(answer)
        yield connection


def received(connection: ClientConnection, count: int) -> list[tuple[str | bytes, str | bytes]]:
    """So many matches: two messages each."""
    return [
        (connection.recv(foreign.TIMEOUT_S), connection.recv(foreign.TIMEOUT_S))
        for _ in range(count)
    ]


KEYS = (b"dave", b"max", None, b"", b"a", b"a/b", b"a/b/c", b"/", b"*", b"**", b"\xff\x00")


@pytest.mark.parametrize(
    ("asked", "keys"),
    [
        (b"dave", [b"dave"]),
        (b"a/b", [b"a/b"]),
        (b"a/b/c", [b"a/b/c"]),
        (b"/", [b"/"]),
        (b"", [b""]),
        (b"\xff\x00", [b"\xff\x00"]),
        (b"**", [b"**"]),
        (b"*", [key or b"" for key in KEYS]),
    ],
)
def test_the_answer_is_split_at_the_first_slash(
    pair: FanoutPair, topic: str, asked: bytes, keys: list[bytes]
) -> None:
    """A null key comes as an empty message and is matched by * alone, not by the empty key."""
    with answered(pair, topic.encode() + b"/" + asked) as connection:
        write(pair, topic, [(key, b"of %r" % key) for key in KEYS])
        expected = [(key or b"", b"of %r" % key) for key in KEYS if asked == b"*" or key == asked]
        assert [key for key, _ in expected] == keys
        assert received(connection, len(keys)) == expected
        with pytest.raises(TimeoutError):
            connection.recv(0.05)


@pytest.mark.parametrize("form", ["text", "binary", "typed", "in pieces"])
def test_an_answer_may_come_in_any_form(pair: FanoutPair, topic: str, form: str) -> None:
    text = f"{topic}/dave"
    answer = {
        "text": text,
        "binary": text.encode(),
        "typed": f"{text}\n",
        "in pieces": [text[:3], text[3:9], text[9:]],
    }[form]
    with answered(pair, answer) as connection:
        write(pair, topic, [(b"max", b"no"), (b"dave", b"Hey, Dave"), (b"dave", None)])
        assert received(connection, 2) == [(b"dave", b"Hey, Dave"), (b"dave", b"")]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("incoming", "answer with topic/key"),
        (b"incoming", "answer with topic/key"),
        ("", "answer with topic/key"),
        ("/dave", "answer with topic/key"),
        ("nothing/dave", "there is no topic 'nothing'"),
        ("nothing/*", "there is no topic 'nothing'"),
    ],
)
def test_an_answer_that_cannot_be_served_is_refused_with_the_reason(
    pair: FanoutPair, answer: str | bytes, reason: str
) -> None:
    with answered(pair, answer) as connection, pytest.raises(ConnectionClosedError) as closed:
        connection.recv(foreign.TIMEOUT_S)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1008
    assert reason in closed.value.rcvd.reason


def test_a_second_answer_is_refused(pair: FanoutPair, topic: str) -> None:
    with answered(pair, f"{topic}/dave") as connection:
        connection.send(f"{topic}/max")
        with pytest.raises(ConnectionClosedError, match="1008"):
            connection.recv(foreign.TIMEOUT_S)


@pytest.mark.parametrize("how", ["typed", "typed and ended", "binary"])
def test_websocat_speaks_the_samples_protocol(pair: FanoutPair, topic: str, how: str) -> None:
    """What is typed it sends as a text message with its newline; it writes a message a line."""
    options = {"typed": [], "typed and ended": ["--no-close"], "binary": ["-b"]}[how]
    with running(str(WEBSOCAT), *options, f"ws://{pair.web}/ws") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{topic}/dave".encode() + (b"" if how == "binary" else b"\n"))
        process.stdin.flush()
        if how == "typed and ended":
            process.stdin.close()
        write(pair, topic, [(b"max", b"no"), (b"dave", b"Hey, Dave"), (b"dave", b"again")])
        end = b"" if how == "binary" else b"\n"
        expected = GREETING.encode() + end.join([b"dave", b"Hey, Dave", b"dave", b"again", b""])
        assert process.stdout.read(len(expected)) == expected


def test_websocat_speaks_v1_in_json(pair: FanoutPair, topic: str) -> None:
    request = {"type": "subscribe", "id": 1, "topic": topic, "prefix": "da", "encoding": "json"}
    command = (str(WEBSOCAT), "--protocol", "kafkaesque.v1", f"ws://{pair.web}/v1")
    with running(*command) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["type"] == "subscribed"
        write(pair, topic, [(b"max", b"no"), (b"dave", b"Hey, Dave")])
        event = json.loads(process.stdout.readline())
    assert (event["type"], event["key"], event["value"]) == ("event", "dave", "Hey, Dave")


class Pico(picows.WSListener):
    """Answers the greeting, and keeps what comes after it."""

    def __init__(self, answer: bytes, count: int) -> None:
        self.messages: list[bytes] = []
        self.is_done = asyncio.Event()
        self._answer = answer
        self._count = count

    def on_ws_frame(self, transport: picows.WSTransport, frame: picows.WSFrame) -> None:
        if frame.msg_type == picows.WSMsgType.TEXT:
            assert frame.get_payload_as_utf8_text() == GREETING
            transport.send(picows.WSMsgType.BINARY, self._answer)
        elif frame.msg_type == picows.WSMsgType.BINARY:
            self.messages.append(frame.get_payload_as_bytes())
        if len(self.messages) == self._count:
            self.is_done.set()


def test_picows_speaks_the_samples_protocol(pair: FanoutPair, topic: str) -> None:
    async def program() -> list[bytes]:
        listener = Pico(f"{topic}/dave".encode(), count=4)
        transport, _ = await picows.ws_connect(lambda: listener, f"ws://{pair.web}/ws")
        await asyncio.to_thread(write, pair, topic, [(b"dave", b"Hey"), (b"dave", None)])
        async with asyncio.timeout(foreign.TIMEOUT_S):
            await listener.is_done.wait()
        transport.send_close(picows.WSCloseCode.OK)
        await transport.wait_disconnected()
        return listener.messages

    assert asyncio.run(program()) == [b"dave", b"Hey", b"dave", b""]


def test_curl_reads_server_sent_events(pair: FanoutPair, topic: str) -> None:
    address = f"{pair.fanout.url}/sse?topic={topic}&key=dave&key=max"
    with running(curl(), "-sN", address) as process:
        assert next_event(process) == {"retry": "2000"}
        subscribed = {"id": "0:0", "event": "subscribed", "data": {"topics": [topic]}}
        assert next_event(process) == subscribed
        write(pair, topic, [(b"dave", b"Hey"), (b"eve", b"no"), (b"max", b"\xff"), (b"dave", None)])
        told = [next_event(process) for _ in range(3)]
    assert [(each["id"], each["data"]["key"], each["data"]["value"]) for each in told] == [
        ("0:1", "dave", "Hey"),
        ("0:3", "max", {"base64": "/w=="}),
        ("0:4", "dave", None),
    ]


def test_curl_comes_back_with_the_last_id(pair: FanoutPair) -> None:
    topic = pair.topic()
    pair.write(topic, [("dave", str(number)) for number in range(5)])
    address = f"{pair.fanout.url}/sse?topic={topic}&from=earliest"
    with running(curl(), "-sN", "-H", "Last-Event-ID: 0:3", address) as process:
        told = [next_event(process) for _ in range(4)]
    assert [each["data"]["value"] for each in told[2:]] == ["3", "4"]


def test_curl_is_refused_with_a_status_and_the_reason(pair: FanoutPair) -> None:
    topic = pair.topic()
    for query, status, reason in (
        ("topic=nothing", "404", "there is no topic 'nothing'"),
        ("key=dave", "400", "say which topic"),
        (f"topic={topic}&where=value.price+%3E", "400", "where: "),
        (f"topic={topic}&kee=dave", "400", "there is no parameter 'kee'"),
        (f"topic={topic}&from=0:99", "404", "begin anew"),
    ):
        address = f"{pair.fanout.url}/sse?{query}"
        done = subprocess.run(
            [curl(), "-s", "-w", "%{http_code}", address],
            capture_output=True,
            text=True,
            timeout=foreign.TIMEOUT_S,
            check=True,
        )
        assert done.stdout.endswith(status), done.stdout
        assert reason in done.stdout


def curl() -> str:
    found = shutil.which("curl")
    if found is None:
        pytest.skip("there is no `curl` command: install it")
    return found


@contextmanager
def running(*command: str) -> Iterator["subprocess.Popen[bytes]"]:
    if not Path(command[0]).exists():
        pytest.skip(f"there is no {command[0]}: run `make venv`")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def next_event(process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    """The fields of one message of a stream."""
    assert process.stdout is not None
    fields: dict[str, Any] = {}
    while line := process.stdout.readline().decode().rstrip("\n"):
        name, _, value = line.partition(": ")
        fields[name] = json.loads(value) if name == "data" else value
    return fields
