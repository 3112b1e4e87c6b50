"""What a client of each protocol sends before it gets messages: steps for the drainer.

A step is bytes to send and bytes to wait for. A WebSocket frame of a client must be masked; all of
these have the mask 0, which changes nothing, so that one can read them.
Above: servers/. Below: drainer.py makes a script of them, for drain.c.
"""

import json
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from benchmarks.fanout.load import key

TEXT, BINARY = 0x81, 0x82
_MASKED = 0x80
_NO_MASK = bytes(4)


class Step(NamedTuple):
    send: bytes
    until: bytes = b""


class Scripted(NamedTuple):
    """One connection: the number of its key, and its steps."""

    number: int
    steps: Sequence[Step]


def upgrade(path: str, port: int, *headers: str) -> Step:
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        *headers,
    ]
    return Step("\r\n".join([*lines, "", ""]).encode(), b"\r\n\r\n")


def frame(opcode: int, payload: bytes) -> bytes:
    size = len(payload)
    if size < 126:
        head = bytes((opcode, _MASKED | size))
    else:
        head = bytes((opcode, _MASKED | 126)) + struct.pack(">H", size)
    return head + _NO_MASK + payload


def sample(topic: str, number: int, port: int) -> list[Step]:
    """It is asked, and answers; that the answer was taken is not said."""
    asked = Step(b"", b"what topic/key do you want?\n")
    return [upgrade("/ws", port), asked, Step(frame(BINARY, f"{topic}/{key(number)}".encode()))]


def _subscribe(topic: str, number: int) -> bytes:
    return json.dumps(
        {"type": "subscribe", "id": 1, "topic": topic, "key": key(number)}, separators=(",", ":")
    ).encode()


def v1(topic: str, number: int, port: int) -> list[Step]:
    opening = upgrade("/v1", port, "Sec-WebSocket-Protocol: kafkaesque.v1")
    return [opening, Step(frame(TEXT, _subscribe(topic, number)), b'"subscribed"')]


def tcp(topic: str, number: int, port: int) -> list[Step]:
    data = _subscribe(topic, number)
    return [Step(struct.pack(">I", len(data)) + data, b'"subscribed"')]


def sse(topic: str, number: int, port: int) -> list[Step]:
    target = f"/sse?topic={topic}&key={key(number)}"
    head = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/event-stream\r\n\r\n"
    return [Step(head.encode(), b"\r\n\r\n")]


def nats(topic: str, number: int, port: int) -> list[Step]:
    """The PONG comes after the subscription."""
    told = b'CONNECT {"verbose":false,"pedantic":false,"protocol":1}\r\n'
    wanted = f"SUB {topic}.{key(number)} 1\r\nPING\r\n".encode()
    return [upgrade("/", port), Step(b"", b"INFO "), Step(frame(TEXT, told + wanted), b"PONG\r\n")]


def nchan(topic: str, number: int, port: int) -> list[Step]:
    return [upgrade(f"/sub?id={topic}.{key(number)}", port)]


def script(clients: Iterable[Scripted]) -> bytes:
    """As drain.c reads it."""
    parts, count = [], 0
    for client in clients:
        count += 1
        parts.append(struct.pack("=II", client.number, len(client.steps)))
        for step in client.steps:
            parts += (struct.pack("=I", len(data)) + data for data in step)
    return struct.pack("=I", count) + b"".join(parts)
