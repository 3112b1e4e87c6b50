"""Reads what pipelines say, all the time, for all browsers that look at them, and else never.

While the topic is not there nobody asks for it: the look at the cluster says when it comes. While
the cluster does not answer, time stands still here: that we hear nothing is not the pipelines'
silence. Above: app.py, pages/pipelines.py. Below: client/board.py, pipelines_figures.py.
"""

import asyncio
import threading
import time
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

from kafkaesque.client.board import Board
from kafkaesque.client.connection import Connection
from kafkaesque.client.pipelines import TOPIC, Command, PipelineStatus, Verb
from kafkaesque.console.pipelines_figures import History, rows
from kafkaesque.console.poller import Poller
from kafkaesque.console.threads import in_thread

EVERY_S = 0.5
POLL_S = 0.3
LOOK_S = 5.0


@dataclass(frozen=True, slots=True)
class PipelinesView:
    """What the page draws. `version` grows with every look. None: nobody has looked yet."""

    version: int = 0
    rows: list[dict[str, Any]] | None = None


@dataclass(slots=True)
class _Known:
    """What has been read since the first page was opened. Its calls block."""

    board: Board
    history: History = field(default_factory=History)
    commands: dict[str, Command] = field(default_factory=dict)
    # A look goes on for a moment after the last page is left, and the end waits for it.
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def look(self) -> None:
        deadline_s = time.monotonic() + LOOK_S
        with self._lock:
            while said := self.board.poll(POLL_S):
                self.history.add(each for each in said if isinstance(each, PipelineStatus))
                self.commands |= {each.name: each for each in said if isinstance(each, Command)}
                if time.monotonic() > deadline_s:
                    break

    def close(self) -> None:
        with self._lock:
            self.board.close()


class PipelinesPoller:
    def __init__(self, connection: Connection, cluster: Poller) -> None:
        self.view = PipelinesView()
        self._connection = replace(connection, timeout_s=min(connection.timeout_s, LOOK_S))
        self._cluster = cluster
        self._watchers: set[Hashable] = set()
        self._task: asyncio.Task[None] | None = None
        self._statuses: dict[str, PipelineStatus] = {}

    def watch(self, watcher: Hashable) -> None:
        self._watchers.add(watcher)
        if self._task is None or self._task.done():
            # What was said before everybody left is no longer how it is.
            self.view = PipelinesView(self.view.version + 1)
            self._task = asyncio.get_running_loop().create_task(self._poll())

    def unwatch(self, watcher: Hashable) -> None:
        self._watchers.discard(watcher)
        if not self._watchers and self._task is not None:
            self._task.cancel()
            self._task = None

    def stop(self) -> None:
        for watcher in list(self._watchers):
            self.unwatch(watcher)

    async def tell(self, verb: Verb, name: str, run: str) -> bool:
        """Whether it was told; a run that is over cannot be. Raises ClusterError."""
        status = self._statuses.get(name)
        if status is None or status.run != run:
            return False

        def write() -> None:
            board = Board(self._connection)
            try:
                board.command(verb, status)
            finally:
                board.close()

        await in_thread(write)
        return True

    async def _poll(self) -> None:
        known = _Known(Board(self._connection))
        try:
            while True:
                await self._look(known)
                await asyncio.sleep(EVERY_S)
        finally:
            await in_thread(known.close)

    async def _look(self, known: _Known) -> None:
        view = self._cluster.view
        if view.snapshot is None or view.problem is not None:
            return
        if TOPIC in view.snapshot.topics:
            await in_thread(known.look)
        self._statuses = dict(known.board.statuses)
        now_ms = time.time_ns() // 1_000_000
        shown = rows(self._statuses.values(), known.commands, known.history, now_ms)
        self.view = PipelinesView(self.view.version + 1, shown)
