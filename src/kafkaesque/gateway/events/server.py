"""The gateway's process: takes its port, serves, and stops when told to.

The port is taken before anything else, so that a taken one is said at once and in our words. At a
signal the streams end first: uvicorn would wait for them. SIGHUP reads the tokens
again. Above: cli/gateway.py. Below: app.py, serving.py.
"""

import asyncio
import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from kafkaesque.client.connection import Address
from kafkaesque.gateway.events.app import application
from kafkaesque.gateway.events.config import EventsConfig
from kafkaesque.serving import Server, listen

_GRACE_S = 3


class _Server(Server):
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
        super().handle_exit(sig, frame)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._app.state.gateway.stop)


def run(config: EventsConfig, ready: Callable[[Address], None]) -> None:
    """Serve until SIGINT or SIGTERM. `ready` is told the address when it can be asked."""
    app = application(config)
    with listen("gateway", *config.address) as listener:
        host, port = listener.getsockname()[:2]
        _Server(app, lambda: ready(Address(host, port))).run(sockets=[listener])
