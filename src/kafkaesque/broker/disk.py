"""Work that blocks on the disk, in threads, so that the event loop never does.

Only system calls that release the GIL belong here: fdatasync, cold reads, unlinking. Heavy Python
work in a thread would delay the loop by milliseconds (DESIGN.md).

Flushes have threads of their own (`run`), and so have reads (`run_read`), housekeeping
(`run_aside`: checkpoints, removals, repairs) and the unpacking of batches (`run_unpacking`, which
needs no disk): a thousand checkpoints are never ahead of a flush, and files that hang there, or
under a reader, take no thread from it. How many of the reading threads files that hang may take,
cold_reads.py says.

Threads of our own rather than an executor: a flush is on the way of every durable produce, and an
executor's two futures and their locks cost more than the hand-over itself. What ends while the loop
is on its way to look is told to it in one wake-up. How long flushes take is kept here, for all
partitions. Above: partition.py, storage.py. Below: metrics.py.
"""

import asyncio
import errno
import logging
import shutil
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from time import monotonic
from typing import Any, TypeAlias, TypeVar

from kafkaesque.broker.flushes import Flushes
from kafkaesque.metrics import Histogram, Metric, gauge

T = TypeVar("T")

logger = logging.getLogger(__name__)

_THREADS = 8
_THREADS_READING = 32
_MANY_READING = 16
_THREADS_UNPACKING = 4
"""Two of them at most unpack what is large."""
_THREADS_ASIDE = 32
_MANY_ASIDE = 16
"""While so many are taken, `upkeep.py` begins nothing more. With what it began at once, repairs (7)
and compacted segments (2), files that hang may keep 29. The others are for what is done for the
whole directory.
"""
_ROOM_SECONDS = 5.0
_LAST_READS_SECONDS = 1.0
_BOUNDS_SECONDS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0)

_Job: TypeAlias = tuple[Callable[[], Any], "asyncio.Future[Any]"]
_End: TypeAlias = tuple["asyncio.Future[Any]", Any, BaseException | None]


class Disk:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._threads = _Threads(loop, "disk", _THREADS)
        self._threads_reading = _Threads(loop, "reading", _THREADS_READING)
        self._threads_aside = _Threads(loop, "housekeeping", _THREADS_ASIDE)
        self._threads_unpacking = _Threads(loop, "unpacking", _THREADS_UNPACKING)
        self._looking_for_room: asyncio.Future[Any] | None = None
        self.fsync_seconds = Histogram(_BOUNDS_SECONDS)
        self.flushes = Flushes()

    def metrics(self) -> Iterator[Metric]:
        yield self.fsync_seconds.metric(
            "kafkaesque_fsync_seconds", "How long the disk took to make a partition durable."
        )
        yield gauge(
            "kafkaesque_fsync_max_seconds", "The longest since the start.", self.fsync_seconds.max
        )

    def run(self, job: Callable[[], T]) -> asyncio.Future[T]:
        """What a client waits for, and ends: a flush."""
        return self._threads.run(job)

    def run_read(self, job: Callable[[], T]) -> asyncio.Future[T]:
        """What a client waits for, or has waited for: it may be gone, and the job goes on."""
        return self._threads_reading.run(job)

    def run_unpacking(self, job: Callable[[], T]) -> asyncio.Future[T]:
        """What takes long, lets go of the GIL, and touches no file."""
        return self._threads_unpacking.run(job)

    def run_aside(self, job: Callable[[], T]) -> asyncio.Future[T]:
        """Housekeeping, which may take its time."""
        return self._threads_aside.run(job)

    @property
    def has_room_aside(self) -> bool:
        """Whether there are threads left for the housekeeping of one more."""
        return self._threads_aside.under_way < _MANY_ASIDE

    @property
    def has_room_to_read(self) -> bool:
        """Whether there are threads left for one more read of those who have one under way."""
        return self._threads_reading.under_way < _MANY_READING

    async def room(self, path: str) -> tuple[int, int] | None:
        """Bytes in all and free bytes. None: the disk does not say. One thread asks, for all."""
        looking = self._looking_for_room
        if looking is None or looking.done():
            looking = self.run_read(partial(shutil.disk_usage, path))
            looking.add_done_callback(lambda done: done.exception())
            self._looking_for_room = looking
        await asyncio.wait([looking], timeout=_ROOM_SECONDS)
        if not looking.done():
            return None
        usage = looking.result()
        return usage.total, usage.free

    async def ended(self) -> None:
        """When no more is asked for: whatever writes has come to its end, however long it takes."""
        await self._threads_aside.ended()
        await self._threads.ended()

    def close(self) -> None:
        """Ends the threads. Reads that hang are left to their end, which is the process's: they
        change nothing.
        """
        self._threads_aside.close()
        self._threads_unpacking.close()
        self._threads.close()
        if left := self._threads_reading.close(_LAST_READS_SECONDS):
            logger.warning("%d reads hang at the disk; nobody waits for them any more", left)


class _Threads:
    """A few threads for blocking calls, started when there is work for one more."""

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str, most: int) -> None:
        self._loop = loop
        self._name = name
        self._most = most
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self.under_way = 0
        self._all_ended: asyncio.Future[None] | None = None
        self._ended: deque[_End] = deque()
        self._is_woken = False
        self._is_closed = False

    def run(self, job: Callable[[], T]) -> asyncio.Future[T]:
        done: asyncio.Future[T] = self._loop.create_future()
        if self._is_closed:
            done.set_exception(OSError(errno.ESHUTDOWN, "the broker has stopped"))
            return done
        self.under_way += 1
        if self.under_way > len(self._threads) < self._most:
            self._start_thread()
        if self._threads:
            self._jobs.put((job, done))
        else:
            self._carry_out(job, done)
        return done

    def _start_thread(self) -> None:
        name = f"{self._name}-{len(self._threads)}"
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            return  # The interpreter is ending and gives no threads: those there are must do.
        self._threads.append(thread)

    def _work(self) -> None:
        while (given := self._jobs.get()) is not None:
            self._carry_out(*given)
            del given  # What was read: the next job may be long in coming.

    def _carry_out(self, job: Callable[[], Any], done: "asyncio.Future[Any]") -> None:
        ended: _End
        try:
            ended = (done, job(), None)
        except BaseException as error:
            ended = (done, None, error)
        self._ended.append(ended)
        # An error keeps this frame: it must not keep the error, or both stay until cycles are
        # collected, with all that the job held.
        del job, done, ended
        if not self._is_woken:
            self._is_woken = True
            # A read may end when the loop is closed: nobody waits for it.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        # Before looking: whoever ends something from now on wakes the loop again.
        self._is_woken = False
        while self._ended:
            done, result, error = self._ended.popleft()
            self.under_way -= 1
            if done.cancelled():
                continue
            if error is None:
                done.set_result(result)
            else:
                done.set_exception(error)
        if self._all_ended and not self._all_ended.done() and not self.under_way:
            self._all_ended.set_result(None)

    async def ended(self) -> None:
        while self.under_way:
            self._all_ended = self._loop.create_future()
            await self._all_ended

    def close(self, seconds: float | None = None) -> int:
        """How many threads are left after so long; without that, it waits for all."""
        self._is_closed = True
        for _ in self._threads:
            self._jobs.put(None)
        until = None if seconds is None else monotonic() + seconds
        for thread in self._threads:
            thread.join(None if until is None else max(until - monotonic(), 0))
        return sum(thread.is_alive() for thread in self._threads)
