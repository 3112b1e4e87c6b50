"""The process: open the broker, listen, say so, and stop cleanly on SIGTERM or Ctrl-C.

`run` is what the command line calls. `Server` is startup → listening → shutdown, and is what a
program that runs a broker inside its own loop uses.
"""

import asyncio
import errno
import logging
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from http import HTTPStatus

from kafkaesque.broker.apis import APIS, Api
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.collector import Collector
from kafkaesque.broker.config import BrokerConfig, Listener
from kafkaesque.broker.connection import Connection
from kafkaesque.broker.disk import Disk
from kafkaesque.broker.health import health
from kafkaesque.broker.lag import group_metrics
from kafkaesque.broker.loop_delay import LoopDelay
from kafkaesque.broker.metrics_page import HEALTH_PATH, METRICS_PATH, Answer, MetricsPage
from kafkaesque.errors import StartError
from kafkaesque.log.files import Files
from kafkaesque.metrics import CONTENT_TYPE, Metric, Sample, exposition, gauge
from kafkaesque.types import Clock

logger = logging.getLogger(__name__)

_DRAIN_SECONDS = 5.0
_CLOSE_SECONDS = 1.0
_BACKLOG = 1024
_LOOK_SECONDS = 30


def wall_clock() -> int:
    return time.time_ns() // 1_000_000


class Server:
    """A broker and the sockets it listens on."""

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock = wall_clock,
        files: Files | None = None,
        apis: Mapping[int, Api] = APIS,
        new_disk: Callable[[asyncio.AbstractEventLoop], Disk] = Disk,
    ) -> None:
        self._config = config
        self._clock = clock
        self._files = files
        self._new_disk = new_disk
        self._apis = apis
        self._servers: list[asyncio.Server] = []
        self._connections: set[Connection] = set()
        self._idle_check: asyncio.Task[None] | None = None
        self._loop_delay = LoopDelay()
        self._metrics_page = MetricsPage(
            {METRICS_PATH: self._metrics_answer, HEALTH_PATH: self._health_answer}
        )
        self.metrics_url: str | None = None
        self.listeners: list[Listener] = []
        self.broker: Broker

    async def start(self) -> None:
        """Open the data, then listen. Raises StartError, and leaves nothing open, if either cannot
        be.
        """
        self.broker = await Broker.open(self._config, self._clock, self._files, self._new_disk)
        try:
            for listener in self._config.listeners:
                await self.listen(listener)
            if self._config.metrics_port is not None:
                await self._show_metrics(self._config.listeners[0].host, self._config.metrics_port)
        except BaseException:
            await self.stop()
            raise
        self.broker.start()
        self._idle_check = asyncio.create_task(self._close_idle_connections())

    async def stop(self) -> None:
        """Answer what has been asked, close the connections, then the broker."""
        for server in self._servers:
            server.close()
        # Who was let in a moment ago is known here in the next turn of the loop.
        await asyncio.sleep(0)
        if self._idle_check:
            self._idle_check.cancel()
        self._loop_delay.stop()
        self._metrics_page.close()
        self.broker.stop_waiting()
        for connection in self._connections:
            connection.take_no_more()
        await self._until(lambda: not any(c.is_busy for c in self._connections), _DRAIN_SECONDS)
        await self._until(self._close_connections, _CLOSE_SECONDS)
        for connection in tuple(self._connections):
            connection.abort()
        await self.broker.close()

    def _close_connections(self) -> bool:
        """Whether all are gone."""
        for connection in tuple(self._connections):
            connection.close()
        return not self._connections

    async def _until(self, is_done: Callable[[], bool], seconds: float) -> None:
        deadline = asyncio.get_running_loop().time() + seconds
        while not is_done() and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.005)

    async def listen(self, listener: Listener) -> Listener:
        """Take connections here too: the listener as it is bound, port 0 being a free one."""
        # The advertised port of port 0 is known only once it is bound: connections read `bound`.
        bound = [listener]
        loop = asyncio.get_running_loop()
        try:
            server = await loop.create_server(
                lambda: Connection(self.broker, bound[0], self._connections, self._apis),
                listener.host,
                listener.port,
                backlog=_BACKLOG,
            )
        except OSError as error:
            raise StartError(_cannot_listen(listener.address, error)) from error
        port = server.sockets[0].getsockname()[1]
        bound[0] = replace(listener, port=port, name=_listener_name(len(self.listeners)))
        self._servers.append(server)
        self.listeners.append(bound[0])
        self.broker.listeners.append(bound[0])
        return bound[0]

    async def _show_metrics(self, host: str, port: int) -> None:
        """Nobody pays for the ticking who does not look."""
        asked = Listener(host, port)
        try:
            bound = replace(asked, port=await self._metrics_page.open(host, port))
        except OSError as error:
            why = error.strerror or error
            raise StartError(
                f"cannot show metrics on {asked.address}: {why}; choose another --metrics-port"
            ) from error
        self.metrics_url = f"http://{bound.address}{METRICS_PATH}"
        self._loop_delay.start()

    def _metrics_answer(self) -> Answer:
        return Answer(HTTPStatus.OK, CONTENT_TYPE, exposition(self._metrics()))

    def _health_answer(self) -> Answer:
        status, report = health(self.broker.storage.offline(), len(self._connections))
        return Answer(status, "application/json", report)

    def _metrics(self) -> Iterator[Metric]:
        partitions = [partition for topic in self.broker.topics for partition in topic.partitions]
        size = sum(partition.log.size for partition in partitions)
        topics = sum(1 for _ in self.broker.topics)
        yield gauge("kafkaesque_connections", "Clients connected now.", len(self._connections))
        yield from self._in_flight()
        yield gauge("kafkaesque_topics", "Topics, the broker's own included.", topics)
        yield gauge("kafkaesque_partitions", "Partitions of those topics.", len(partitions))
        offline = len(self.broker.storage.offline())
        yield gauge("kafkaesque_offline_partitions", "Partitions whose disk failed.", offline)
        yield gauge("kafkaesque_log_bytes", "Bytes of all their record batches.", size)
        yield from self.broker.traffic.metrics({api.key: api.name for api in self._apis.values()})
        yield from self.broker.disk.metrics()
        yield from group_metrics(self.broker)
        yield from self.broker.cleaner.metrics()
        yield from self._loop_delay.metrics()

    def _in_flight(self) -> Iterator[Metric]:
        budget = self.broker.budget
        yield gauge("kafkaesque_bytes_in_flight", "Of requests and responses.", budget.used)
        waiting = "Clients that are not read from until bytes in flight are given back."
        yield gauge("kafkaesque_waiting_connections", waiting, len(budget.waiting))
        refused = [Sample("", self.broker.connection_limits.refused)]
        about = "Clients sent away because too many were connected."
        yield Metric("kafkaesque_refused_connections_total", "counter", about, refused)

    async def _close_idle_connections(self) -> None:
        idle_seconds = self.broker.config["connections.max.idle.ms"] / 1000
        while True:
            await asyncio.sleep(min(idle_seconds, _LOOK_SECONDS))
            silent_since = asyncio.get_running_loop().time() - idle_seconds
            for connection in tuple(self._connections):
                if complaint := connection.complaint():
                    logger.warning("closing connection from %s: %s", connection.peer, complaint)
                    self.broker.traffic.stalled_connections += 1
                    connection.abort()
                elif connection.last_heard < silent_since and not connection.is_busy:
                    connection.close()


def _listener_name(before: int) -> str:
    """As Kafka would have them: each its own, the first that of the protocol."""
    return f"PLAINTEXT_{before + 1}" if before else "PLAINTEXT"


def _cannot_listen(address: str, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"{address} is in use: stop what listens there, or choose another port with --port"
    why = error.strerror or error
    return f"cannot listen on {address}: {why}; choose an address with --host and --port"


async def _serve(config: BrokerConfig) -> None:
    server = Server(config)
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    await server.start()
    sys.stdout.write(f"{_where(server, config)}\n")
    if server.metrics_url:
        sys.stdout.write(f"metrics at {server.metrics_url}\n")
    sys.stdout.flush()
    collecting = asyncio.create_task(Collector(lambda: server.broker.slices.is_busy).run())
    await stopped.wait()
    logger.info("stopping")
    collecting.cancel()
    await server.stop()


def _where(server: Server, config: BrokerConfig) -> str:
    addresses = ", ".join(listener.address for listener in server.listeners)
    kept = f"data in {config.data_dir}" if config.data_dir else "in memory"
    return f"kafkaesque broker listening on {addresses} ({kept}); stop with Ctrl-C"


def run(config: BrokerConfig) -> None:
    """Run a broker until it is told to stop."""
    sys.setswitchinterval(0.0005)
    _allow_many_files()
    try:
        import uvloop
    except ImportError:
        asyncio.run(_serve(config))
    else:
        uvloop.run(_serve(config))


def _allow_many_files() -> None:
    """A partition is an open file and a connection is one too: take all that the system grants."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
