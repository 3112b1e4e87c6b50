"""Waits until a server that says nothing listens."""

import socket
import time

from benchmarks.fanout.running import Running, StartError

WITHIN_S = 30.0


def await_port(server: Running, port: int) -> None:
    deadline = time.monotonic() + WITHIN_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if server.process.poll() is not None:
                raise StartError(server.last_words()) from None
            if time.monotonic() > deadline:
                raise StartError(f"{server.name} does not listen on port {port}") from None
            time.sleep(0.05)
