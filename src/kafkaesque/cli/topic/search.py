"""`topic consume --where FILTER`: only records that a filter matches, and how far the search is.

The language is that of docs/reference/filters.md; with a registry, filters see decoded values.
Without a group whole batches are fetched and looked at together (`Search.partitions`); a member of
a group is given its records one by one. A person at a terminal is told every second how many
records were looked at. Above: consume.py. Below: client/matching.py, client/fetch.py, decoding.py.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING

import typer

from kafkaesque.cli.output import tell
from kafkaesque.cli.status_line import StatusLine
from kafkaesque.cli.stopping import StopRequest
from kafkaesque.client.connection import ClusterError, Connection
from kafkaesque.client.fetch import Fetched, Fetcher
from kafkaesque.client.filters import FilterError, Predicate, Subject, parse
from kafkaesque.client.matching import Matcher
from kafkaesque.client.record import Record
from kafkaesque.errors import ErrorCode
from kafkaesque.records.record import Record as LogRecord
from kafkaesque.types import TopicPartition

if TYPE_CHECKING:
    from kafkaesque.cli.topic.consume import Show
    from kafkaesque.cli.topic.decoding import Decoding
    from kafkaesque.client.registry import RegistryClient

_TELL_EVERY_S = 1.0
_LOOK_S = 0.2
_PARTITION_BYTES = 4 << 20
_FETCH_BYTES = 32 << 20


def parse_where(text: str) -> Predicate:
    try:
        return parse(text)
    except FilterError as error:
        raise typer.BadParameter(str(error), param_hint="--where") from None


class Search:
    """`decoding` and `registry` are there together, or not at all."""

    def __init__(
        self,
        predicate: Predicate,
        decoding: "Decoding | None",
        registry: "RegistryClient | None",
    ) -> None:
        self._predicate = predicate
        self._decoding = decoding
        self._decoder = None if decoding is None else decoding.decoder
        learn = None if decoding is None else decoding.learn
        self._matcher = Matcher(predicate, self._decoder, registry, learn)
        self.progress = Progress()

    def matches(self, record: Record) -> bool:
        if self._decoding is not None:
            self._decoding.learn((record.value,))
        looked = LogRecord(
            record.offset, record.timestamp_ms or 0, record.key, record.value, record.headers
        )
        subject = Subject(record.topic, record.partition, looked, self._decoder)
        found = self._predicate.matches(subject)
        self.progress.note(1, int(found))
        return found

    def run(
        self,
        connection: Connection,
        starts: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int] | None,
        show: "Show",
        *,
        read_committed: bool,
    ) -> None:
        """Show what matches in these partitions, until all is read, or enough, or Ctrl-C."""
        stop = StopRequest().listen()

        async def look() -> None:
            found = self.partitions(
                connection, starts, ends, lambda: stop.asked, read_committed=read_committed
            )
            async with aclosing(found) as records:
                async for record in records:
                    show(record)
                    if stop.asked or show.is_enough:
                        break

        try:
            asyncio.run(look())
        finally:
            self.progress.clear()
            stop.end()

    async def partitions(
        self,
        connection: Connection,
        starts: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int] | None,
        is_stopped: Callable[[], bool],
        *,
        read_committed: bool,
    ) -> AsyncGenerator[Record, None]:
        """Matches as they are found, until all ends are reached, or it is stopped."""
        async with Fetcher(
            connection,
            tell=tell,
            max_bytes=_FETCH_BYTES,
            partition_max_bytes=_PARTITION_BYTES,
            read_committed=read_committed,
        ) as fetcher:
            open_places = {
                place for place, start in starts.items() if ends is None or start < ends[place]
            }
            for place in open_places:
                fetcher.seek(place, starts[place])
            fetching: asyncio.Task[list[Fetched]] | None = None
            try:
                while open_places and not is_stopped():
                    fetching = fetching or asyncio.create_task(fetcher.fetch())
                    await asyncio.wait({fetching}, timeout=_LOOK_S)
                    if not fetching.done():
                        continue
                    done, fetching = fetching.result(), None
                    for fetched in done:
                        for record in self._found(fetcher, fetched, ends):
                            yield record
                        if _is_over(fetcher, fetched.place, ends):
                            open_places.discard(fetched.place)
                            fetcher.forget(fetched.place)
            finally:
                if fetching is not None:
                    fetching.cancel()
                    await asyncio.wait({fetching})

    def _found(
        self, fetcher: Fetcher, fetched: Fetched, ends: Mapping[TopicPartition, int] | None
    ) -> list[Record]:
        place = fetched.place
        if fetched.error is ErrorCode.OFFSET_OUT_OF_RANGE:
            # Retention was faster: what is left begins there.
            fetcher.seek(place, fetched.log_start_offset)
            return []
        if fetched.error is not ErrorCode.NONE:
            raise ClusterError(
                f"{place.topic}/{place.partition} cannot be read: {fetched.error.name}"
            )
        count, found = self._matcher.matching(fetched)
        end = None if ends is None else ends[place]
        records = [_shown(place, record) for record in found if end is None or record.offset < end]
        self.progress.note(count, len(records))
        return records


def _shown(place: TopicPartition, record: LogRecord) -> Record:
    return Record(
        place.topic,
        record.key,
        record.value,
        record.headers,
        place.partition,
        record.offset,
        record.timestamp,
    )


def _is_over(
    fetcher: Fetcher, place: TopicPartition, ends: Mapping[TopicPartition, int] | None
) -> bool:
    return ends is not None and fetcher.positions.get(place, 0) >= ends[place]


class Progress:
    """How many records were looked at, every second."""

    def __init__(self) -> None:
        self._looked = self._found = 0
        self._tell_at = time.monotonic() + _TELL_EVERY_S
        self._line = StatusLine()

    def note(self, looked: int, found: int) -> None:
        self._looked += looked
        self._found += found
        if not self._line.is_on:
            return
        if found:
            self.clear()
        if time.monotonic() >= self._tell_at:
            self._tell_at = time.monotonic() + _TELL_EVERY_S
            self._line.show(f"{self._looked:,} records looked at, {self._found:,} found")

    def clear(self) -> None:
        self._line.clear()
