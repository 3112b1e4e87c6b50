"""The registry as the pages see it: a list that stays up to date, and calls that do not block.

The list is asked for while a page of it is open, every few seconds, and else never. A registry that
does not answer is a state like any other: the last list stays, and `problem` says what is wrong.
Above: app.py, pages/. Below: client/registry, client/subjects.py, schema_reader.py.
"""

import asyncio
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypeVar

from kafkaesque.client.registry import RegistryClient, RegistryError, Schema
from kafkaesque.client.schema_diff import Verdict
from kafkaesque.client.subjects import Subject, subjects
from kafkaesque.console.schema_reader import SchemaReader
from kafkaesque.console.threads import in_thread

T = TypeVar("T")
Judge: TypeAlias = Callable[[RegistryClient, Schema, Schema], Sequence[Verdict]]
"""Who can read whom, of an old and a new schema."""

EVERY_S = 2.0
# Asking may take no more than this share of the time, however many subjects there are.
SHARE = 0.25


@dataclass(frozen=True, slots=True)
class SchemasView:
    """What the page draws. `version` grows with every answer, and with every one that fails."""

    version: int = 0
    subjects: tuple[Subject, ...] | None = None
    problem: str | None = None


class Schemas:
    def __init__(self, registry: RegistryClient, judge: Judge) -> None:
        self.view = SchemasView()
        self.reader = SchemaReader(registry)
        self.judge = judge
        self._registry = registry
        self._watchers: set[Hashable] = set()
        self._task: asyncio.Task[None] | None = None

    async def ask(self, call: Callable[[RegistryClient], T]) -> T:
        """Raises RegistryError."""
        return await in_thread(partial(call, self._registry))

    def watch(self, watcher: Hashable) -> None:
        self._watchers.add(watcher)
        if self._task is None or self._task.done():
            # What was seen before everybody left is no longer how it is.
            self.view = SchemasView(version=self.view.version + 1)
            self._task = asyncio.get_running_loop().create_task(self._poll())

    def unwatch(self, watcher: Hashable) -> None:
        self._watchers.discard(watcher)
        if not self._watchers and self._task is not None:
            self._task.cancel()
            self._task = None

    def stop(self) -> None:
        for watcher in list(self._watchers):
            self.unwatch(watcher)
        self._registry.close()

    async def _poll(self) -> None:
        while True:
            began_s = time.monotonic()
            version = self.view.version + 1
            try:
                found = await self.ask(subjects)
                self.view = SchemasView(version, tuple(found))
            except RegistryError as error:
                self.view = SchemasView(version, self.view.subjects, str(error))
            took_s = time.monotonic() - began_s
            await asyncio.sleep(max(EVERY_S - took_s, took_s * (1 / SHARE - 1)))
