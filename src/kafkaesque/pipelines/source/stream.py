"""`spark.readStream.format("kafkaesque")`: a plan for every micro-batch.

Spark keeps where each batch ends, and asks for the next end with the last one as its start: all
before it is finished with. That is what is committed for the group, if one is named: so its lag
reaches 0 when the query has caught up, though Spark does not say so of the last batch.
Partitions that are new are read from their beginning.
Above: pyspark_kafkaesque. Below: planning.py, standing.py, batch.py, commits.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from kafkaesque.client.fetch import EARLIEST
from kafkaesque.pipelines.source.batch import Piece, read_piece
from kafkaesque.pipelines.source.commits import GroupCommits
from kafkaesque.pipelines.source.decoding.values import Decoding
from kafkaesque.pipelines.source.fetching import fetch_loop
from kafkaesque.pipelines.source.offsets import Offsets, pieces, shares
from kafkaesque.pipelines.source.options import SourceOptions
from kafkaesque.pipelines.source.planning import ends, found, lost, ranges, resolved, told
from kafkaesque.pipelines.source.standing import Standing
from kafkaesque.types import TopicPartition


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: SourceOptions, decoding: Decoding | None = None) -> None:
        self._options = options
        self._decoding = decoding
        self._first: Standing | None = None
        self._target: Offsets | None = None
        """With AvailableNow: where the query ends."""
        self._latest: Standing | None = None
        self._commits = GroupCommits(options.connection, options.group)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        # Spark asks again for the first batch: the end of a topic may have moved on by then.
        if self._first is None:
            self._first = fetch_loop().run(self._initial())
        return self._first.kept()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        limit = self._options.max_rows
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        before = Standing.of(start)
        self._commits.commit(before.offsets)
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        return fetch_loop().run(self._end(before, rows)).kept()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        return None if self._latest is None else self._latest.kept()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        fetcher = fetch_loop().fetcher(self._options)
        self._target = fetch_loop().run(ends(fetcher, self._options)).offsets

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        fetcher = fetch_loop().fetcher(self._options)
        until = Standing.of(end)
        begin = until.start(Standing.of(start))
        planned = fetch_loop().run(ranges(fetcher, self._options, begin, until))
        return [Piece(each) for each in pieces(planned, self._options.min_partitions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_piece(partition, self._options, self._decoding)

    def commit(self, end: dict[str, Any]) -> None:
        self._commits.commit(Standing.of(end).offsets)

    async def _initial(self) -> Standing:
        fetcher = fetch_loop().fetcher(self._options)
        places, ids = await found(fetcher, self._options)
        return Standing(await resolved(fetcher, self._options.start, places), ids)

    async def _end(self, before: Standing, limit: int | None) -> Standing:
        """As far as the next batch goes: `before`, if there is nothing for one, unless it is the
        first, which Spark runs in any case."""
        fetcher = fetch_loop().fetcher(self._options)
        latest = self._latest = await ends(fetcher, self._options)
        ends_at, start = latest.offsets, before.offsets
        begin = await self._begin(before, latest)
        behind = {place: self._behind(place, begin[place], end) for place, end in ends_at.items()}
        given = behind if limit is None else shares(behind, limit)
        due = [place for place in ends_at if self._is_due(place, start)]
        end = {place: begin[place] + given[place] for place in due}
        if before == self._first:
            return Standing(end, latest.ids, begin=start)
        if end == start and not latest.made_anew(before):
            return before
        return Standing(end, latest.ids)

    async def _begin(self, before: Standing, latest: Standing) -> Offsets:
        """Where the next batch starts: `before`, but for partitions that are new or made anew."""
        start, end, anew = before.offsets, latest.offsets, latest.made_anew(before)
        gone = sorted(place for place in start if place not in end)
        other = sorted(
            place
            for place, offset in start.items()
            if place in end and (place.topic in anew or end[place] < offset)
        )
        if self._options.fail_on_data_loss and (gone or other):
            odd = ", ".join(f"{place} at offset {start[place]}" for place in [*gone, *other])
            lost(f"the query stands in {odd}, which is not there any more{told(anew)}")
        new = [place for place in end if place not in start]
        fetcher = fetch_loop().fetcher(self._options)
        first = await resolved(fetcher, EARLIEST, [*new, *other])
        return {place: start[place] for place in end if place in start} | first

    def _behind(self, place: TopicPartition, begin: int, end: int) -> int:
        if self._target is not None:
            end = min(end, self._target.get(place, begin))
        return max(0, end - begin)

    def _is_due(self, place: TopicPartition, start: Mapping[TopicPartition, int]) -> bool:
        """A partition that came after AvailableNow began is for the next query."""
        return place in start or self._target is None or place in self._target
