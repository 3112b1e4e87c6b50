"""The sample's pattern on WebSockets: as a Quart app, which the sample is, or on `websockets`.

Quart runs on hypercorn, as its own `run` does. `websockets` is the leaner of the two.

usage: python -m benchmarks.fanout.servers.sample_server quart|websockets BOOTSTRAP TOPIC PORT
Above: sample.py. Below: sample_hub.py.
"""

import asyncio
import importlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from benchmarks.fanout.servers.sample_hub import Hub, consumer_at_end
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

BACKLOG = 4096
Server = Callable[[Hub, int], AbstractAsyncContextManager[None]]


@asynccontextmanager
async def on_websockets(hub: Hub, port: int) -> AsyncIterator[None]:
    async def client(connection: ServerConnection) -> None:
        try:
            await hub.client(connection.send, connection.recv)
        except ConnectionClosed:
            pass

    quiet = {"compression": None, "ping_interval": None}
    async with serve(client, "127.0.0.1", port, backlog=BACKLOG, **quiet):  # type: ignore[arg-type]
        yield


@asynccontextmanager
async def on_quart(hub: Hub, port: int) -> AsyncIterator[None]:
    # Only this benchmark has Quart, and only in `.tools/`: there is nothing to check types with.
    quart = importlib.import_module("quart")
    config = importlib.import_module("hypercorn.config").Config()
    hypercorn = importlib.import_module("hypercorn.asyncio")
    app = quart.Quart("sample")

    @app.websocket("/ws")  # type: ignore[untyped-decorator]
    async def client() -> None:
        await quart.websocket.accept()
        await hub.client(quart.websocket.send, quart.websocket.receive)

    config.bind, config.backlog, config.loglevel = [f"127.0.0.1:{port}"], BACKLOG, "ERROR"
    stop = asyncio.Event()
    serving = asyncio.create_task(hypercorn.serve(app, config, shutdown_trigger=stop.wait))
    yield
    serving.cancel()


SERVERS: dict[str, Server] = {"quart": on_quart, "websockets": on_websockets}


async def main(kind: str, bootstrap: str, topic: str, port: int) -> None:
    hub, stop = Hub(), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    consumer = await consumer_at_end(bootstrap, topic)
    async with SERVERS[kind](hub, port):
        reading = asyncio.create_task(hub.read(consumer))
        print("ready", flush=True)
        await stop.wait()
        reading.cancel()
        await consumer.stop()
        # Ten thousand goodbyes are no part of what is measured.
        os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
