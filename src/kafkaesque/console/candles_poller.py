"""Reads the topic of candles while somebody looks at them, once for all browsers, and else never.

It begins some hours back, or with the last records of a topic that has been silent for longer, and
goes on with what comes. A topic that is not there is waited for, and so is a cluster; what was read
before stays. When the last page is left the reading ends, and what was read is forgotten.
Above: app.py, pages/candles.py. Below: candles.py, client/fetch.py.
"""

import asyncio
import time
from collections.abc import Hashable, Iterable
from dataclasses import replace

from kafkaesque.client.connection import ClusterError, Connection
from kafkaesque.client.fetch import EARLIEST, LATEST, Fetched, Fetcher
from kafkaesque.console.candles import TOPIC, Candles
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.types import TopicPartition

BACK_MS = 4 * 3_600_000
FEW, MANY = 2_000, 50_000
"""So many records of each partition at least, if there are, and at most."""
AGAIN_S = 1.0
PATIENCE_S = 5.0
FETCH_BYTES = 256 << 10


class CandlesPoller:
    def __init__(self, connection: Connection) -> None:
        self.candles = Candles()
        self.problem: str | None = None
        self.is_there: bool | None = None
        """The topic; None: nobody has asked yet."""
        self._connection = replace(connection, timeout_s=min(connection.timeout_s, PATIENCE_S))
        self._watchers: set[Hashable] = set()
        self._task: asyncio.Task[None] | None = None

    def watch(self, watcher: Hashable) -> None:
        self._watchers.add(watcher)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._read())

    def unwatch(self, watcher: Hashable) -> None:
        self._watchers.discard(watcher)
        if not self._watchers and self._task is not None:
            self._task.cancel()
            self._task = None
            self.candles.clear()
            self.is_there = self.problem = None

    def stop(self) -> None:
        for watcher in list(self._watchers):
            self.unwatch(watcher)

    async def _read(self) -> None:
        while True:
            try:
                async with Fetcher(self._connection, partition_max_bytes=FETCH_BYTES) as fetcher:
                    await self._follow(fetcher)
            except ClusterError as error:
                self.problem = str(error)
            except KafkaError as error:
                # The topic may be another one of the same name: all of it is read anew.
                self.candles.clear()
                self.problem = str(error)
            await asyncio.sleep(AGAIN_S)

    async def _follow(self, fetcher: Fetcher) -> None:
        """Until the topic is not there."""
        count = (await fetcher.partitions([TOPIC])).get(TOPIC, 0)
        self.is_there, self.problem = count > 0, None
        if not count:
            self.candles.clear()
            return
        await _begin(fetcher, [TopicPartition(TOPIC, number) for number in range(count)])
        while True:
            for fetched in await fetcher.fetch():
                self._take(fetcher, fetched)
                # A long way back is many records: pages are served in between.
                await asyncio.sleep(0)

    def _take(self, fetcher: Fetcher, fetched: Fetched) -> None:
        is_trimmed = fetched.offset < fetched.log_start_offset
        if fetched.error is ErrorCode.OFFSET_OUT_OF_RANGE and is_trimmed:
            fetcher.seek(fetched.place, fetched.log_start_offset)
        elif fetched.error:
            name = fetched.error.name
            raise KafkaError(fetched.error, f"{fetched.place} cannot be read now ({name})")
        else:
            self.candles.add((record.key, record.value) for record in fetched.records())


async def _begin(fetcher: Fetcher, places: Iterable[TopicPartition]) -> None:
    firsts = await fetcher.offsets(places, EARLIEST)
    ends = await fetcher.offsets(places, LATEST)
    recent = await fetcher.offsets(places, int(time.time() * 1000) - BACK_MS)
    for place in places:
        fetcher.seek(place, beginning(firsts[place], recent[place], ends[place]))


def beginning(first: int, recent: int, end: int) -> int:
    """Where to begin, of a log's first offset, that of some hours ago, and its end."""
    return max(first, end - MANY, min(recent, end - FEW))
