"""What one fetch has brought of one partition: whole batches as they lie in the log. Pure.

`whole_batches` finds and checks them (headers, CRCs), but for one that is not whole; `records`
opens them. A batch may begin below the offset that was asked for, since the log is searched by
batch. Of a transaction that was aborted the response names the producer and the first offset; its
records are left out from there on, up to its marker (KIP-98).
Above: fetch.py. Below: records/.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.batch import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    BatchHeader,
    batches,
    crc_matches,
)
from kafkaesque.records.control import Marker, read_marker
from kafkaesque.records.record import Record
from kafkaesque.records.walk import walk
from kafkaesque.types import Buffer, TopicPartition

Batches: TypeAlias = Sequence[tuple[int, BatchHeader]]

_CONTROL = 0x20
_MAX_BATCH_BYTES = 100 << 20
"""No frame is larger."""


class Fetched(NamedTuple):
    """`offset` was asked for; `next_offset` is where it goes on."""

    place: TopicPartition
    offset: int
    next_offset: int
    data: bytes
    high_watermark: int
    log_start_offset: int
    aborted: tuple[tuple[int, int], ...] = ()
    """Producer id and first offset of transactions that were aborted, if only what is committed
    was asked for."""
    error: ErrorCode = ErrorCode.NONE
    batches: Batches = ()
    """Where each batch is in `data`, and its header."""
    readable: int = -1
    """How far the partition can be read now: the last stable offset if only what is committed was
    asked for, else the high watermark."""

    def records(self) -> Iterator[Record]:
        """From `offset` on; no markers, and nothing that was aborted."""
        for position, header in self.committed_batches() if self.aborted else self.batches:
            if header.attributes & _CONTROL:
                continue
            found = walk(self.data, position, header)
            if header.base_offset >= self.offset:
                yield from found
            else:
                yield from (record for record in found if record.offset >= self.offset)

    def committed_batches(self) -> Iterator[tuple[int, BatchHeader]]:
        """Batches without those that were aborted."""
        pending = sorted(self.aborted, key=lambda each: each[1], reverse=True)
        aborted: set[int] = set()
        for position, header in self.batches:
            while pending and pending[-1][1] <= header.last_offset:
                aborted.add(pending.pop()[0])
            if header.is_control:
                if read_marker(self.data, position) is Marker.ABORT:
                    aborted.discard(header.producer_id)
            elif not header.is_transactional or header.producer_id not in aborted:
                yield position, header


def whole_batches(data: Buffer) -> Batches:
    """Those that are there completely.

    Raises KafkaError(CORRUPT_MESSAGE) if already the first one is damaged. What is damaged further
    on will be the first another time.
    """
    found: list[tuple[int, BatchHeader]] = []
    try:
        for position, header in batches(data):
            if not crc_matches(data, position, header):
                raise KafkaError(
                    ErrorCode.CORRUPT_MESSAGE,
                    f"the batch at offset {header.base_offset} does not match its CRC",
                )
            found.append((position, header))
    except KafkaError:
        if not found:
            raise
    return found


def size_of_first(data: Buffer) -> int:
    """How large the first batch is of which only the beginning is there."""
    claimed = int.from_bytes(data[8:LOG_OVERHEAD], "big") + LOG_OVERHEAD
    return min(max(claimed, HEADER_SIZE), _MAX_BATCH_BYTES)
