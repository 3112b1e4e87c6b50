"""The registry's process: takes its port, reads the topic, serves, and stops when told to.

Above: cli/registry.py. Below: app.py, journal.py, topic.py, serving.py.
"""

import asyncio
import socket
from collections.abc import Callable

import uvicorn

from kafkaesque.client.connection import Address, Connection
from kafkaesque.registry.app import application
from kafkaesque.registry.journal import Journal
from kafkaesque.registry.topic import prepare
from kafkaesque.serving import Server, listen

_GRACE_S = 5


def run(
    connection: Connection,
    address: Address,
    topic: str,
    version: str,
    tell: Callable[[str], None],
    ready: Callable[[Address], None],
) -> None:
    """Serve until SIGINT or SIGTERM. `ready` is told the address when it can be asked.

    Raises StartError; ClusterError if the cluster does not answer.
    """
    with listen("registry", *address) as listener:
        max_record_bytes = prepare(connection, topic)
        host, port = listener.getsockname()[:2]
        serving = _serve(
            connection,
            topic,
            max_record_bytes,
            listener,
            version,
            tell,
            lambda: ready(Address(host, port)),
        )
        try:
            import uvloop
        except ImportError:
            asyncio.run(serving)
        else:
            uvloop.run(serving)


async def _serve(
    connection: Connection,
    topic: str,
    max_record_bytes: int,
    listener: socket.socket,
    version: str,
    tell: Callable[[str], None],
    ready: Callable[[], None],
) -> None:
    async with Journal(connection, topic, max_record_bytes, tell) as journal:
        config = uvicorn.Config(
            application(journal, version),
            lifespan="off",
            log_level="warning",
            timeout_graceful_shutdown=_GRACE_S,
            # Longer than clients keep idle connections: else one might be closed while used.
            timeout_keep_alive=75,
        )
        server = _Server(config, ready)
        await server.serve(sockets=[listener])


class _Server(Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            self._ready()
