"""One reader's way through the partitions of some topics: pulled by its client, never pushed.

`open_reading` finds out where to begin. `items` then gives what is wanted in the order of the
offsets of each partition, a gap where retention has been faster than the reader, and a `PAUSE`
whenever there is nothing at hand. `vector` says at every item where to go on after it. What is not
asked for is not fetched, but for one fetch ahead: a slow client costs that and no more.

A topic that grows is followed: its new partitions are read from their first event on. With
schemas, those that are not known are learnt before anything of a fetch is looked at. A filter looks
at the records of a large fetch together, in a thread, where that can be (client/matching.py).
Above: read.py, streams.py. Below: client/fetch.py, want.py, start.py, ../schemas.py.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from enum import Enum
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from kafkaesque.client.connection import ClusterError
from kafkaesque.client.fetch import EARLIEST, LATEST, Fetched, Fetcher
from kafkaesque.client.filters import Predicate
from kafkaesque.client.matching import Matcher
from kafkaesque.client.vectors import Vector
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.gateway.events.config import EventsConfig
from kafkaesque.gateway.events.problems import ProblemError, bad_parameter, of_code, unknown_topic
from kafkaesque.gateway.events.start import End, Moment, Offset, Resume, Start
from kafkaesque.gateway.events.want import Want
from kafkaesque.records.record import Record
from kafkaesque.types import TopicPartition

if TYPE_CHECKING:
    from kafkaesque.gateway.schemas import Schemas

_MANY = 1000
"""Records that are worth a thread, and columns."""
_TURN = 256
"""Records that are looked at before others have a turn of the loop."""


class Match(NamedTuple):
    place: TopicPartition
    record: Record


class Gap(NamedTuple):
    """What was to come and is no more, both ends included. `reset`: the topic was made anew, or cut
    short; the reader begins again with its first event."""

    place: TopicPartition
    first: int
    last: int
    reason: Literal["expired", "reset"]


class Pause(Enum):
    PAUSE = "pause"


PAUSE = Pause.PAUSE
Item: TypeAlias = Match | Gap | Literal[Pause.PAUSE]
Offsets: TypeAlias = Mapping[TopicPartition, int]


class Reading:
    """`firsts` and `ends` are where the partitions began and ended when it was opened."""

    def __init__(
        self,
        fetcher: Fetcher,
        want: Want,
        starts: Offsets,
        gaps: list[Gap],
        *,
        firsts: Offsets,
        ends: Offsets,
        schemas: "Schemas | None" = None,
    ) -> None:
        self.vector = Vector(starts, want.topic)
        self._fetcher = fetcher
        self._want = want
        self._schemas = schemas if want.reads_value else None
        self._matcher = None if want.where is None else _matcher(want.where, self._schemas)
        self.firsts = firsts
        self.ends = ends
        self._gaps = gaps
        self._fetching: asyncio.Task[list[Fetched]] | None = None
        for place, offset in starts.items():
            fetcher.seek(place, offset)

    @property
    def is_at_end(self) -> bool:
        """Has all been seen that was there when it was opened?"""
        positions = self.vector.positions
        return all(positions[place] >= end for place, end in self.ends.items())

    async def items(self, quiet_s: float) -> AsyncGenerator[Item, None]:
        """Without end. While nothing comes there is a PAUSE every `quiet_s`."""
        while self._gaps:
            yield self._gaps.pop(0)
        while True:
            yield PAUSE
            for fetched in await self._fetch(quiet_s):
                if fetched.error is not ErrorCode.NONE:
                    yield self._gap(fetched)
                    continue
                place = fetched.place
                records: Iterable[Record] = fetched.records()
                if self._schemas is not None:
                    records = await self._learn(self._schemas, list(records))
                together = await self._found_together(fetched)
                for number, record in enumerate(records if together is None else together, 1):
                    if together is not None or self._want.matches(place, record, self._schemas):
                        self.vector.move(place, record.offset + 1)
                        yield Match(place, record)
                    if number % _TURN == 0:
                        await asyncio.sleep(0)
                self.vector.move(place, fetched.next_offset)

    async def follow_growth(self, interval_s: float) -> None:
        """Looks for new partitions, until it is cancelled."""
        while True:
            await asyncio.sleep(interval_s)
            # Whoever fetches finds out, too: waits for the cluster, or ends with the topic.
            with suppress(ClusterError, KafkaError, ProblemError):
                for place in await _places(self._fetcher, self._want):
                    if place not in self.vector.positions:
                        self.vector.move(place, 0)
                        self._fetcher.seek(place, 0)

    async def close(self) -> None:
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.wait({self._fetching})

    async def _learn(self, schemas: "Schemas", records: list[Record]) -> list[Record]:
        data = [record.value for record in records]
        if self._want.decodes:
            data += [record.key for record in records]
        if ids := schemas.missing(data):
            await schemas.learn(ids)
        return records

    async def _found_together(self, fetched: Fetched) -> list[Record] | None:
        """All that is wanted of a fetch, if columns can tell."""
        if self._matcher is None or not self._matcher.is_worth_columns(fetched, _MANY):
            return None
        found = await asyncio.to_thread(self._matcher.by_columns, fetched)
        if found is None:
            return None
        return [record for record in found[1] if self._want.matches_key(record.key)]

    async def _fetch(self, quiet_s: float) -> list[Fetched]:
        """Nothing, if nothing comes in time: the fetch goes on."""
        if self._fetching is None:
            self._fetching = asyncio.create_task(self._fetcher.fetch())
        await asyncio.wait({self._fetching}, timeout=quiet_s)
        if not self._fetching.done():
            return []
        done, self._fetching = self._fetching, None
        return done.result()

    def _gap(self, fetched: Fetched) -> Gap:
        """Raises for what cannot be gone on from."""
        place = fetched.place
        if fetched.error is not ErrorCode.OFFSET_OUT_OF_RANGE:
            raise of_code(fetched.error, f"{place} can be read no longer: {fetched.error.name}")
        gap = _gap_before(place, fetched.offset, fetched.log_start_offset)
        self.vector.move(place, fetched.log_start_offset)
        self._fetcher.seek(place, fetched.log_start_offset)
        return gap


def _matcher(where: Predicate, schemas: "Schemas | None") -> Matcher:
    if schemas is None:
        return Matcher(where)
    return Matcher(where, schemas.decoder, schemas.registry)


@asynccontextmanager
async def open_reading(
    config: EventsConfig, want: Want, start: Start, schemas: "Schemas | None" = None
) -> AsyncIterator[Reading]:
    async with Fetcher(config.connection, max_bytes=config.fetch_bytes) as fetcher:
        places = await _places(fetcher, want)
        if not places:
            raise of_code(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"{', '.join(want.topics)} has no such partition: GET /topics/… tells which it has",
            )
        firsts = await _offsets(fetcher, places, EARLIEST)
        ends = await _offsets(fetcher, places, LATEST)
        starts, gaps = await _starts(fetcher, start, firsts, ends)
        reading = Reading(fetcher, want, starts, gaps, firsts=firsts, ends=ends, schemas=schemas)
        growth = asyncio.create_task(reading.follow_growth(config.metadata_interval_s))
        try:
            yield reading
        finally:
            growth.cancel()
            await asyncio.wait({growth})
            await reading.close()


async def _places(fetcher: Fetcher, want: Want) -> list[TopicPartition]:
    counts = await fetcher.partitions(want.topics)
    for topic in want.topics:
        if topic not in counts:
            raise unknown_topic(topic)
    return [
        TopicPartition(topic, partition)
        for topic in want.topics
        for partition in range(counts[topic])
        if want.includes(partition)
    ]


async def _offsets(fetcher: Fetcher, places: Iterable[TopicPartition], at: int) -> Offsets:
    """In the order of the places, which will be that of the vector."""
    found = await fetcher.offsets(places, at)
    return {place: found[place] for place in places}


async def _starts(
    fetcher: Fetcher, start: Start, firsts: Offsets, ends: Offsets
) -> tuple[Offsets, list[Gap]]:
    match start:
        case End.EARLIEST:
            return firsts, []
        case End.LATEST:
            return ends, []
        case Moment(timestamp_ms):
            return await _offsets(fetcher, firsts, timestamp_ms), []
        case Offset(number):
            # Whoever asks for what is still to come gets it when it comes.
            wanted = {place: min(number, end) for place, end in ends.items()}
        case Resume(positions):
            _require_places(positions, firsts)
            wanted = {place: positions.get(place, first) for place, first in firsts.items()}
    gaps = [
        _gap_before(place, offset, firsts[place])
        for place, offset in wanted.items()
        if not firsts[place] <= offset <= ends[place]
    ]
    return {**wanted, **{gap.place: firsts[gap.place] for gap in gaps}}, gaps


def _gap_before(place: TopicPartition, offset: int, first: int) -> Gap:
    if offset < first:
        return Gap(place, offset, first - 1, "expired")
    return Gap(place, first, offset - 1, "reset")


def _require_places(positions: Offsets, known: Offsets) -> None:
    for place in positions:
        if place not in known:
            raise bad_parameter(
                "from", f"the vector names {place.topic}/{place.partition}, which is not read here"
            )
