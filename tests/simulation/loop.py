"""An event loop on virtual time: when nothing is ready, the clock jumps to the next timer.

No sockets, no threads, no sleeping. One callback after the other, in an order that depends on
nothing but what was scheduled. When nothing is ready and no timer is set, nothing will ever happen
again, and whoever waits then waits for ever: that is an error.
"""

import asyncio
import heapq
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class NothingWillHappenError(Exception):
    """Somebody waits, and there is nothing left that could end it."""


class TooLateError(Exception):
    """Virtual time has passed its limit."""


class Listens(Protocol):
    """Where `create_server` leaves the factory of its connections: network.py."""

    def listen(self, factory: Callable[[], asyncio.BaseProtocol]) -> Any: ...


class VirtualLoop(asyncio.BaseEventLoop):
    """`stop_now` ends it between two callbacks: what is ready then never runs."""

    def __init__(self, now: float, network: Listens) -> None:
        super().__init__()
        self.until = float("inf")
        self._now = now
        self._network = network
        self._is_stopped_now = False

    def time(self) -> float:
        return self._now

    def stop_now(self) -> None:
        self._is_stopped_now = True
        self.stop()

    def go_on(self) -> None:
        self._is_stopped_now = False
        self._stopping = False

    @contextmanager
    def listening_on(self, network: Listens) -> Iterator[None]:
        """Servers that are created meanwhile listen there."""
        before, self._network = self._network, network
        try:
            yield
        finally:
            self._network = before

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Any, *args: Any, context: Any = None
    ) -> Any:
        return self.call_soon(callback, *args, context=context)

    async def create_server(self, protocol_factory: Any, *args: Any, **options: Any) -> Any:
        return self._network.listen(protocol_factory)

    def _process_events(self, event_list: Any) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    def _run_once(self) -> None:
        """The one private method of the base class that stands for the machine below it."""
        ready: Any = self._ready  # type: ignore[attr-defined]
        scheduled: Any = self._scheduled  # type: ignore[attr-defined]
        if not ready:
            self._jump(scheduled)
        while scheduled and (scheduled[0]._cancelled or scheduled[0]._when <= self._now):
            handle = heapq.heappop(scheduled)
            handle._scheduled = False
            if not handle._cancelled:
                ready.append(handle)
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()
                if self._is_stopped_now:
                    return

    def _jump(self, scheduled: Any) -> None:
        while scheduled and scheduled[0]._cancelled:
            heapq.heappop(scheduled)._scheduled = False
        if not scheduled:
            raise NothingWillHappenError
        self._now = max(self._now, scheduled[0]._when)
        if self._now > self.until:
            raise TooLateError

    def _timer_handle_cancelled(self, handle: Any) -> None:
        pass
