"""The processes of a fan-out: this one alone, or N workers on the same ports and a parent.

The parent keeps the ports, starts the workers, starts one again that has died (after a pause that
grows while it keeps dying), passes SIGHUP on, and on Ctrl-C or SIGTERM lets them drain. A worker
shares nothing with another but what siblings.py tells; if the parent is killed, the workers stop.
Above: cli/fanout.py. Below: worker.py, listening.py, siblings.py.
"""

import asyncio
import logging
import multiprocessing
import os
import resource
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from multiprocessing.context import SpawnProcess
from pathlib import Path

from kafkaesque.errors import StartError
from kafkaesque.gateway.access import Access
from kafkaesque.gateway.fanout.config import FanoutConfig
from kafkaesque.gateway.fanout.listening import address_of, reserve
from kafkaesque.gateway.fanout.siblings import Siblings, short_enough
from kafkaesque.gateway.fanout.worker import Serve, log_to_stderr, run_alone, run_worker
from kafkaesque.gateway.tls import server_context

logger = logging.getLogger(__name__)

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
_STOP_SECONDS = 5.0
"""Beside the time that clients have to take what was sent."""

Ready = Callable[[FanoutConfig], None]


def run(
    config: FanoutConfig, ready: Ready, serve: Serve | None = None, log_level: str = "INFO"
) -> None:
    """Serve until Ctrl-C or SIGTERM. `ready` is told the config with the ports that were free,
    once all workers listen. Raises StartError.
    """
    log_to_stderr(log_level)
    _require_files(config)
    _allow_many_files(config)
    with (
        closing(reserve(config.web, "--port")) as web,
        closing(reserve(config.tcp, "--tcp-port")) as tcp,
    ):
        config = replace(
            config,
            web=address_of(web, config.web.host),
            tcp=address_of(tcp, config.tcp.host),
        )
        if config.workers == 1:
            run_alone(config, lambda: ready(config), serve)
        else:
            with _directory() as directory:
                crew = [
                    _Post(number, config, directory, serve, log_level)
                    for number in range(config.workers)
                ]
                asyncio.run(_supervise(crew, config, ready))


def _require_files(config: FanoutConfig) -> None:
    """What a worker would stumble over is said once, and before anything runs."""
    server_context(config.tls_cert, config.tls_key)
    if config.tokens is not None:
        Access.load(config.tokens)


def _allow_many_files(config: FanoutConfig) -> None:
    """A connection is an open file: take all that the system grants. Workers inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    needed = config.max_connections // config.workers
    if hard != resource.RLIM_INFINITY and hard < needed:
        logger.warning(
            "a process may open %d files here, and --max-connections wants %d connections in each "
            "of %d: raise the hard limit (ulimit -Hn), or use more --workers",
            *(hard, needed, config.workers),
        )


@contextmanager
def _directory() -> Iterator[Path]:
    usual = tempfile.gettempdir()
    where = usual if short_enough(usual) else "/tmp"
    with tempfile.TemporaryDirectory(prefix="kafkaesque-", dir=where) as directory:
        yield Path(directory)


async def _supervise(crew: "list[_Post]", config: FanoutConfig, ready: Ready) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, _tell_all, crew, signal.SIGHUP)
    working = asyncio.create_task(_work(crew, lambda: ready(config)))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if stop.is_set():
        logger.info("stopping")
    stopping.cancel()
    working.cancel()
    await asyncio.wait({working})
    _tell_all(crew, signal.SIGTERM)
    await asyncio.gather(*(post.end(config.drain_s + _STOP_SECONDS) for post in crew))
    if not working.cancelled():
        working.result()


async def _work(crew: "list[_Post]", ready: Callable[[], None]) -> None:
    """For ever, unless the first start of a worker fails."""
    try:
        async with asyncio.TaskGroup() as starting:
            for post in crew:
                starting.create_task(post.start())
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    ready()
    async with asyncio.TaskGroup() as keeping:
        for post in crew:
            keeping.create_task(post.keep())


def _tell_all(crew: "list[_Post]", number: signal.Signals) -> None:
    for post in crew:
        post.tell(number)


class _Post:
    """A place among the workers, whichever process has it now."""

    def __init__(
        self,
        number: int,
        config: FanoutConfig,
        directory: Path,
        serve: Serve | None,
        log_level: str,
    ) -> None:
        self._siblings = Siblings(number, config.workers, 0, directory)
        self._args = config, serve, log_level
        self._process: SpawnProcess | None = None

    async def start(self) -> None:
        """Return when it serves. StartError if it ends before."""
        self._siblings = replace(self._siblings, starts=self._siblings.starts + 1)
        context = multiprocessing.get_context("spawn")
        hears, tells = context.Pipe(duplex=False)
        with hears:
            process = context.Process(
                target=run_worker, args=(self._siblings, tells, *self._args), daemon=True
            )
            with tells:
                process.start()
            self._process = process
            await _readable(hears.fileno())
            try:
                complaint: str | None = hears.recv()
            except EOFError:
                complaint = f"{self} has ended before it served: its last lines say why"
        if complaint is not None:
            raise StartError(complaint)

    async def keep(self) -> None:
        """Start it again whenever it ends, for ever."""
        pause_s, started_s = _FIRST_PAUSE_S, time.monotonic()
        while True:
            how = await self._ended()
            if time.monotonic() - started_s > _LONGEST_PAUSE_S:
                pause_s = _FIRST_PAUSE_S
            logger.error("%s has ended (%s); it is started again in %g s", self, how, pause_s)
            await asyncio.sleep(pause_s)
            pause_s, started_s = min(2 * pause_s, _LONGEST_PAUSE_S), time.monotonic()
            try:
                await self.start()
            except StartError as error:
                logger.error("%s", error)
            else:
                logger.info("%s serves again", self)

    def tell(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.is_alive():
            assert self._process.pid is not None
            os.kill(self._process.pid, number)

    async def end(self, patience_s: float) -> None:
        """Wait for its end, and kill it if that takes too long."""
        if self._process is None:
            return
        try:
            async with asyncio.timeout(patience_s):
                await self._ended()
        except TimeoutError:
            logger.error("%s does not stop, and is killed", self)
            self._process.kill()
            await self._ended()

    async def _ended(self) -> str:
        assert self._process is not None
        await _readable(self._process.sentinel)
        self._process.join()
        code = self._process.exitcode or 0
        return f"exit code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"

    def __str__(self) -> str:
        return f"worker {self._siblings.worker}"


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    seen = asyncio.Event()
    loop.add_reader(descriptor, seen.set)
    try:
        await seen.wait()
    finally:
        loop.remove_reader(descriptor)
