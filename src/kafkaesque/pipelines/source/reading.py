"""One piece of one partition, in a task of Spark: Arrow batches, as they come from the leader.

The next request is sent before what has come is decoded. An offset that is out of range, or a topic
that is gone, is a DataLossError, or with failOnDataLoss=false the reading goes on from the first
record there is, if that is below the end of the piece. A piece may end in offsets without records
(compaction, a transaction's markers): it is read when its leader has nothing more to give below an
end of the log that is not before the piece's.
Above: batch.py, stream.py. Below: fetching.py, columns.py, client/fetch.py.
"""

import asyncio
from collections.abc import Iterator

import pyarrow as pa

from kafkaesque.client.connection import ClusterError
from kafkaesque.client.fetch import Fetched, Fetcher
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.pipelines.source.columns import rows
from kafkaesque.pipelines.source.fetching import fetch_loop
from kafkaesque.pipelines.source.offsets import Range
from kafkaesque.pipelines.source.options import SourceOptions
from kafkaesque.pipelines.source.planning import lost

_GONE = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


def read(piece: Range, options: SourceOptions) -> Iterator[pa.RecordBatch]:
    """Raises DataLossError, ClusterError if nothing comes in time, KafkaError for the rest."""
    loop = fetch_loop()
    fetcher = loop.fetcher(options)
    position = piece.start
    loop.run(_seek(fetcher, piece, position))
    coming = loop.start(_next(fetcher, piece, options))
    loop.expect(len(piece))
    try:
        while position < piece.end:
            fetched = coming.result()
            position = fetched.next_offset if fetched.batches else piece.end
            if fetched.error:
                position = _resume(fetched, piece, options)
                if position < piece.end:
                    loop.run(_seek(fetcher, piece, position))
            if position < piece.end:
                coming = loop.start(_next(fetcher, piece, options))
            batch = rows(fetched, piece.end, options.include_headers)
            if batch.num_rows:
                yield batch
    finally:
        coming.cancel()
        loop.run(_forget(fetcher, piece))


async def _seek(fetcher: Fetcher, piece: Range, offset: int) -> None:
    fetcher.seek(piece.place, offset)


async def _forget(fetcher: Fetcher, piece: Range) -> None:
    fetcher.forget(piece.place)


async def _next(fetcher: Fetcher, piece: Range, options: SourceOptions) -> Fetched:
    try:
        async with asyncio.timeout(options.poll_timeout_s):
            while True:
                for fetched in await fetcher.fetch():
                    if fetched.place == piece.place and _decides(fetched, piece):
                        return fetched
    except TimeoutError:
        raise ClusterError(
            f"nothing came of {piece.place} from offset {fetcher.positions.get(piece.place)} on in "
            f"{options.poll_timeout_s:g} s: see whether its leader is up with `kafkaesque cluster "
            "health`, or give more kafkaConsumer.pollTimeoutMs"
        ) from None


def _decides(fetched: Fetched, piece: Range) -> bool:
    """Whether the reading goes on with it: not if only nothing has come yet."""
    return bool(fetched.batches or fetched.error) or fetched.readable >= piece.end


def _resume(fetched: Fetched, piece: Range, options: SourceOptions) -> int:
    """Where it goes on after an error; the end of the piece if nowhere."""
    if fetched.error is ErrorCode.OFFSET_OUT_OF_RANGE:
        if options.fail_on_data_loss:
            lost(f"{piece.place} has no offset {fetched.offset} (it begins at {_first(fetched)})")
        first = fetched.log_start_offset
        return first if fetched.offset < first else piece.end
    if fetched.error in _GONE:
        if options.fail_on_data_loss:
            lost(f"{piece.place} is not there any more")
        return piece.end
    raise KafkaError(
        fetched.error,
        f"{piece.place} cannot be read at offset {fetched.offset} ({fetched.error.name})",
    )


def _first(fetched: Fetched) -> str:
    return str(fetched.log_start_offset) if fetched.log_start_offset >= 0 else "another"
