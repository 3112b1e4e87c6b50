"""Brokers that hang: one that says nothing at all, one that says it a byte at a time, and one that
nobody gets through to.
"""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


class SilentListener:
    """Whoever connects gets through, and hears nothing."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self._listener.setblocking(False)
        self._callers: list[socket.socket] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def callers(self) -> int:
        """How many have connected so far."""
        while True:
            try:
                self._callers.append(self._listener.accept()[0])
            except BlockingIOError:
                return len(self._callers)

    def close(self) -> None:
        for each in (self._listener, *self._callers):
            each.close()


@contextmanager
def silent_listener() -> Iterator[SilentListener]:
    listener = SilentListener()
    try:
        yield listener
    finally:
        listener.close()


@contextmanager
def trickling_listener(seconds: float) -> Iterator[str]:
    """Its address. It sends the first caller of an answer's bytes one every 0.1 s, so long, and
    hangs up in its midst."""
    listener = socket.create_server(("127.0.0.1", 0))

    def trickle() -> None:
        caller, _ = listener.accept()
        with caller:
            try:
                caller.sendall((1000).to_bytes(4, "big"))
                for _ in range(int(seconds / 0.1)):
                    caller.sendall(b"\0")
                    time.sleep(0.1)
            except OSError:  # The caller has waited long enough.
                pass

    thread = threading.Thread(target=trickle, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        thread.join()
        listener.close()


@contextmanager
def unreachable_listener() -> Iterator[int]:
    """Its port at 127.0.0.1. More have called than it has room for, so that Linux drops the packets
    of whoever connects."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            caller = stack.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]
