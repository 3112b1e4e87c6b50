"""The broker's threads, as greenlets on the virtual loop.

A job begins a moment later and is suspended at every single file call (files.py asks for that), so
that jobs of several partitions and the loop interleave at each of them, in any order. Calls that
the loop makes itself happen at once, as they do in the real one.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

from kafkaesque.broker.disk import Disk

T = TypeVar("T")


class GreenletDisk(Disk):
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        is_off: Callable[[], bool],
        delay: Callable[[str], float] = lambda job: 0.0,
    ) -> None:
        """`delay`: how long a job of that name waits for a thread."""
        super().__init__(loop)
        self._delay = delay
        self._main = getcurrent()
        self._is_off = is_off
        self._workers: dict[greenlet, None] = {}

    def run(self, job: Callable[[], T]) -> "asyncio.Future[T]":
        done: asyncio.Future[T] = self._loop.create_future()
        worker = greenlet(partial(self._carry_out_in_greenlet, job, done))
        self._workers[worker] = None
        if self._is_off():
            worker.switch()
        else:
            self._loop.call_later(self._delay(_name(job)), worker.switch)
        return done

    def run_read(self, job: Callable[[], T]) -> "asyncio.Future[T]":
        return self.run(job)

    def run_unpacking(self, job: Callable[[], T]) -> "asyncio.Future[T]":
        return self.run(job)

    def run_aside(self, job: Callable[[], T]) -> "asyncio.Future[T]":
        return self.run(job)

    def _carry_out_in_greenlet(self, job: Callable[[], Any], done: "asyncio.Future[Any]") -> None:
        try:
            result, error = job(), None
        except BaseException as raised:
            result, error = None, raised
        del self._workers[getcurrent()]
        if done.cancelled():
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)

    def pause(self, seconds: float) -> None:
        """Suspend the job that calls this; the loop itself is never suspended."""
        current = getcurrent()
        if current is not self._main and not self._is_off():
            self._loop.call_later(seconds, current.switch)
            self._main.switch()

    def close(self) -> None:
        """As threads are joined: what is under way comes to its end first."""
        while self._workers:
            next(iter(self._workers)).switch()

    def kill(self, error: BaseException) -> None:
        """Let nothing of the jobs be left."""
        for worker in list(self._workers):
            # One that has not begun raises it here.
            with suppress(type(error)):
                worker.throw(error)


def _name(job: Callable[[], Any]) -> str:
    """As `Swap.run`."""
    function = job.func if isinstance(job, partial) else job
    return getattr(function, "__qualname__", "")
