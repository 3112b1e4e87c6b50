"""A broker in a thread of its own: started, stopped and called from any other.

The loop of that thread owns the broker. `call` runs a coroutine there and waits for it. A stop
takes no more calls, lets those under way end, and then stops the broker.

Unlike `broker/server.py`'s `run`, it leaves Python's switch interval alone, which is the whole
program's: with 0.5 ms a thread that computes beside a busy broker gets a third to a half less done.
A program with many brokers may set it, if their answers matter more to it.
Above: kafkaesque.py. Below: broker/server.py.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError, Future
from typing import Any, ParamSpec, TypeVar

from kafkaesque.broker.apis import APIS, Api
from kafkaesque.broker.config import BrokerConfig, Listener
from kafkaesque.broker.server import Server, wall_clock
from kafkaesque.log.files import Files
from kafkaesque.types import Clock

P = ParamSpec("P")
T = TypeVar("T")

_DRAIN_SECONDS = 5.0
_DRAIN_POLL_SECONDS = 0.001
_CLOSED = "this broker is closed: open another"


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
        self._lock = threading.Lock()
        self._is_open = False
        self._calls: set[Future[Any]] = set()
        self._last_work: Callable[[], Coroutine[Any, Any, None]] | None = None
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._pid = os.getpid()
        # A daemon, so that a program that forgets to close it can end.
        self._thread = threading.Thread(target=self._run, name="kafkaesque", daemon=True)

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(listener.address for listener in self.server.listeners)

    @property
    def is_usable(self) -> bool:
        """Whether it can be called: from the process that it runs in, until it stops."""
        return self._is_open and self._pid == os.getpid()

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
        self._check_place()
        with self._lock:
            if not self._is_open:
                raise RuntimeError(_CLOSED)
            called = asyncio.run_coroutine_threadsafe(work(*args, **named), self._loop)
            self._calls.add(called)
        try:
            return called.result()
        except CancelledError:
            raise RuntimeError(_CLOSED) from None
        finally:
            with self._lock:
                self._calls.discard(called)

    def stop(self, last_work: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        """A clean stop, as by SIGTERM, after `last_work`. Once it has stopped, nothing."""
        if self._pid != os.getpid():
            return  # Forked: the thread is in the parent, and so are its sockets and files.
        with self._lock:
            if self._is_open:
                self._last_work = last_work
                self._loop.call_soon_threadsafe(self._stop.set)
        # The garbage collector may come to this in the broker's own thread, which cannot wait for
        # itself.
        if self._thread is not threading.current_thread():
            self._thread.join()
        self._raise_failure()

    def _check_place(self) -> None:
        if self._pid != os.getpid():
            raise RuntimeError(
                f"this broker runs in process {self._pid}: from another one, connect a Kafka "
                "client to its bootstrap_servers"
            )
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
        self._is_open = True
        self._ready.set()
        try:
            await self._stop.wait()
            await self._end_calls()
        finally:
            await self.server.stop()

    async def _end_calls(self) -> None:
        with self._lock:
            self._is_open = False
        if self._last_work:
            await self._last_work()
        self.server.broker.stop_waiting()
        deadline = self._loop.time() + _DRAIN_SECONDS
        while self._calls and self._loop.time() < deadline:
            await asyncio.sleep(_DRAIN_POLL_SECONDS)

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
