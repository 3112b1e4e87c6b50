"""A proxy before a broker that counts the requests by API, for tests of what is *not* asked.

The broker must advertise the proxy's address, or clients go past it. Threads, one per direction;
they end with their connections.
"""

import socket
import struct
import threading
from collections import Counter
from types import TracebackType

_HEAD = struct.Struct(">ih")


class CountingProxy:
    def __init__(self) -> None:
        self.requests: Counter[int] = Counter()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._target: tuple[str, int] | None = None
        self._sockets: list[socket.socket] = []
        self._acceptor = threading.Thread(target=self._accept, daemon=True)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def forward_to(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._acceptor.start()

    def _accept(self) -> None:
        assert self._target is not None
        while True:
            try:
                client, _ = self._listener.accept()
                self._sockets.append(client)
                broker = socket.create_connection(self._target)
                self._sockets.append(broker)
            except OSError:
                return
            for source, sink, counted in ((client, broker, True), (broker, client, False)):
                threading.Thread(
                    target=self._pump, args=(source, sink, counted), daemon=True
                ).start()

    def _pump(self, source: socket.socket, sink: socket.socket, counted: bool) -> None:
        waiting = bytearray()
        try:
            while data := source.recv(65536):
                if counted:
                    waiting += data
                    self._count(waiting)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def _count(self, waiting: bytearray) -> None:
        """Takes the whole frames away."""
        while len(waiting) >= _HEAD.size:
            size, api_key = _HEAD.unpack_from(waiting)
            if len(waiting) < 4 + size:
                return
            self.requests[api_key] += 1
            del waiting[: 4 + size]

    def __enter__(self) -> "CountingProxy":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Closing alone would not wake the thread that waits in accept.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join()
        self._listener.close()
        for each in self._sockets:
            each.close()
