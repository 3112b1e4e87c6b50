"""Work that blocks on the disk, in threads, so that the event loop never does.

Only system calls that release the GIL belong here: fdatasync, cold reads, unlinking. Heavy Python
work in a thread would delay the loop by milliseconds (DESIGN.md).

Threads of our own rather than an executor: a flush is on the way of every durable produce, and an
executor's two futures and their locks cost more than the hand-over itself. What ends while the loop
is on its way to look is told to it in one wake-up. How long flushes take is kept here, for all
partitions. Above: partition.py, storage.py. Below: metrics.py.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar

from kafkaesque.metrics import Histogram, Metric, gauge

T = TypeVar("T")

THREADS = 8
_BOUNDS_SECONDS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0)

_Job: TypeAlias = tuple[Callable[[], Any], "asyncio.Future[Any]"]
_End: TypeAlias = tuple["asyncio.Future[Any]", Any, BaseException | None]


class Disk:
    """A few threads for blocking calls, started when there is work for one more."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._under_way = 0
        self._ended: deque[_End] = deque()
        self._is_woken = False
        self.fsync_seconds = Histogram(_BOUNDS_SECONDS)

    def metrics(self) -> Iterator[Metric]:
        yield self.fsync_seconds.metric(
            "kafkaesque_fsync_seconds", "How long the disk took to make a partition durable."
        )
        yield gauge(
            "kafkaesque_fsync_max_seconds", "The longest since the start.", self.fsync_seconds.max
        )

    def run(self, job: Callable[[], T]) -> asyncio.Future[T]:
        done: asyncio.Future[T] = self._loop.create_future()
        self._under_way += 1
        if self._under_way > len(self._threads) < THREADS:
            self._start_thread()
        if self._threads:
            self._jobs.put((job, done))
        else:
            self._carry_out(job, done)
        return done

    def _start_thread(self) -> None:
        name = f"disk-{len(self._threads)}"
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            return  # The interpreter is ending and gives no threads: those there are must do.
        self._threads.append(thread)

    def _work(self) -> None:
        while (given := self._jobs.get()) is not None:
            self._carry_out(*given)

    def _carry_out(self, job: Callable[[], Any], done: "asyncio.Future[Any]") -> None:
        ended: _End
        try:
            ended = (done, job(), None)
        except BaseException as error:
            ended = (done, None, error)
        self._ended.append(ended)
        if not self._is_woken:
            self._is_woken = True
            self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        # Before looking: whoever ends something from now on wakes the loop again.
        self._is_woken = False
        while self._ended:
            done, result, error = self._ended.popleft()
            self._under_way -= 1
            if done.cancelled():
                continue
            if error is None:
                done.set_result(result)
            else:
                done.set_exception(error)

    def close(self) -> None:
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
