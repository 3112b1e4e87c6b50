"""Compaction for tests: keyed batches, whole passes on either store, and what is left of a log."""

import struct
from collections.abc import Iterator, Mapping, Sequence

from tests.crash.forgetting import ForgettingFiles
from tests.unit.log.logs import DIRECTORY, NOW

from kafkaesque.log.cleanable import cleanable
from kafkaesque.log.compact import Request, Result, compact, run
from kafkaesque.log.compaction import Rules
from kafkaesque.log.files import Files
from kafkaesque.log.log import Log
from kafkaesque.log.memory import MemorySegment
from kafkaesque.log.memory_compaction import MemoryResult, compact_memory
from kafkaesque.log.producer_state import BATCH, PRODUCER
from kafkaesque.records.batch import (
    BatchHeader,
    Codec,
    Record,
    batches,
    new_batch,
    read_header,
    records,
)
from kafkaesque.types import AbortedTransaction

DAY_MS = 24 * 60 * 60 * 1000
PLENTY = 1_000_000

Pair = tuple[str, str | None]


def keyed(log: Log, *pairs: Pair, at: int = NOW, codec: Codec = Codec.NONE, **producer: int) -> int:
    """Append a batch of these keys and values; its base offset."""
    base = log.end_offset
    batch = new_batch(
        [
            Record(base + i, at + i, key.encode(), None if value is None else value.encode())
            for i, (key, value) in enumerate(pairs)
        ],
        base_offset=base,
        codec=codec,
        **producer,  # type: ignore[arg-type]
    )
    log.append(batch, read_header(batch), at)
    return base


def known(producer_id: int, *, epoch: int = 0, last_offset: int | None = None) -> dict[int, bytes]:
    """A producer whose last batch ends there, or, where there is none, that a marker told of."""
    has_sent = last_offset is not None
    state = PRODUCER.pack(producer_id, epoch, NOW, has_sent)
    return {producer_id: state + (BATCH.pack(0, 0, last_offset, -1) if has_sent else b"")}


def packed(aborted: Sequence[AbortedTransaction]) -> list[bytes]:
    """As `Rules` wants them, each a part."""
    return [struct.pack(">qqq", *transaction) for transaction in aborted]


def rules(
    log: Log,
    *,
    first_dirty: int = 0,
    now_ms: int = NOW,
    max_keys: int = PLENTY,
    aborted: Sequence[AbortedTransaction] = (),
    producers: Mapping[int, bytes] | None = None,
) -> Rules:
    return Rules(
        first_dirty,
        now_ms,
        log.config.delete_retention_ms,
        max_keys,
        packed(aborted),
        producers or {},
    )


def request(log: Log, given: Rules, limit: int, directory: str = DIRECTORY) -> Request | None:
    """For all that is sealed below the limit; None: that is nothing."""
    found = cleanable(log, given.first_dirty, limit, given.now_ms)
    if not found.dirty_bytes:
        return None
    return Request(
        directory,
        tuple((s.base_offset, s.next_offset, s.size) for s in found.segments),
        log.config.segment_bytes,
        log.config.segment_index_bytes,
        log.config.index_interval_bytes,
        given,
    )


def swap_in(log: Log, result: Result) -> None:
    for cleaned in result.segments:
        old = [s for s in log.sealed if cleaned.base_offset <= s.base_offset < cleaned.next_offset]
        swap = log.swap(old, cleaned)
        assert swap is not None
        swap.run()
        log.end_swap(swap)
        swap.forget_old()


def compact_disk(
    log: Log, files: Files, given: Rules, limit: int | None = None, directory: str = DIRECTORY
) -> Result | None:
    """A whole pass, swapped in."""
    asked = request(log, given, log.end_offset if limit is None else limit, directory)
    if asked is None:
        return None
    result = run(compact(files, asked), lambda: None)
    swap_in(log, result)
    return result


def compact_in_memory(log: Log, given: Rules, limit: int | None = None) -> MemoryResult | None:
    limit = log.end_offset if limit is None else limit
    found = cleanable(log, given.first_dirty, limit, given.now_ms)
    if not found.dirty_bytes:
        return None
    segments = [s for s in found.segments if isinstance(s, MemorySegment)]
    steps = compact_memory(segments, given, log.config)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: MemoryResult = end.value
            break
    for old, new in result.replacements:
        log.replace(old, new)
    return result


def compact_anywhere(
    log: Log, files: ForgettingFiles | None, given: Rules, limit: int | None = None
) -> Result | MemoryResult | None:
    if files is None:
        return compact_in_memory(log, given, limit)
    return compact_disk(log, files, given, limit)


def all_batches(log: Log, piece: int = 1 << 20) -> Iterator[tuple[bytes, BatchHeader]]:
    """As a consumer reads them, from the log's start."""
    offset = log.log_start_offset
    while offset < log.end_offset:
        data = bytes(log.read(offset, piece, log.end_offset).read())
        assert data, f"nothing at {offset}, but the log ends at {log.end_offset}"
        for position, header in batches(data):
            yield data[position : position + header.size], header
            offset = header.next_offset


def all_records(log: Log) -> list[Record]:
    """Without those of control batches."""
    return [r for b, header in all_batches(log) if not header.is_control for r in records(b)]


def pairs(log: Log) -> list[tuple[int, str, str | None]]:
    """Offset, key and value of each record that is left."""
    return [
        (r.offset, (r.key or b"").decode(), None if r.value is None else r.value.decode())
        for r in all_records(log)
    ]


def table(found: Sequence[Record]) -> dict[bytes, bytes]:
    """What somebody who reads these holds in the end."""
    values: dict[bytes, bytes] = {}
    for record in found:
        assert record.key is not None
        if record.value is None:
            values.pop(record.key, None)
        else:
            values[record.key] = record.value
    return values
