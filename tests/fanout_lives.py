"""Subscribers that come and go, stall, are cut off and resume; and what each of them should get.

A `Life` is one subscription from its first `subscribed` to its `unsubscribed`, however often its
connection was lost in between: it then resumes from the position that it kept for itself. What it
got, and what it was told that it missed, are held against `Log`: all records as a plain consumer
reads them, filtered by a plain function.
"""

import asyncio
import json
import socket
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from confluent_kafka import Message
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from kafkaesque.client.v1 import decode_event

Place = tuple[int, int]
"""Partition and offset."""


@dataclass(frozen=True)
class Wish:
    """A filter as it is asked for, and what it means."""

    request: dict[str, Any]
    matches: Callable[[Message], bool]


@dataclass
class Life:
    wish: Wish
    topic: str
    policy: str
    start: dict[int, int] = field(default_factory=dict)
    position: dict[int, int] = field(default_factory=dict)
    end: dict[int, int] | None = None
    delivered: list[Place] = field(default_factory=list)
    gaps: list[tuple[int, int, int]] = field(default_factory=list)
    missed: int = 0
    connections: int = 0

    @property
    def request(self) -> str:
        resumed = {str(partition): offset for partition, offset in self.position.items()}
        where = {"from": resumed} if self.connections else {}
        return json.dumps(
            {
                "type": "subscribe",
                "id": 1,
                "topic": self.topic,
                "policy": self.policy,
                "buffer": 50,
                **self.wish.request,
                **where,
            }
        )

    def take(self, message: str | bytes) -> str | None:
        """One message of the server; its type, if it was none of the events."""
        if isinstance(message, bytes):
            _, event = decode_event(message)
            self.delivered.append((event.partition, event.offset))
            self.position[event.partition] = event.offset + 1
            return None
        fields = json.loads(message)
        kind: str = fields["type"]
        if kind == "subscribed" and not self.connections:
            self.start = {int(p): offset for p, offset in fields["position"].items()}
            self.position = dict(self.start)
        elif kind == "gap":
            for partition, first, last in fields["ranges"]:
                self.gaps.append((partition, first, last))
                self.position[partition] = max(self.position.get(partition, 0), last + 1)
            self.missed += fields["missed"] or 0
        elif kind == "unsubscribed":
            self.end = {int(p): offset for p, offset in fields["position"].items()}
        elif kind == "error":
            raise AssertionError(fields["message"])
        self.connections += kind == "subscribed"
        return kind

    def check(self, log: Mapping[Place, Message]) -> None:
        """Delivered and missed are together what matches between start and end, each once."""
        assert self.end is not None
        wanted = {
            place
            for place, message in log.items()
            if self.start.get(place[0], 0) <= place[1] < self.end.get(place[0], 0)
            and self.wish.matches(message)
        }
        missed = {
            (partition, offset)
            for partition, offset in wanted
            if any(p == partition and low <= offset <= high for p, low, high in self.gaps)
        }
        delivered = set(self.delivered)
        about = f"{self.wish.request} {self.policy} after {self.connections} connections"
        assert len(delivered) == len(self.delivered), f"something came twice: {about}"
        assert not delivered & missed, f"reported as missed, and delivered: {about}"
        assert delivered | missed == wanted, (
            f"{about}: without {sorted(wanted - delivered - missed)[:5]}, "
            f"too much {sorted(delivered - wanted)[:5]}"
        )
        if self.policy == "pause":
            assert not missed, about
        else:
            assert self.missed == len(missed), about
        order: dict[int, int] = defaultdict(lambda: -1)
        for partition, offset in self.delivered:
            assert order[partition] < offset, about
            order[partition] = offset


async def live(life: Life, uri: str, random: Random, over: asyncio.Event, ends: bool) -> None:
    """Until `over`, or for a while if it `ends` before; then unsubscribe properly."""
    rounds = random.randint(1, 6) if ends else 10_000
    for _ in range(rounds):
        if over.is_set():
            break
        await _connect(life, uri, random, over)
    while life.end is None:
        await _connect(life, uri, random, over, leaves=True)


async def _connect(
    life: Life, uri: str, random: Random, over: asyncio.Event, leaves: bool = False
) -> None:
    """One connection: it reads, it stalls, and then it is cut off, or leaves."""
    try:
        async with connect(
            uri, max_queue=4, compression=None, sock=small_socket(uri), open_timeout=60
        ) as connection:
            await connection.send(life.request)
            if leaves:
                await connection.send('{"type":"unsubscribe","id":1}')
                await _read(life, connection, until="unsubscribed")
                return
            for _ in range(random.randint(1, 3)):
                await _read_for(life, connection, random.uniform(0.1, 2.0), over)
                if random.random() < 0.5:
                    await asyncio.sleep(random.uniform(0.1, 1.5))
            # Cut off, with whatever was on its way.
            connection.transport.abort()
    except (ConnectionClosed, OSError):
        await asyncio.sleep(0.05)


async def _read_for(
    life: Life, connection: ClientConnection, seconds: float, over: asyncio.Event
) -> None:
    try:
        async with asyncio.timeout(seconds):
            while not over.is_set():
                life.take(await connection.recv())
    except TimeoutError:
        pass


async def _read(life: Life, connection: ClientConnection, until: str) -> None:
    async with asyncio.timeout(60):
        while life.take(await connection.recv()) != until:
            pass


def small_socket(uri: str) -> socket.socket:
    """So that the server soon sees who does not read."""
    host, _, port = uri.split("/")[2].partition(":")
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect((host, int(port)))
    client.setblocking(False)
    return client
