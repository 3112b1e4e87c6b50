"""The catalog and its topic: questions are answered from the one, changes go to the other.

A change is answered when it has been read back, so that whoever is told of it finds it here. On
other registries it appears a moment later; who does not find something asks the topic first, with
`refresh`, whether there is more to read.
Above: app.py, routes/. Below: reading.py, writing.py.
"""

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from kafkaesque.client.connection import ClusterError, Connection
from kafkaesque.registry.catalog import Catalog
from kafkaesque.registry.decisions import Decide
from kafkaesque.registry.problems import ProblemError, too_slow
from kafkaesque.registry.reading import Reading
from kafkaesque.registry.writing import Settled, Topic, Writing


class Journal:
    def __init__(
        self,
        connection: Connection,
        topic: str,
        max_record_bytes: int,
        tell: Callable[[str], None],
    ) -> None:
        self._timeout_s = connection.timeout_s
        self._loop = asyncio.get_running_loop()
        reader = Topic(
            draft=lambda: self._wait_for(self._draft()),
            read_to_end=lambda: self._wait_for(self.refresh()),
            has_seen=lambda write_id: self._wait_for(self._has_seen(write_id)),
            settle=self._settle_later,
        )
        self.writing = Writing(connection, topic, max_record_bytes, reader)
        self.reading = Reading(connection, topic, tell, self.writing.note)
        self._task: asyncio.Task[None] | None = None
        self._settling: set[asyncio.Task[None]] = set()
        self._refreshing = asyncio.Lock()
        self._refreshes = 0

    @property
    def catalog(self) -> Catalog:
        return self.reading.catalog

    async def __aenter__(self) -> "Journal":
        """When the topic has been read to its end."""
        self._task = asyncio.create_task(self.reading.run())
        await self.refresh()
        self.writing.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.writing.stop)
        if self._settling:
            await asyncio.wait(self._settling)
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def change(self, decide: Decide) -> Any:
        """The answer of the decision, once it is written and read. Raises ProblemError."""
        return await asyncio.wrap_future(self.writing.submit(decide))

    async def refresh(self) -> None:
        """Read to where the topic ends now. Raises ProblemError if that takes too long."""
        asked_at = self._refreshes
        async with self._refreshing:
            # One that began after this was asked for has seen all that this one would.
            if self._refreshes > asked_at:
                return
            self._refreshes += 1
            try:
                async with asyncio.timeout(self._timeout_s):
                    await self._first_of(self._read_to_end())
            except TimeoutError:
                raise too_slow("the schemas' topic could not be read in time") from None

    async def _read_to_end(self) -> None:
        try:
            end = await self.reading.end()
        except ClusterError as error:
            raise too_slow(str(error)) from None
        await self.reading.until(end)

    async def _first_of(self, work: Any) -> None:
        """The work; or, if that ends before, what ended the reading."""
        assert self._task is not None
        working = asyncio.ensure_future(work)
        try:
            await asyncio.wait({working, self._task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            working.cancel()
        if not working.done() or working.cancelled():
            self._task.result()
        await working

    async def _draft(self) -> Catalog:
        await self.refresh()
        self.writing.begin_draft()
        return self.catalog.copy()

    async def _has_seen(self, write_id: bytes) -> bool:
        return self.reading.seen(write_id)

    def _wait_for(self, question: Any) -> Any:
        """For the thread that writes."""
        try:
            return asyncio.run_coroutine_threadsafe(question, self._loop).result()
        except ProblemError as problem:
            raise ClusterError(problem.message) from None

    def _settle_later(self, settled: Sequence[Settled], offset: int) -> None:
        self._loop.call_soon_threadsafe(self._start_settling, settled, offset)

    def _start_settling(self, settled: Sequence[Settled], offset: int) -> None:
        task = self._loop.create_task(self._settle(settled, offset))
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)

    async def _settle(self, settled: Sequence[Settled], offset: int) -> None:
        await self.reading.until(offset + 1)
        for wish, outcome in settled:
            if isinstance(outcome, Exception):
                wish.answer.set_exception(outcome)
            else:
                wish.answer.set_result(outcome)
