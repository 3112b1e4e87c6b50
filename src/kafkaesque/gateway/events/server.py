"""The gateway's process: takes its port, serves, and stops when told to.

The port is taken before anything else, so that a taken one is said at once and in our words. At a
signal the streams end first: uvicorn would wait for them. SIGHUP reads the tokens
again. Above: cli/gateway.py. Below: app.py.
"""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from fastapi import FastAPI

from kafkaesque.client.connection import Address
from kafkaesque.errors import StartError
from kafkaesque.gateway.events.app import application
from kafkaesque.gateway.events.config import EventsConfig

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_GRACE_S = 3


class _Server(uvicorn.Server):
    def __init__(self, app: FastAPI, ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_level="warning",
                timeout_graceful_shutdown=_GRACE_S,
                # Longer than clients keep idle connections: else one might be closed while used.
                timeout_keep_alive=75,
            )
        )
        self._app = app
        self._ready = ready
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        self._loop.add_signal_handler(signal.SIGHUP, self._app.state.gateway.access.reload)
        if not self.should_exit:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """However often it is told: uvicorn's way to hurry at the second time leaves a traceback,
        and requests whose events are on their way without an answer."""
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._app.state.gateway.stop)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's, but a stop that was asked for is a success: no signal is raised again."""
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def run(config: EventsConfig, ready: Callable[[Address], None]) -> None:
    """Serve until SIGINT or SIGTERM. `ready` is told the address when it can be asked."""
    app = application(config)
    with _listen(config.address) as listener:
        host, port = listener.getsockname()[:2]
        _Server(app, lambda: ready(Address(host, port))).run(sockets=[listener])


def _listen(address: Address) -> socket.socket:
    try:
        return socket.create_server(
            address, family=socket.AF_INET6 if ":" in address.host else socket.AF_INET
        )
    except OSError as error:
        raise StartError(
            f"the gateway cannot listen on {address} ({error.strerror}): "
            "choose another port with --port (0 for a free one), or another address with --host"
        ) from None
