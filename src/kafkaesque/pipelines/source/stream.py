"""`spark.readStream.format("kafkaesque")`: a plan for every micro-batch.

Spark keeps where each batch ends, and asks for the next end with the last one as its start: all
before it is finished with. That is what is committed for the group, if one is named: so its lag
reaches 0 when the query has caught up, though Spark does not say so of the last batch.
Partitions that are new are read from their beginning.
Above: pyspark_kafkaesque. Below: planning.py, batch.py, commits.py.
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
from kafkaesque.pipelines.source.offsets import Offsets, kept, offsets_of, pieces, shares
from kafkaesque.pipelines.source.options import SourceOptions
from kafkaesque.pipelines.source.planning import ends, found, lost, ranges, resolved
from kafkaesque.types import TopicPartition


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: SourceOptions, decoding: Decoding | None = None) -> None:
        self._options = options
        self._decoding = decoding
        self._first: Offsets | None = None
        self._target: Offsets | None = None
        """With AvailableNow: where the query ends."""
        self._latest: Offsets | None = None
        self._commits = GroupCommits(options.connection, options.group)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        # Spark asks again for the first batch: the end of a topic may have moved on by then.
        if self._first is None:
            self._first = fetch_loop().run(self._initial())
        return kept(self._first)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        limit = self._options.max_rows
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        begin = offsets_of(start)
        self._commits.commit(begin)
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        return kept(fetch_loop().run(self._end(begin, rows)))

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        return None if self._latest is None else kept(self._latest)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target = fetch_loop().run(ends(fetch_loop().fetcher(self._options), self._options))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        fetcher = fetch_loop().fetcher(self._options)
        work = ranges(fetcher, self._options, offsets_of(start), offsets_of(end))
        planned = fetch_loop().run(work)
        return [Piece(each) for each in pieces(planned, self._options.min_partitions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_piece(partition, self._options, self._decoding)

    def commit(self, end: dict[str, Any]) -> None:
        self._commits.commit(offsets_of(end))

    async def _initial(self) -> Offsets:
        fetcher = fetch_loop().fetcher(self._options)
        places = await found(fetcher, self._options)
        return await resolved(fetcher, self._options.start, places)

    async def _end(self, start: Offsets, limit: int | None) -> Offsets:
        """As far as the next batch goes."""
        fetcher = fetch_loop().fetcher(self._options)
        latest = self._latest = await ends(fetcher, self._options)
        begin = await self._begin(start, latest)
        behind = {place: self._behind(place, begin[place], end) for place, end in latest.items()}
        given = behind if limit is None else shares(behind, limit)
        due = [place for place in latest if self._is_due(place, start)]
        return {place: begin[place] + given[place] for place in due}

    async def _begin(self, start: Offsets, latest: Offsets) -> Offsets:
        """Where the next batch starts: `start`, but for partitions that are new or made anew."""
        gone = sorted(place for place in start if place not in latest)
        short = sorted(place for place, end in latest.items() if end < start.get(place, end))
        if self._options.fail_on_data_loss and (gone or short):
            odd = ", ".join(f"{place} at offset {start[place]}" for place in [*gone, *short])
            lost(f"the query stands in {odd}, which is not there any more")
        new = [place for place in latest if place not in start]
        fetcher = fetch_loop().fetcher(self._options)
        first = await resolved(fetcher, EARLIEST, [*new, *short])
        return {place: start[place] for place in latest if place in start} | first

    def _behind(self, place: TopicPartition, begin: int, end: int) -> int:
        if self._target is not None:
            end = min(end, self._target.get(place, begin))
        return max(0, end - begin)

    def _is_due(self, place: TopicPartition, start: Mapping[TopicPartition, int]) -> bool:
        """A partition that came after AvailableNow began is for the next query."""
        return place in start or self._target is None or place in self._target
