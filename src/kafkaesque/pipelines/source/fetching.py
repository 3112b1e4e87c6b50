"""What a process keeps from one task to the next: an event loop in a thread, and its fetchers.

Spark's workers run one task after the other in the same process, and planning has processes of its
own: connections that are open already save each of them the greeting. The loop has a thread to
itself, so that the next answer comes in while a task decodes the one before.
Above: reading.py, planning.py. Below: client/fetch.py.
"""

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from kafkaesque.client.columns import compiled
from kafkaesque.client.fetch import Fetcher
from kafkaesque.pipelines.source.options import SourceOptions

T = TypeVar("T")

WORTH_COMPILING: Final = 3_000_000
"""Records, as many as must be read by a process before it loads the compiled loop: to load it takes
as long as the loop saves with some four million."""
JSON_WORTH: Final = 4
"""As many records as one whose JSON is decoded, too: the loop for that saves so much more."""


class FetchLoop:
    """Runs what is asynchronous, for callers that are not."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._fetchers: dict[Any, Fetcher] = {}
        self._expected = 0
        threading.Thread(target=self._loop.run_forever, name="fetching", daemon=True).start()

    def fetcher(self, options: SourceOptions) -> Fetcher:
        """The one for this cluster, made when it is first asked for."""
        key = (options.connection, options.read_committed, options.max_bytes)
        if key not in self._fetchers:
            self._fetchers[key] = Fetcher(
                options.connection,
                read_committed=options.read_committed,
                max_bytes=2 * options.max_bytes,
                partition_max_bytes=options.max_bytes,
                tell_silence=True,
            )
        return self._fetchers[key]

    def expect(self, records: int) -> None:
        """So many more are going to be read."""
        self._expected += records
        if self._expected >= WORTH_COMPILING:
            compiled.load()

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.start(work).result()


_kept: FetchLoop | None = None


def fetch_loop() -> FetchLoop:
    """This process's own; threads do not survive a fork."""
    global _kept
    if _kept is None or _kept.pid != os.getpid():
        _kept = FetchLoop()
    return _kept
