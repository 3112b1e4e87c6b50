"""A worker of the fan-out: its ports, its signals, and how it ends.

    serve → Door → Hub          one event loop owns everything here

On SIGTERM or SIGINT it takes no more clients, tells those that are there, and gives them a moment.
On SIGHUP it reads tokens and certificates again.
Above: worker.py. Below: door.py, http_client.py, v1_client.py.
"""

import asyncio
import logging
import signal
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial

from kafkaesque.errors import StartError
from kafkaesque.gateway import tls
from kafkaesque.gateway.access import Access
from kafkaesque.gateway.fanout.config import FanoutConfig
from kafkaesque.gateway.fanout.door import Door
from kafkaesque.gateway.fanout.http_client import HttpClient
from kafkaesque.gateway.fanout.listening import listen
from kafkaesque.gateway.fanout.siblings import Siblings
from kafkaesque.gateway.fanout.stats import Stats
from kafkaesque.gateway.fanout.v1_client import V1Tcp

logger = logging.getLogger(__name__)

_TICK_SECONDS = 0.1
_BACKLOG = 4096


async def serve(config: FanoutConfig, siblings: Siblings, ready: Callable[[], None]) -> None:
    access = Access.load(config.tokens) if config.tokens is not None else Access.open()
    context = tls.server_context(config.tls_cert, config.tls_key)
    door = Door(config, siblings, access)
    if siblings.worker == 0:
        logger.info("connecting to %s", config.connection.bootstrap_servers)
    stop = _stop_signal()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, _reload, config, door, context)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(siblings.answering(door.stats.snapshot))
        hub = asyncio.create_task(door.hub.run())
        stack.push_async_callback(_cancel, hub)
        for work in (door.look_after(), _watch_loop(door.stats)):
            stack.push_async_callback(_cancel, asyncio.create_task(work))
        await _first_of(hub, door.hub.is_ready.wait(), stop.wait())
        servers = await _listen(config, door, context)
        ready()
        await _first_of(hub, stop.wait())
        for server in servers:
            server.close()
        await door.drain()


async def _listen(
    config: FanoutConfig, door: Door, context: ssl.SSLContext | None
) -> list[asyncio.Server]:
    loop = asyncio.get_running_loop()
    servers = []
    for address, factory in ((config.web, HttpClient), (config.tcp, V1Tcp)):
        bound = listen(address)
        # Those who are accepted have the same: a small buffer shows early who is slow.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, config.send_buffer_bytes)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        servers.append(
            await loop.create_server(
                partial(factory, door),
                sock=bound,
                ssl=context,
                backlog=_BACKLOG,
            )
        )
    return servers


def _stop_signal() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


def _reload(config: FanoutConfig, door: Door, context: ssl.SSLContext | None) -> None:
    if context is not None and config.tls_cert is not None:
        tls.reload(context, config.tls_cert, config.tls_key)
    door.reload()


async def _watch_loop(stats: Stats) -> None:
    """How late a timer runs is how long somebody else has held the loop."""
    while True:
        due = time.perf_counter() + _TICK_SECONDS
        await asyncio.sleep(_TICK_SECONDS)
        stats.loop_delay.observe(max(0.0, time.perf_counter() - due))


async def _first_of(hub: "asyncio.Task[None]", *waits: object) -> None:
    """Wait for one of these; the hub must not end before."""
    tasks = [asyncio.ensure_future(each) for each in waits]  # type: ignore[call-overload]
    await asyncio.wait([hub, *tasks], return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    if hub.done():
        hub.result()
        raise StartError("the fan-out has ended by itself")


async def _cancel(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.wait([task])
