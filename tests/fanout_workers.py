"""Fan-out workers around a server that serves only its pages: `python -m tests.fanout_workers 3`.

For what concerns processes and not records: each request counts as delivered by the worker that got
it, each SIGHUP as refused, and any other path says which worker that was. Prints its two ports.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable

from kafkaesque.client.connection import Address, Connection
from kafkaesque.errors import StartError
from kafkaesque.gateway.fanout.config import FanoutConfig
from kafkaesque.gateway.fanout.listening import listen
from kafkaesque.gateway.fanout.pages import Page, page
from kafkaesque.gateway.fanout.siblings import Siblings
from kafkaesque.gateway.fanout.stats import Stats
from kafkaesque.gateway.fanout.workers import run


class PagesServer:
    def __init__(self, siblings: Siblings) -> None:
        self._siblings = siblings
        self.stats = Stats(siblings.worker, siblings.starts)
        self.stats.unreachable = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ")[1].decode()
        self.stats.delivered += 1
        own = Page(200, "text/plain", str(os.getpid()).encode())
        shown = await page(path, self._siblings, self.stats) or own
        writer.write(
            b"HTTP/1.1 %d X\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
            % (shown.status, shown.content_type.encode(), len(shown.body))
        )
        writer.write(shown.body)
        writer.close()

    def hang_up(self) -> None:
        self.stats.refused += 1


async def serve(config: FanoutConfig, siblings: Siblings, ready: Callable[[], None]) -> None:
    server = PagesServer(siblings)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, server.hang_up)
    web = await asyncio.start_server(server.answer, sock=listen(config.web))
    tcp = await asyncio.start_server(server.answer, sock=listen(config.tcp))
    async with siblings.answering(server.stats.snapshot), web, tcp:
        ready()
        await stop.wait()


async def refuse(config: FanoutConfig, siblings: Siblings, ready: Callable[[], None]) -> None:
    raise StartError(f"no start with {config.workers} workers")


def main(workers: int, kind: str = "serve") -> None:
    free = Address("127.0.0.1", 0)
    config = FanoutConfig(Connection(), web=free, tcp=free, workers=workers, drain_s=1)

    def ready(bound: FanoutConfig) -> None:
        sys.stdout.write(f"{bound.web.port} {bound.tcp.port}\n")
        sys.stdout.flush()

    try:
        run(config, ready, serve if kind == "serve" else refuse)
    except StartError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
