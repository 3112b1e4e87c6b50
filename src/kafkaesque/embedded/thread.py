"""A broker in a thread of its own: started, stopped and called from any other.

The loop of that thread owns the broker. `call` runs a coroutine there and waits for it.
Above: kafkaesque.py. Below: broker/server.py.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, ParamSpec, TypeVar

from kafkaesque.broker.apis import APIS, Api
from kafkaesque.broker.config import BrokerConfig, Listener
from kafkaesque.broker.server import Server, wall_clock
from kafkaesque.log.files import Files
from kafkaesque.types import Clock

P = ParamSpec("P")
T = TypeVar("T")


class BrokerThread:
    """One broker and its event loop. It listens where its configuration says, and where told."""

    def __init__(
        self,
        config: BrokerConfig,
        *,
        clock: Clock = wall_clock,
        files: Files | None = None,
        apis: Mapping[int, Api] = APIS,
    ) -> None:
        self.server = Server(config, clock, files, apis)
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._pid = os.getpid()
        # A daemon, so that a program that forgets to close it can end.
        self._thread = threading.Thread(target=self._run, name="kafkaesque", daemon=True)

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{at.host}:{at.port}" for at in self.server.listeners)

    def start(self) -> "BrokerThread":
        """Returns when the broker is open; raises what kept it from opening."""
        self._thread.start()
        self._ready.wait()
        self._raise_failure()
        return self

    def listen(self, host: str, port: int) -> None:
        self.call(self.server.listen, Listener(host, port))

    def call(
        self, work: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **named: P.kwargs
    ) -> T:
        """Run `work` on the loop, and wait for what it returns."""
        self._check_usable()
        return asyncio.run_coroutine_threadsafe(work(*args, **named), self._loop).result()

    def stop(self) -> None:
        """A clean stop, as by SIGTERM. Once it has stopped, nothing."""
        if self._pid != os.getpid():
            return  # Forked: the thread is in the parent, and so are its sockets and files.
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        # The garbage collector may come to this in the broker's own thread, which cannot wait for
        # itself.
        if self._thread is not threading.current_thread():
            self._thread.join()
        self._raise_failure()

    def _check_usable(self) -> None:
        if self._pid != os.getpid():
            raise RuntimeError(
                f"this broker runs in process {self._pid}: from another one, connect a Kafka "
                "client to its bootstrap_servers"
            )
        if not self._thread.is_alive():
            raise RuntimeError("this broker is closed: open another")
        if self._thread is threading.current_thread():
            raise RuntimeError("the broker's own thread cannot wait for itself")

    def _run(self) -> None:
        try:
            _runner()(self._serve())
        except BaseException as failure:
            self._failure = failure
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        await self.server.start()
        self._ready.set()
        await self._stop.wait()
        await self.server.stop()

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure


def _runner() -> Callable[[Any], None]:
    try:
        import uvloop
    except ImportError:
        return asyncio.run
    return uvloop.run
