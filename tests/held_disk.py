"""Threads of a broker that a test holds: what is handed to them waits until it is let go.

While nothing is held, a job is done in the next turn of the loop. No threads: a test decides what
comes between the beginning and the end of a flush.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from kafkaesque.broker.disk import Disk

T = TypeVar("T")


class HeldDisk(Disk):
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.is_held = False
        self._waiting: deque[tuple[Callable[[], Any], asyncio.Future[Any]]] = deque()

    def run(self, job: Callable[[], T]) -> asyncio.Future[T]:
        done: asyncio.Future[T] = self._loop.create_future()
        self._waiting.append((job, done))
        self._loop.call_soon(self._go_on)
        return done

    def run_read(self, job: Callable[[], T]) -> asyncio.Future[T]:
        return self.run(job)

    def run_unpacking(self, job: Callable[[], T]) -> asyncio.Future[T]:
        return self.run(job)

    def run_aside(self, job: Callable[[], T]) -> asyncio.Future[T]:
        return self.run(job)

    def _go_on(self) -> None:
        if not self.is_held and self._waiting:
            self.let_go()

    @property
    def waits(self) -> bool:
        """Whether there is anything to be let go."""
        return bool(self._waiting)

    def let_go(self, failure: BaseException | None = None) -> None:
        """Do what has waited longest, or let it fail."""
        job, done = self._waiting.popleft()
        try:
            if failure is not None:
                raise failure
            done.set_result(job())
        except Exception as error:
            done.set_exception(error)

    def hold_back(self, failure: OSError | None = None) -> Callable[[], None]:
        """Let what has come last be late; what comes after it is not. Call the result to do it, or
        to let it fail.
        """
        job, done = self._waiting.pop()
        if failure is not None:
            return lambda: done.set_exception(failure)
        return lambda: done.set_result(job())

    async def let_all_go(self) -> None:
        """Hold nothing any more, and wait until nothing waits."""
        self.is_held = False
        while self._waiting:
            self.let_go()
            await settled()

    def close(self) -> None:
        assert not self._waiting


async def settled() -> None:
    """Until everybody who can go on without the disk has."""
    for _ in range(20):
        await asyncio.sleep(0)
