"""Threads for handlers that are plain functions: as many as are needed, up to a limit.

They are daemons: a handler that never returns must not keep the process from ending, which is what
concurrent.futures' threads would do. Above: calls.py, dead_letters.py.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeAlias

_Job: TypeAlias = "tuple[Future[Any], Callable[..., Any], tuple[Any, ...]] | None"


class Workers:
    """`start` returns at once; jobs begin in the order they came."""

    def __init__(self, limit: int, name: str) -> None:
        self.limit = limit
        self._name = name
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._threads = 0
        self._unfinished = 0
        self._lock = threading.Lock()

    def start(self, call: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        self._jobs.put((future, call, arguments))
        with self._lock:
            self._unfinished += 1
            if self._unfinished > self._threads and self._threads < self.limit:
                self._threads += 1
                name = f"{self._name}-{self._threads}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
        return future

    def end(self) -> None:
        """Idle threads end; one that is at work ends after it."""
        with self._lock:
            for _ in range(self._threads):
                self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, call, arguments = job
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call(*arguments))
                except BaseException as error:  # Its owner decides.
                    future.set_exception(error)
            with self._lock:
                self._unfinished -= 1
