"""The topic is read, from its beginning and for ever: every change of the catalog comes from here.

What the registry writes itself it also reads back, so that a catalog is nothing but its topic.
`seen` remembers which writes have come, by the ids in their headers.
Above: journal.py. Below: client/fetch.py, log_records.py, catalog.py.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from kafkaesque.client.connection import Connection
from kafkaesque.client.fetch import EARLIEST, LATEST, Fetched, Fetcher
from kafkaesque.errors import ErrorCode
from kafkaesque.records.record import Record
from kafkaesque.registry.catalog import Catalog
from kafkaesque.registry.log_records import UnreadableRecordError, decode
from kafkaesque.types import TopicPartition

WRITE_ID: Final = "kafkaesque-write"
_REMEMBERED: Final = 10_000
_PAUSE_S: Final = 1.0


class Reading:
    """One task. `seen_write` is told the id of every write, or None for those of others' making."""

    def __init__(
        self,
        connection: Connection,
        topic: str,
        tell: Callable[[str], None],
        seen_write: Callable[[bytes | None], None],
    ) -> None:
        self.catalog = Catalog()
        self.next_offset = 0
        self.unreadable = 0
        """Records that were left out."""
        self._place = TopicPartition(topic, 0)
        self._fetcher = Fetcher(connection, tell=tell)
        self._tell = tell
        self._seen_write = seen_write
        self._writes: OrderedDict[bytes, None] = OrderedDict()
        self._moved = asyncio.Condition()

    def seen(self, write_id: bytes) -> bool:
        return write_id in self._writes

    async def run(self) -> None:
        async with self._fetcher:
            self._fetcher.seek(self._place, 0)
            while True:
                for fetched in await self._fetcher.fetch():
                    await self._take(fetched)

    async def end(self) -> int:
        """Where the topic ends now, for readers of what is committed."""
        return (await self._fetcher.offsets([self._place], LATEST))[self._place]

    async def until(self, offset: int) -> None:
        """Wait until everything before that offset has been applied."""
        async with self._moved:
            await self._moved.wait_for(lambda: self.next_offset >= offset)

    async def _take(self, fetched: Fetched) -> None:
        if fetched.error is not ErrorCode.NONE:
            await self._begin_anew(fetched.error)
            return
        for record in fetched.records():
            self._apply(record)
        await self._move_to(fetched.next_offset)

    async def _move_to(self, offset: int) -> None:
        async with self._moved:
            self.next_offset = offset
            self._moved.notify_all()

    async def _begin_anew(self, error: ErrorCode) -> None:
        """The topic is not what it was: it is read from its beginning, whenever that comes."""
        self._tell(f"{self._place.topic} is read again from its beginning ({error.name})")
        await asyncio.sleep(_PAUSE_S)
        self.catalog = Catalog()
        self._seen_write(None)
        await self._move_to(0)
        start = 0
        if error is ErrorCode.OFFSET_OUT_OF_RANGE:
            start = (await self._fetcher.offsets([self._place], EARLIEST))[self._place]
        self._fetcher.seek(self._place, start)

    def _apply(self, record: Record) -> None:
        write_id = next((data for name, data in record.headers if name == WRITE_ID), None)
        if write_id is not None:
            self._writes[write_id] = None
            if len(self._writes) > _REMEMBERED:
                self._writes.popitem(last=False)
        self._seen_write(write_id)
        try:
            change = decode(record.key, record.value)
        except UnreadableRecordError as error:
            self.unreadable += 1
            self._tell(f"offset {record.offset} of {self._place.topic} is left out: {error}")
            return
        if change is not None:
            self.catalog.apply(change)
