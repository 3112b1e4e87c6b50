"""Streams: answers that go on until their client leaves, the gateway stops, or all is said.

A stream reads and writes in turns: what its client does not take is not fetched. It ends at once
when the client goes away and frees what it holds. `Streams` bounds how many there are, and ends
them all when the gateway stops. A browser that is answered anything but 200 never comes back: a
gateway that stops, or whose cluster is away, says so in a stream of Server-Sent Events that ends at
once. The forms are in forms.py.
Above: read.py. Below: reading.py, forms.py.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    aclosing,
    contextmanager,
    suppress,
)
from typing import NamedTuple

from fastapi import Response
from starlette.types import Receive, Scope, Send

from kafkaesque.client.connection import ClusterError
from kafkaesque.errors import KafkaError
from kafkaesque.gateway.events.forms import Form
from kafkaesque.gateway.events.problems import ProblemError
from kafkaesque.gateway.events.reading import PAUSE, Gap, Reading
from kafkaesque.gateway.events.stats import Stats

_AWAY = "BROKER_NOT_AVAILABLE"
_CHUNK_BYTES = 32 << 10
_LAST_WORD_S = 0.5


class Streams:
    """Those that are open. Made in the event loop that runs them."""

    def __init__(self, most: int, stats: Stats) -> None:
        self._most = most
        self.stats = stats
        self.stopping = asyncio.Event()

    @contextmanager
    def place(self) -> Iterator[None]:
        if self.stats.streams >= self._most:
            self.stats.streams_refused += 1
            raise ProblemError(
                503,
                "TOO_MANY_STREAMS",
                f"{self._most} streams are open, and no more are allowed: come back later, or "
                "raise --max-streams of the gateway",
                headers={"retry-after": "5"},
            )
        self.stats.streams += 1
        try:
            yield
        finally:
            self.stats.streams -= 1


class Span(NamedTuple):
    """When a stream ends by itself: after so many events, or when all is read that there was."""

    limit: int | None = None
    until_end: bool = False
    keep_alive_s: float = 15.0


class StreamAnswer(Response):
    """Opened when it is sent, so that what is wrong can still be an ordinary answer."""

    def __init__(
        self,
        streams: Streams,
        reading: AbstractAsyncContextManager[Reading],
        form: Form,
        span: Span,
    ) -> None:
        super().__init__(media_type=form.media_type, headers={"cache-control": "no-store"})
        self._streams = streams
        self._open = reading
        self._form = form
        self._span = span
        # It is as long as it becomes.
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._streams.place():
            async with AsyncExitStack() as stack:
                trouble = b""
                reading: Reading | None = None
                try:
                    if not self._streams.stopping.is_set():
                        reading = await stack.enter_async_context(self._open)
                except ClusterError as error:
                    if not self._form.begins_in_trouble:
                        raise
                    trouble = self._form.problem(_AWAY, str(error))
                head = {"status": self.status_code, "headers": self.raw_headers}
                await send({"type": "http.response.start", **head})
                if reading is None:
                    await send({"type": "http.response.body", "body": trouble})
                else:
                    await self._run(reading, receive, send)

    async def _run(self, reading: Reading, receive: Receive, send: Send) -> None:
        writing = asyncio.create_task(self._write(reading, send))
        left = asyncio.create_task(_gone(receive))
        stopped = asyncio.create_task(self._streams.stopping.wait())
        tasks = {writing, left, stopped}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if not writing.cancelled():
            writing.result()
        if left.cancelled():
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORD_S):
                    await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _write(self, reading: Reading, send: Send) -> None:
        async def write(data: bytes) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": True})

        await write(self._form.head(reading.vector))
        try:
            async with aclosing(self._chunks(reading)) as chunks:
                async for chunk in chunks:
                    await write(chunk)
        except ProblemError as problem:
            await write(self._form.problem(problem.error, problem.message))
        except (ClusterError, KafkaError) as error:
            await write(self._form.problem(_AWAY, str(error)))

    async def _chunks(self, reading: Reading) -> AsyncGenerator[bytes, None]:
        limit, until_end, keep_alive_s = self._span
        form, stats, vector = self._form, self._streams.stats, reading.vector
        waiting = bytearray()
        sent, spoke_at = 0, time.monotonic()
        async with aclosing(reading.items(keep_alive_s)) as items:
            async for item in items:
                if item is PAUSE:
                    if not waiting and time.monotonic() - spoke_at >= keep_alive_s:
                        waiting += form.silence(vector)
                elif isinstance(item, Gap):
                    waiting += form.gap(item, vector)
                    stats.gaps += 1
                else:
                    waiting += form.event(item, vector)
                    stats.delivered += 1
                    sent += 1
                is_done = sent == limit or (until_end and item is PAUSE and reading.is_at_end)
                if is_done:
                    waiting += form.end(vector)
                if waiting and (item is PAUSE or is_done or len(waiting) >= _CHUNK_BYTES):
                    yield bytes(waiting)
                    waiting.clear()
                    spoke_at = time.monotonic()
                if is_done:
                    return


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
