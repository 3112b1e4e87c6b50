"""Connections in memory: bytes arrive late, in pieces of any size, in order, or not at all.

`Network.listen` is what the broker's server ends in; `Network.connect` gives a client the other
end. A transport keeps to what asyncio promises a protocol: nothing arrives while reading is paused,
`pause_writing` and `resume_writing` come as the limits say, `connection_lost` comes once.
Once the network is down (the machine is off), nothing moves any more.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any, cast

from tests.wire.client import Dialogue

_SIZE_BYTES = 4
_WHOLE, _PIECES = 0.8, 3
_GAP_SECONDS = 0.000001
_HELD_SECONDS = 0.05


class Listening:
    """What stands for asyncio's Server: a socket that has a port, and can be closed."""

    def __init__(self) -> None:
        self.is_closed = False
        self.sockets = [self]

    def getsockname(self) -> tuple[str, int]:
        return ("127.0.0.1", 9092)

    def close(self) -> None:
        self.is_closed = True


class Network:
    """All connections of one life of the broker."""

    def __init__(self, seed: str) -> None:
        self.is_down = False
        self.is_held = False
        """Whether reads wait for `read_held`, or for a moment."""
        self.meanwhile: Callable[[], None] = lambda: None
        """What another thread does between the two halves of a read."""
        self._held: list[SimulatedTransport] = []
        self._seed = seed
        self._factory: Callable[[], asyncio.BaseProtocol] | None = None
        self._listening: Listening | None = None

    def listen(self, factory: Callable[[], asyncio.BaseProtocol]) -> Listening:
        self._factory = factory
        self._listening = Listening()
        return self._listening

    def hold(self, transport: "SimulatedTransport") -> None:
        self._held.append(transport)

    def read_held(self) -> None:
        held, self._held = self._held, []
        for transport in held:
            transport.read()

    def connect(self, name: str, client_id: str) -> "Client":
        if self._factory is None or self._listening is None or self._listening.is_closed:
            raise ConnectionRefusedError("nobody listens")
        protocol = cast(asyncio.BufferedProtocol, self._factory())
        transport = SimulatedTransport(self, protocol, Random(f"{self._seed} {name}"))
        client = Client(transport, client_id)
        transport.client = client
        protocol.connection_made(transport)
        return client


class SimulatedTransport(asyncio.Transport):
    """The broker's end of a connection."""

    client: "Client"

    def __init__(
        self, network: Network, protocol: asyncio.BufferedProtocol, random: Random
    ) -> None:
        super().__init__()
        self._network = network
        self._protocol = protocol
        self._random = random
        self._loop = asyncio.get_running_loop()
        self._incoming: deque[bytes] = deque()
        self._is_reading = True
        self._is_closing = False
        self._is_lost = False
        self._unsent = 0
        self._high = 64 << 10
        self._is_full = False
        self._last_in = self._last_out = 0.0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name in ("peername", "sockname") else default

    def _later(self, last: float) -> float:
        """When the next bytes arrive: never before those that were sent earlier."""
        draw = self._random.random()
        delay = 0.0001 + draw * (0.002 if draw < 0.9 else 0.05)
        return max(last + _GAP_SECONDS, self._loop.time() + delay)

    # From the client to the broker.

    def send(self, data: bytes) -> None:
        for piece in self._pieces(data):
            self._last_in = self._later(self._last_in)
            self._loop.call_at(self._last_in, self._arrive, piece)

    def _pieces(self, data: bytes) -> list[bytes]:
        if self._random.random() < _WHOLE or len(data) < 2:
            return [data]
        cuts = sorted(self._random.randrange(1, len(data)) for _ in range(_PIECES - 1))
        edges = [0, *cuts, len(data)]
        return [data[a:b] for a, b in pairwise(edges) if a < b]

    def _arrive(self, data: bytes) -> None:
        self._incoming.append(data)
        if self._network.is_held:
            self._network.hold(self)
            self._loop.call_later(_HELD_SECONDS, self.read)
        else:
            self.read()

    def read(self) -> None:
        while self._incoming and self._is_reading and not self._is_lost and not self._is_down:
            if self._is_closing:
                return
            data = self._incoming.popleft()
            buffer = memoryview(self._protocol.get_buffer(-1))
            size = min(len(data), len(buffer))
            buffer[:size] = data[:size]
            if size < len(data):
                self._incoming.appendleft(data[size:])
            self._network.meanwhile()
            self._protocol.buffer_updated(size)

    @property
    def _is_down(self) -> bool:
        return self._network.is_down

    def hang_up(self) -> None:
        """The client has gone."""
        self._loop.call_at(self._later(self._last_in), self._lose)

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        if not self._is_reading:
            self._is_reading = True
            self._loop.call_soon(self.read)

    def is_reading(self) -> bool:
        return self._is_reading

    # From the broker to the client.

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = 64 << 10 if high is None else high

    def get_write_buffer_size(self) -> int:
        return self._unsent

    def write(self, data: Any) -> None:
        if self._is_closing or self._is_lost or self._is_down:
            return
        self._unsent += len(data)
        self._last_out = self._later(self._last_out)
        self._loop.call_at(self._last_out, self._depart, bytes(data))
        if self._unsent > self._high and not self._is_full:
            self._is_full = True
            self._protocol.pause_writing()

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def _depart(self, data: bytes) -> None:
        if self._is_lost or self._is_down:
            return
        self._unsent -= len(data)
        self.client.take(data)
        if self._is_full and self._unsent <= self._high // 4:
            self._is_full = False
            self._protocol.resume_writing()
        if self._is_closing and not self._unsent:
            self._lose()

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            if not self._unsent:
                self._loop.call_soon(self._lose)

    def abort(self) -> None:
        self._is_closing = True
        self._loop.call_soon(self._lose)

    def _lose(self) -> None:
        if not self._is_lost and not self._is_down:
            self._is_lost = self._is_closing = True
            self._protocol.connection_lost(None)
            self.client.lose()


class Client:
    """The client's end: requests by our codec, answers in their order."""

    def __init__(self, transport: SimulatedTransport, client_id: str) -> None:
        self.is_lost = False
        self.may_be_closed = False
        """With acks=0 there is no other way to refuse a produce."""
        self._transport = transport
        self._dialogue = Dialogue(client_id)
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._received = bytearray()

    def send(self, request: object, version: int) -> "asyncio.Future[Any]":
        """A future of its answer, or of a ConnectionError."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self.is_lost:
            answer.set_exception(ConnectionResetError("closed by the broker"))
            return answer
        self._transport.send(self._dialogue.request(request, version))
        if getattr(request, "acks", -1) == 0:
            self.may_be_closed = True
            answer.set_result(None)
        else:
            self._waiting.append(answer)
        return answer

    def close(self) -> None:
        self._transport.hang_up()

    def take(self, data: bytes) -> None:
        self._received += data
        while len(self._received) >= _SIZE_BYTES:
            size = int.from_bytes(self._received[:_SIZE_BYTES])
            if len(self._received) < _SIZE_BYTES + size:
                return
            frame = bytes(self._received[_SIZE_BYTES : _SIZE_BYTES + size])
            del self._received[: _SIZE_BYTES + size]
            answer = self._waiting.popleft()
            decoded = self._dialogue.response(frame)
            if not answer.done():
                answer.set_result(decoded)

    def lose(self) -> None:
        self.is_lost = True
        for answer in self._waiting:
            if not answer.done():
                answer.set_exception(ConnectionResetError("closed by the broker"))
