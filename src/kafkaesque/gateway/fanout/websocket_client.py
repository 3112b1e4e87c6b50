"""A client over WebSocket: frames in, messages out; pings and closes are dealt with here.

Above: sample_client.py, v1_client.py. Below: client.py, websocket.py.
"""

import time
from typing import TYPE_CHECKING

from kafkaesque.gateway.fanout import websocket
from kafkaesque.gateway.fanout.client import Client
from kafkaesque.gateway.fanout.websocket import Frame, FrameReader, WebSocketError

if TYPE_CHECKING:
    from kafkaesque.gateway.fanout.door import Door

MAX_MESSAGE_BYTES = 64 << 10
"""Of what a client may send."""


class WebSocketClient(Client):
    __slots__ = ("_reader",)

    def __init__(self, door: "Door", address: str) -> None:
        super().__init__(door, address)
        self._reader = FrameReader(MAX_MESSAGE_BYTES)

    def message(self, frame: Frame) -> None:
        """A text or binary message has come."""
        raise NotImplementedError

    def data_received(self, data: bytes) -> None:
        self.heard_at = time.monotonic()
        try:
            for frame in self._reader.feed(data):
                if self.is_closing:
                    return
                self._take(frame)
        except WebSocketError as error:
            self.end(error.code, error.reason)

    def ping(self) -> None:
        self.write_now(websocket.ping())

    def farewell(self, code: int, reason: str) -> bytes:
        return websocket.close(code, reason)

    def _take(self, frame: Frame) -> None:
        if frame.opcode == websocket.PING:
            # Who pings and does not read the answers gets none.
            if not self.is_slow:
                self.write_now(websocket.pong(frame.payload))
        elif frame.opcode == websocket.CLOSE:
            self._close_back(frame.payload)
        elif frame.opcode != websocket.PONG:
            self.message(frame)

    def _close_back(self, payload: bytes) -> None:
        """The client says goodbye: so do we, with its own code."""
        code = int.from_bytes(payload[:2], "big") if payload else 1000
        self.end(code, "")
