"""The bytes of a connection, as frames: an asyncio protocol that knows nothing of what is in them.

    | size: int32 | frame |

Bytes are received into a scratch buffer. A frame that is not whole there gets a buffer of its own
size, and the rest of it is received right into that. Above: link.py. Below: protocol/frame.py.
"""

import asyncio
from collections.abc import Callable
from typing import Final, cast

from kafkaesque.errors import KafkaError
from kafkaesque.protocol.frame import SIZE_BYTES, frame_size
from kafkaesque.types import Buffer

_SCRATCH_BYTES: Final = 65536
_FAREWELL_S: Final = 1.0


class Frames(asyncio.BufferedProtocol):
    """Hands over each frame as it becomes whole. What is wrong with one closes the connection."""

    def __init__(
        self, receive: Callable[[Buffer], None], lost: Callable[[Exception | None], None]
    ) -> None:
        self._receive = receive
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self._gone = asyncio.Event()
        self._scratch = bytearray(_SCRATCH_BYTES)
        self._frame: bytearray | None = None
        self._filled = 0
        """Bytes of `_frame`, if there is one, else of `_scratch`."""

    def send(self, chunks: list[Buffer]) -> None:
        if self._transport is not None:
            self._transport.writelines(chunks)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def close(self) -> None:
        """Send what is to be sent, and hang up; TLS takes a moment to do so."""
        if self._transport is not None:
            self._transport.close()
            try:
                async with asyncio.timeout(_FAREWELL_S):
                    await self._gone.wait()
            except TimeoutError:
                self.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's are not of this class, but all it asks for.
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._gone.set()
        self._lost(exc)

    def get_buffer(self, sizehint: int) -> memoryview:
        return memoryview(self._scratch if self._frame is None else self._frame)[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self._filled += nbytes
        try:
            self._take()
        except KafkaError as error:
            self.abort()
            self._lost(error)

    def _take(self) -> None:
        if self._frame is None:
            self._take_from_scratch()
        elif self._filled == len(self._frame):
            whole, self._frame, self._filled = self._frame, None, 0
            self._receive(whole)

    def _take_from_scratch(self) -> None:
        at, filled = 0, self._filled
        while filled - at >= SIZE_BYTES:
            size = frame_size(self._scratch, at)
            start, end = at + SIZE_BYTES, at + SIZE_BYTES + size
            if end > filled:
                self._begin(size, start, filled)
                return
            self._receive(bytes(memoryview(self._scratch)[start:end]))
            at = end
        self._scratch[: filled - at] = self._scratch[at:filled]
        self._filled = filled - at

    def _begin(self, size: int, start: int, filled: int) -> None:
        self._frame = bytearray(size)
        self._filled = filled - start
        self._frame[: self._filled] = self._scratch[start:filled]
