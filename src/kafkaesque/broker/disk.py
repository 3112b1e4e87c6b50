"""Work that blocks on the disk, in threads, so that the event loop never does.

Only system calls that release the GIL belong here: fdatasync, cold reads, unlinking. Heavy Python
work in a thread would delay the loop by milliseconds (DESIGN.md).
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

_THREADS = 8


class Disk:
    """A few threads for blocking calls."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="disk")
        self._closed = False

    def run(self, job: Callable[[], T]) -> asyncio.Future[T]:
        try:
            return self._loop.run_in_executor(self._threads, job)
        except RuntimeError:
            if self._closed:
                raise
            return self._run_here(job)

    def _run_here(self, job: Callable[[], T]) -> asyncio.Future[T]:
        """The interpreter is ending and gives no threads any more, nor is anyone kept waiting."""
        done = self._loop.create_future()
        try:
            done.set_result(job())
        except Exception as error:
            done.set_exception(error)
        return done

    def close(self) -> None:
        self._closed = True
        self._threads.shutdown(wait=True)
