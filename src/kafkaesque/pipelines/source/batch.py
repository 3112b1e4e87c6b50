"""`spark.read.format("kafkaesque")`: what there is between two bounds, once.

Above: pyspark_kafkaesque. Below: planning.py, reading.py, decoding/values.py.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from kafkaesque.client.fetch import LATEST
from kafkaesque.pipelines.source.decoding.values import Decoding, decoded
from kafkaesque.pipelines.source.fetching import JSON_WORTH, fetch_loop
from kafkaesque.pipelines.source.offsets import Range, pieces
from kafkaesque.pipelines.source.options import SourceOptions
from kafkaesque.pipelines.source.planning import found, lost, ranges, resolved
from kafkaesque.pipelines.source.reading import read
from kafkaesque.pipelines.source.standing import Standing
from kafkaesque.pipelines.workers import settle
from kafkaesque.types import TopicPartition


@dataclass
class Piece(InputPartition):
    """What one task reads."""

    range: Range


class BatchReader(DataSourceReader):
    def __init__(self, options: SourceOptions, decoding: Decoding | None = None) -> None:
        self._options = options
        self._decoding = decoding

    def partitions(self) -> Sequence[InputPartition]:
        loop = fetch_loop()
        planned = loop.run(self._ranges())
        return [Piece(each) for each in pieces(planned, self._options.min_partitions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_piece(partition, self._options, self._decoding)

    async def _ranges(self) -> list[Range]:
        options = self._options
        fetcher = fetch_loop().fetcher(options)
        places, ids = await found(fetcher, options)
        start = await resolved(fetcher, options.start, places)
        ends = await resolved(fetcher, options.end, places)
        latest = ends if options.end == LATEST else await resolved(fetcher, LATEST, places)
        bounded = {
            place: end
            for place in places
            if (end := self._end(place, start[place], ends[place], latest[place])) is not None
        }
        return await ranges(fetcher, options, start, Standing(bounded, ids))

    def _end(self, place: TopicPartition, start: int, end: int, latest: int) -> int | None:
        """None if there is nothing to read."""
        if self._options.fail_on_data_loss:
            if end > latest:
                lost(f"{place} was to be read up to {end}, but ends at {latest}")
            if start > end:
                lost(f"{place} was to be read from {start} on, but only up to {end}")
        return min(end, latest) if start < min(end, latest) else None


def read_piece(
    partition: InputPartition, options: SourceOptions, decoding: Decoding | None
) -> Iterator[pa.RecordBatch]:
    # Of an empty plan Spark makes one task with a partition of its own.
    if not isinstance(partition, Piece):
        return iter(())
    batches = _batches(partition.range, options, decoding)
    return _wanted(batches, options.columns)


def _wanted(batches: Iterator[pa.RecordBatch], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        settle()
        yield batch.select(columns) if columns else batch


def _batches(
    piece: Range, options: SourceOptions, decoding: Decoding | None
) -> Iterator[pa.RecordBatch]:
    if decoding is None:
        return read(piece, options)
    if decoding.asked.form == "json":
        fetch_loop().expect((JSON_WORTH - 1) * len(piece))
    # A letter has all that the record had.
    fetched = options if decoding.keeps_refused else replace(options, include_headers=True)
    return decoded(read(piece, fetched), decoding, options.connection, options.group)
