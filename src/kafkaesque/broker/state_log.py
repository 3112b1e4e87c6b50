"""State as a log: an internal topic that is replayed at start, appended to, and kept short.

Its log is the only place where the state is kept. To keep a restart short, the live state is
appended again from time to time, and the log then starts there: a snapshot that is made of ordinary
records, in the same file, in the same format. A crash in the middle leaves the old records in front
of a part of the same state: replay is the same.

Two of them: `__cluster_metadata` (metadata.py) and `__consumer_offsets` (coordinator.py).
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from kafkaesque.broker.partition import Partition
from kafkaesque.records.batch import Record, batches, new_batch, read_header, records
from kafkaesque.types import Clock

Entry: TypeAlias = tuple[bytes | None, bytes | None]
"""Key and value of a record; a null value is a tombstone."""

_READ_BYTES = 1 << 20
_BATCH_BYTES = 64 << 10
_SMALL_BYTES = 2 << 20
_GROWTH = 4


class StateLog:
    """The log of one internal topic's only partition."""

    def __init__(self, partition: Partition, clock: Clock) -> None:
        self.partition = partition
        self._clock = clock
        self._live_bytes = 0

    def replay(self, apply: Callable[[bytes, bytes | None], None]) -> None:
        """Give every record there is to `apply`, oldest first."""
        log = self.partition.log
        offset = log.log_start_offset
        while offset < log.end_offset:
            data = memoryview(log.read(offset, _READ_BYTES, log.end_offset).read())
            for position, header in batches(data):
                offset = header.next_offset
                if not header.is_control:
                    for record in records(data, position):
                        apply(record.key or b"", record.value)

    async def append(self, entries: Sequence[Entry]) -> None:
        """Append in one batch, whole or not at all; returns when it is durable."""
        if not entries:
            return
        if waiting := self._append(entries):
            await waiting

    async def compact(self, live_state: Iterator[list[Entry]]) -> None:
        """Append the live state again and let the log start there, if the log has grown enough for
        it.

        Each part of the state is read and appended in one step of the loop, so that a change can
        come before or after it, never between.
        """
        log = self.partition.log
        if log.size < max(_SMALL_BYTES, _GROWTH * self._live_bytes):
            return
        log.roll()
        start, size_before = log.end_offset, log.size
        pending: list[Entry] = []
        size = 0
        for part in live_state:
            pending += part
            size += sum(len(key or b"") + len(value or b"") for key, value in part)
            if size > _BATCH_BYTES:
                self._append(pending)
                pending, size = [], 0
                await asyncio.sleep(0)
        if pending:
            self._append(pending)
        if waiting := self.partition.durable(log.end_offset):
            await waiting
        self._live_bytes = log.size - size_before
        self.partition.delete_records(start)

    def _append(self, entries: Sequence[Entry]) -> asyncio.Future[None] | None:
        now_ms = self._clock()
        log = self.partition.log
        batch = new_batch(
            [
                Record(log.end_offset + i, now_ms, key, value, ())
                for i, (key, value) in enumerate(entries)
            ],
            base_offset=log.end_offset,
        )
        header = self.partition.append(memoryview(batch), read_header(batch))
        return self.partition.durable(header.next_offset)
