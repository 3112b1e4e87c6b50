"""The workers of one fan-out, as each of them sees the others: whoever is asked answers for all.

Every worker listens on a Unix socket in a directory that only their user can enter. Who connects
gets the worker's snapshot as JSON, then the end. A worker that does not answer in time is named as
missing, and delays nobody for longer than that.
Above: server.py, pages.py. Below: stats.py.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson

from kafkaesque.gateway.fanout.stats import Snapshot, Stats, merge

_ANSWER_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Siblings:
    """`worker` is the number of this one, `starts` how often it has been started."""

    worker: int = 0
    count: int = 1
    starts: int = 1
    directory: Path | None = None
    """None: there is one worker, and nobody to ask."""

    @asynccontextmanager
    async def answering(self, snapshot: Callable[[], Snapshot]) -> AsyncIterator[None]:
        """Answer the others as long as the block runs."""
        if self.directory is None:
            yield
            return

        async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(orjson.dumps(snapshot()))
            writer.close()

        place = self._place(self.worker)
        # Left by the one before, if that was killed.
        place.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(answer, place)
        try:
            yield
        finally:
            server.close()
            place.unlink(missing_ok=True)

    async def ask(self) -> tuple[list[Snapshot], list[int]]:
        """The others' snapshots, and the numbers of those who did not answer."""
        others = [number for number in range(self.count) if number != self.worker]
        answers = await asyncio.gather(*map(self._ask, others))
        missing = [number for number, answer in zip(others, answers, strict=True) if answer is None]
        return [answer for answer in answers if answer is not None], missing

    async def _ask(self, number: int) -> Snapshot | None:
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                reader, writer = await asyncio.open_unix_connection(self._place(number))
                try:
                    snapshot: Snapshot = orjson.loads(await reader.read())
                finally:
                    writer.close()
        except (OSError, TimeoutError, orjson.JSONDecodeError):
            return None
        return snapshot

    def _place(self, number: int) -> Path:
        assert self.directory is not None
        return self.directory / f"{number}.sock"


async def aggregated(siblings: Siblings, stats: Stats) -> Snapshot:
    """All workers' figures, this one's included."""
    snapshots, missing = await siblings.ask()
    return merge([stats.snapshot(), *snapshots], missing)


def short_enough(directory: str) -> bool:
    """A Unix socket's path may have 108 bytes, on some systems 104."""
    return len(os.fsencode(directory)) < 80
