"""State as a log: an internal topic that is replayed at start and appended to.

Its log is the only place where the state is kept. Records of `__consumer_offsets` and
`__transaction_state` have keys, and the log cleaner keeps these short; those of
`__cluster_metadata` have none. To keep a restart short there too, `compact` appends the live state
again from time to time, and the log then starts there: a snapshot that is made of ordinary records,
in the same file, in the same format. A crash in the middle leaves the old records in front of a
part of the same state: replay is the same.

Above: metadata.py, coordinator.py (groups), transactions.py. Below: partition.py, records/.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from kafkaesque.broker.partition import Partition
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.batch import NO_PRODUCER_ID, Record, new_batch, read_header
from kafkaesque.records.entries import Run, runs
from kafkaesque.records.entries import entries as entries_of
from kafkaesque.types import Clock

Entry: TypeAlias = tuple[bytes | None, bytes | None]
"""Key and value of a record; a null value is a tombstone."""

_READ_BYTES = 1 << 20
_BATCH_BYTES = 64 << 10
_SMALL_BYTES = 2 << 20
_GROWTH = 4
_NO_PRODUCER = (NO_PRODUCER_ID, -1)


class StateLog:
    """The log of one internal topic's only partition."""

    def __init__(self, partition: Partition, clock: Clock) -> None:
        self.partition = partition
        self._clock = clock
        self._live_bytes = 0
        self._next_try_bytes = 0

    @property
    def end_offset(self) -> int:
        """Where the next batch will stand."""
        return self.partition.log.end_offset

    def runs(self) -> Iterator[tuple[bytes, Run]]:
        """All batches there are, oldest first: in which bytes they lie where."""
        log = self.partition.log
        offset = log.log_start_offset
        while offset < log.end_offset:
            data = bytes(log.read(offset, _READ_BYTES, log.end_offset).read())
            if not data:
                return  # The cleaner has left nothing from here on.
            for run in runs(data):
                yield data, run
                offset = run.next_offset

    def replay(self, apply: Callable[[bytes, bytes | None], None]) -> None:
        """Give every record there is to `apply`, oldest first."""
        for data, run in self.runs():
            if not run.header.is_control:
                for key, value in entries_of(data, run):
                    apply(key, value)

    async def append(
        self, entries: Sequence[Entry], producer: tuple[int, int] | None = None
    ) -> None:
        """Append in one batch, whole or not at all; returns when it is durable."""
        if waiting := self.append_soon(entries, producer):
            await waiting

    def append_soon(
        self, entries: Sequence[Entry], producer: tuple[int, int] | None = None
    ) -> asyncio.Future[None] | None:
        """The same; a future that is done when it is durable. None: now.

        `producer` is the id and the epoch of the one whose transaction this is part of.
        """
        if not entries:
            return None
        now_ms = self._clock()
        producer_id, producer_epoch = producer or _NO_PRODUCER
        base_offset = self.end_offset
        batch = new_batch(
            [Record(base_offset + i, now_ms, key, value) for i, (key, value) in enumerate(entries)],
            base_offset=base_offset,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            transactional=producer is not None,
        )
        header = self.partition.append(memoryview(batch), read_header(batch))
        return self.partition.durable(header.next_offset)

    async def flushed(self) -> None:
        """Wait until all that has been appended so far is durable."""
        if waiting := self.partition.durable(self.end_offset):
            await waiting

    @property
    def is_long(self) -> bool:
        """Whether the log has grown enough for `compact`. After one that failed it has to double:
        a full disk would be filled further by each attempt.
        """
        enough = max(_SMALL_BYTES, _GROWTH * self._live_bytes, self._next_try_bytes)
        return self.partition.log.size >= enough

    async def compact(self, live_state: Iterator[list[Entry]]) -> None:
        """Append the live state again and let the log start there.

        Nobody else may append meanwhile, and what was appended before must be part of the state:
        it is dropped with all that lies before the new start.
        """
        partition, log = self.partition, self.partition.log
        self._next_try_bytes = 2 * log.size
        partition.roll()
        start, size_before, reopened = log.end_offset, log.size, partition.reopened
        pending: list[Entry] = []
        size = 0
        for part in live_state:
            pending += part
            size += sum(len(key or b"") + len(value or b"") for key, value in part)
            if size > _BATCH_BYTES:
                self.append_soon(pending)
                pending, size = [], 0
                await asyncio.sleep(0)
        self.append_soon(pending)
        await self.flushed()
        if partition.reopened != reopened:
            message = f"{partition.name} has lost what was appended"
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, message)
        self._live_bytes = log.size - size_before
        self._next_try_bytes = 0
        partition.delete_records(start)
