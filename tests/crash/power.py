"""A machine whose power can be cut: a whole broker over the forgetting disk, on a loopback port.

The cut comes at a given file operation, wherever that happens to be: on the event loop or in a
thread, while the broker starts or while it serves. What the disk then holds is decided in that
moment; nothing that the dying process still does can reach it.
Above: test_broker_power_cuts.py. Below: forgetting.py.
"""

import asyncio
import logging
import random
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, cast

from tests.crash.forgetting import ForgettingFile, ForgettingFiles, PowerCut
from tests.wire.client import AsyncClient

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.config import BrokerConfig, Listener
from kafkaesque.broker.connection import Connection
from kafkaesque.broker.server import wall_clock
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.files import Files

SETTINGS = {
    # Every few operations a segment is rolled, an index and a snapshot are written.
    "log.segment.bytes": "1500",
    "offsets.topic.segment.bytes": "1500",
    "transaction.state.log.segment.bytes": "1500",
    "log.index.interval.bytes": "200",
    "log.flush.offset.checkpoint.interval.ms": "4",
    "log.retention.check.interval.ms": "7",
    "log.cleaner.backoff.ms": "5",
}


BeforeCall: TypeAlias = Callable[..., None]
"""Told of every file operation, and of its path or bytes, before it is done; may hold it up."""


class Disk(ForgettingFiles):
    """A forgetting disk that keeps what survives of it at the moment of the cut."""

    def __init__(self, before: ForgettingFiles, cut_at: int | None, rng: random.Random) -> None:
        super().__init__(before._root)
        self.cut_at = cut_at
        self.survivor: ForgettingFiles | None = None
        self.on_cut: Callable[[], object] = lambda: None
        self._rng = rng

    def change(self) -> None:
        try:
            super().change()
        except PowerCut:
            self.pull_the_plug()
            raise

    def pull_the_plug(self) -> None:
        if self.survivor is None:
            self.cut_at = 0
            self.survivor = self.cut(self._rng)
            self.on_cut()


class _OneAtATime:
    """Calls from the loop and from threads, one after the other, as a kernel has them."""

    def __init__(self, target: object, lock: "threading.RLock", before: BeforeCall) -> None:
        self._target = target
        self._lock = lock
        self._before = before

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._target, name)

        def call(*args: Any, **options: Any) -> Any:
            self._before(name, *args[:1])
            with self._lock:
                result = method(*args, **options)
            if isinstance(result, ForgettingFile):
                return _OneAtATime(result, self._lock, self._before)
            return result

        return call


class Machine:
    """A broker from its start to its end by power cut."""

    def __init__(self, disk: Disk, before_call: BeforeCall = lambda operation, *what: None) -> None:
        self.disk = disk
        self._before_call = before_call
        self.complaints: list[str] = []
        self._lock = threading.RLock()
        self._connections: set[Connection] = set()
        self._broker: Broker | None = None
        self._server: asyncio.Server | None = None
        self._port = 0
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._unhandled)
        self.darkness = asyncio.Event()
        disk.on_cut = lambda: loop.call_soon_threadsafe(self.darkness.set)

    @property
    def is_dark(self) -> bool:
        return self.disk.survivor is not None

    async def start(self) -> None:
        """Open the broker and listen. Raises PowerCut if the cut comes so early."""
        listener = Listener("127.0.0.1", 0)
        config = BrokerConfig((listener,), Path("/data"), SETTINGS)
        files = cast(Files, _OneAtATime(self.disk, self._lock, self._before_call))
        broker = self._broker = await Broker.open(config, wall_clock, files)
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Connection(broker, listener, self._connections), "127.0.0.1", 0
        )
        self._port = self._server.sockets[0].getsockname()[1]

    def begin_regular_work(self) -> None:
        """Checkpoints and retention, which change what there is to see."""
        assert self._broker
        self._broker.start()

    async def connect(self) -> AsyncClient:
        return await AsyncClient.connect(f"127.0.0.1:{self._port}")

    async def stop_cleanly(self) -> None:
        """As on SIGTERM. The power may still go before it is done."""
        assert self._broker
        self._broker.stop_waiting()
        await self._broker.close()

    async def end(self) -> None:
        """Cut the power if it is not, and let nothing of the process be left."""
        with self._lock:
            self.disk.pull_the_plug()
        if self._server:
            self._server.close()
        for connection in tuple(self._connections):
            connection.close()
        await asyncio.sleep(0)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._broker:
            self._broker.disk.close()

    def _unhandled(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not is_of_the_cut(error):
            trace = "".join(traceback.format_exception(error)) if error else ""
            self.complaints.append(f"{context['message']}: {trace}")


class Overheard(logging.Handler):
    """What the broker logs as a bug of its own, unless the cut explains it."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.bugs: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not is_of_the_cut(error):
            trace = "".join(traceback.format_exception(error))
            self.bugs.append(f"{record.getMessage()}: {trace}")


def is_of_the_cut(error: BaseException | None) -> bool:
    """To the broker the cut is a disk that fails. That a client is told so with the power on is for
    power_clients.py to complain about.
    """
    if isinstance(error, KafkaError) and error.code is ErrorCode.KAFKA_STORAGE_ERROR:
        return True
    while error is not None:
        if isinstance(error, PowerCut):
            return True
        error = error.__cause__ or error.__context__
    return False
