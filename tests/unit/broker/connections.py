"""Connections without sockets: bytes in by hand, and a transport that says what it was given.

`Client` is the far side of one connection. What it is sent stays in the transport, as with a client
that does not read, until `read` takes it.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.wire.client import Dialogue

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.config import BrokerConfig, Listener
from kafkaesque.broker.connection import Connection
from kafkaesque.broker.server import wall_clock
from kafkaesque.broker.turn import Turn

LISTENER = Listener("127.0.0.1", 9092)


async def memory_broker(settings: Mapping[str, str] | None = None) -> Broker:
    """Its turns are endless: how busy the machine is decides nothing."""
    broker = await Broker.open(BrokerConfig.of([LISTENER], None, settings or {}), wall_clock)
    broker.turn = EndlessTurn()
    return broker


class EndlessTurn(Turn):
    def is_spent(self, began: float, now: float, nbytes: int = 0, *, is_whole: bool = True) -> bool:
        return False


class Wire(asyncio.Transport):
    """A socket whose kernel buffer takes `room` bytes, and no more until they are read."""

    def __init__(self, peer: str, room: int) -> None:
        super().__init__()
        self._peer = peer
        self.room = room
        self._high = 64 * 1024
        self._unsent: deque[memoryview] = deque()
        self._unsent_size = 0
        self._is_paused = False
        self.protocol: Connection
        self.on_resume: Callable[[], None] = lambda: None
        self.sent: list[memoryview] = []
        self._sent_size = 0
        self.reads = True
        self.is_closed = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return (self._peer, 9999) if name in ("peername", "sockname") else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = high or 0
        self._drain()

    def get_write_buffer_size(self) -> int:
        return self._unsent_size

    def is_closing(self) -> bool:
        return self.is_closed

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True
        asyncio.get_running_loop().call_soon(self.on_resume)

    def write(self, data: Any) -> None:
        self.writelines([data])

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        for data in list_of_data:
            self._unsent.append(memoryview(data).cast("B"))
            self._unsent_size += len(data)
        self._drain()

    def _drain(self) -> None:
        while self._unsent and self._sent_size < self.room:
            data = self._unsent.popleft()
            count = min(self.room - self._sent_size, len(data))
            self.sent.append(data[:count])
            self._sent_size += count
            self._unsent_size -= count
            if count < len(data):
                self._unsent.appendleft(data[count:])
        if self._unsent_size > self._high and not self._is_paused:
            self._is_paused = True
            self.protocol.pause_writing()
        elif not self._unsent_size and self._is_paused:
            self._is_paused = False
            self.protocol.resume_writing()

    def take(self) -> bytes:
        taken, self.sent, self._sent_size = b"".join(self.sent), [], 0
        self._drain()
        return taken

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            asyncio.get_running_loop().call_soon(self.protocol.connection_lost, None)

    abort = close


class Client:
    """One connection's far side."""

    def __init__(self, broker: Broker, *, peer: str = "10.0.0.1", room: int = 1 << 40) -> None:
        self.wire = Wire(peer, room)
        self.connection = self.wire.protocol = Connection(broker, LISTENER, set())
        self.connection.connection_made(self.wire)
        self._dialogue = Dialogue()
        self._received = bytearray()
        self._network = bytearray()
        self.rest = b""
        self.wire.on_resume = self.flush

    def frame(self, request: object, version: int) -> bytes:
        return self._dialogue.request(request, version)

    def send(self, request: object, version: int) -> None:
        """What the broker does not read at once waits in the network."""
        self.queue(request, version)
        self.flush()

    def queue(self, request: object, version: int) -> None:
        self.queue_bytes(self.frame(request, version))

    def queue_bytes(self, data: bytes) -> None:
        self._network += data

    def finish_frame(self) -> None:
        """Send what was left of half a frame."""
        self._network += self.rest
        self.rest = b""

    def flush(self) -> None:
        taken = self.send_bytes(bytes(self._network))
        del self._network[:taken]

    def send_bytes(self, data: bytes) -> int:
        """How many of the bytes were taken before reading was paused."""
        taken = 0
        while taken < len(data) and self.wire.reads and not self.wire.is_closed:
            buffer = self.connection.get_buffer(-1)
            count = min(len(buffer), len(data) - taken)
            buffer[:count] = data[taken : taken + count]
            self.connection.buffer_updated(count)
            taken += count
        return taken

    def answers(self) -> list[Any]:
        """The whole responses that have arrived."""
        self._received += self.wire.take()
        found = []
        while len(self._received) >= 4:
            size = int.from_bytes(self._received[:4])
            if len(self._received) < 4 + size:
                break
            found.append(self._dialogue.response(bytes(self._received[4 : 4 + size])))
            del self._received[: 4 + size]
        return found

    async def call(self, request: object, version: int) -> Any:
        self.send(request, version)
        while not (found := self.answers()):
            await asyncio.sleep(0)
        (answer,) = found
        return answer

    def cut(self) -> None:
        """The network is gone."""
        if not self.wire.is_closed:
            self.wire.is_closed = True
            self.connection.connection_lost(None)
