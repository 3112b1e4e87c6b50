"""A proxy that cuts connections at random: after so many bytes of an answer, in the middle of a
line or of nothing, sometimes with a reset. After `cuts` cuts it lets everything pass.

Threads, one per direction; they end with their connections.
"""

import random
import socket
import struct
import threading
from types import TracebackType

_RESET = struct.pack("ii", 1, 0)


class CuttingProxy:
    def __init__(self, port: int, cuts: int, most_bytes: int, seed: int) -> None:
        self.cut = 0
        self._target = ("127.0.0.1", port)
        self._cuts = cuts
        self._most_bytes = most_bytes
        self._random = random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._target)
            except OSError:  # Nobody listens just now.
                client.close()
                continue
            self._sockets += [client, server]
            allowed = None
            if self.cut < self._cuts:
                allowed = self._random.randrange(self._most_bytes)
            threading.Thread(target=self._pump, args=(client, server, None), daemon=True).start()
            threading.Thread(target=self._pump, args=(server, client, allowed), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, allowed: int | None) -> None:
        try:
            while data := source.recv(65536 if allowed is None else max(1, allowed)):
                sink.sendall(data)
                if allowed is not None:
                    allowed -= len(data)
                    if allowed <= 0:
                        self.cut += 1
                        break
        except OSError:
            pass
        self._end(source, sink)

    def _end(self, *both: socket.socket) -> None:
        for each in both:
            try:
                if self._random.random() < 0.5:
                    each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()

    def __enter__(self) -> "CuttingProxy":
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
