"""A proxy before a broker that counts requests and the bytes of their answers by API, for tests of
what is *not* asked.

The broker must advertise the proxy's address, or clients go past it. Threads, one per direction;
they end with their connections.
"""

import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable
from types import TracebackType

_REQUEST = struct.Struct(">ihhi")
"""Size, API key, version, correlation id."""
_ANSWER = struct.Struct(">ii")


class CountingProxy:
    def __init__(self) -> None:
        self.requests: Counter[int] = Counter()
        self.answered_bytes: Counter[int] = Counter()
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
            asked: dict[int, int] = {}
            for source, sink, count in (
                (client, broker, self._count_requests),
                (broker, client, self._count_answers),
            ):
                threading.Thread(
                    target=self._pump, args=(source, sink, count, asked), daemon=True
                ).start()

    def _pump(
        self,
        source: socket.socket,
        sink: socket.socket,
        count: Callable[[bytearray, dict[int, int]], None],
        asked: dict[int, int],
    ) -> None:
        """`asked` has the API of each request of the connection that was not answered yet."""
        waiting = bytearray()
        try:
            while data := source.recv(65536):
                waiting += data
                count(waiting, asked)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def _count_requests(self, waiting: bytearray, asked: dict[int, int]) -> None:
        """Takes the whole frames away."""
        while len(waiting) >= _REQUEST.size:
            size, api_key, _, correlation_id = _REQUEST.unpack_from(waiting)
            if len(waiting) < 4 + size:
                return
            asked[correlation_id] = api_key
            self.requests[api_key] += 1
            del waiting[: 4 + size]

    def _count_answers(self, waiting: bytearray, asked: dict[int, int]) -> None:
        while len(waiting) >= _ANSWER.size:
            size, correlation_id = _ANSWER.unpack_from(waiting)
            if len(waiting) < 4 + size:
                return
            self.answered_bytes[asked.pop(correlation_id)] += 4 + size
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
