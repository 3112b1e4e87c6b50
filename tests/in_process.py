"""A broker in a thread of this process, for tests that bring its clock or its files.

To clients it is a broker like any other. See broker_process.py for one that can be killed.
"""

import asyncio
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import uvloop

from kafkaesque.broker.config import BrokerConfig, Listener
from kafkaesque.broker.server import Server, wall_clock
from kafkaesque.log.files import Files
from kafkaesque.types import Clock


class InProcessBroker:
    """Starts on a free port; use it in a `with`."""

    def __init__(
        self,
        data_dir: Path | None,
        settings: Mapping[str, str] | None = None,
        *,
        clock: Clock = wall_clock,
        files: Files | None = None,
    ) -> None:
        config = BrokerConfig.of([Listener("127.0.0.1", 0)], data_dir, settings or {})
        self._server = Server(config, clock, files)
        self._listening = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self._stopped: asyncio.Event
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self._server.listeners[0].port}"

    def start(self) -> "InProcessBroker":
        self._thread.start()
        self._listening.wait()
        self._raise_failure()
        return self

    def stop(self) -> None:
        """A clean stop, as by SIGTERM."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()
        self._raise_failure()

    def _run(self) -> None:
        try:
            # As `kafkaesque broker` does. Also, asyncio's own loop leaks a socket that it accepts
            # while its server is being closed (the transport fails to attach).
            uvloop.run(self._serve())
        except BaseException as failure:
            self._failure = failure
        finally:
            self._listening.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        await self._server.start()
        self._listening.set()
        await self._stopped.wait()
        await self._server.stop()

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def __enter__(self) -> "InProcessBroker":
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
