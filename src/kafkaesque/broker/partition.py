"""A partition: its log, its producers and transactions, how far readers may see, and who waits for
that to move.

On the route of a produced record, between apis/produce.py and log/log.py:
  validate the header → duplicate? → stamp offset (and time) → log.append → ask for a flush
Appending is ordered and synchronous; waiting is not. One flush is in flight at a time, and every
append that it covers is answered when it returns (group commit). The high watermark is the flushed
offset, so nobody reads a record that a power cut could take back; under `write.caching` it is the
appended offset.

A flush that fails takes the partition offline: what the page cache holds can no longer be believed.
`reopen` drops what was never acknowledged, scans the log again and brings the partition back.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Container
from functools import partial
from time import perf_counter
from typing import Protocol, TypeAlias

from kafkaesque.broker.cold_reads import ColdReads
from kafkaesque.broker.config import TopicConfig
from kafkaesque.broker.disk import Disk
from kafkaesque.broker.partition_transactions import OpenTransaction, PartitionTransactions, Told
from kafkaesque.broker.producer_ids import ProducerIds
from kafkaesque.broker.producers import Producers
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.log import Flush, Log, Segment, Slice
from kafkaesque.log.store import Cleaned, Swap
from kafkaesque.records.batch import (
    HEADER_SIZE,
    NO_TIMESTAMP,
    BatchHeader,
    checked_heads,
    crc_matches,
    payload_view,
    read_header,
    stamp,
    stamp_append_time,
)
from kafkaesque.records.compression import LEAST_RECORD_BYTES, Codec, most_records
from kafkaesque.records.control import Marker, new_marker, read_marker
from kafkaesque.types import AbortedTransaction, Buffer, Clock, TopicPartition

LEADER_EPOCH = 0
"""One node leads for ever, and never truncates what was visible: there is one epoch."""

Futures: TypeAlias = "Container[asyncio.Future[None]]"

logger = logging.getLogger(__name__)

_MAX_UNPACKED = 32
"""How many times max.message.bytes a batch may unpack to."""
_LEAST_MESSAGE_BYTES = 1 << 20
_MOST_UNPACKED_BYTES = 128 << 20
"""Whatever max.message.bytes is: any client may set it."""
_MANY_PARTS = 1000


class Watcher(Protocol):
    """Someone who waits for more to become visible: a long-polling fetch."""

    def more(self, partition: "Partition", size: int) -> None: ...
    def wake(self) -> None: ...


class KeylessRecordsError(KafkaError):
    """Records without a key on a compacted topic, by their index in the batch."""

    def __init__(self, indexes: list[int]) -> None:
        super().__init__(
            ErrorCode.INVALID_RECORD, "Compacted topic cannot accept message without key"
        )
        self.indexes = indexes


class Partition:
    """One partition on the event loop. Nothing here is called from another thread."""

    def __init__(
        self,
        name: TopicPartition,
        log: Log,
        config: TopicConfig,
        disk: Disk,
        clock: Clock,
        producer_ids: ProducerIds,
        begin: Callable[[], Log] | None = None,
    ) -> None:
        """With `begin`, `log` only stands for one that could not be begun yet: `reopen` tries."""
        self.name = name
        self.log = log
        self.config = config
        self._clock = clock
        self._producer_ids = producer_ids
        self.producers, self._transactions = _restore(log, clock())
        self._tell_found()
        self.starts_for_good(log.log_start_offset)
        self.high_watermark = log.end_offset
        self.offline: str | None = None
        self.is_closed = False
        self.when_begun: Callable[[], None] | None = None
        """To be called when a log that could not be begun is there."""
        self.reopened = 0
        """How often it has come back after a failed flush, without what was not durable."""
        self.forgotten_aborts = 0
        """How often compaction has made it forget aborted transactions."""
        self.cold_reads = ColdReads(disk, name)
        self._disk = disk
        self._begin = begin
        self._flushing: asyncio.Future[float] | None = None
        self._unflushed: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._removable: list[Segment] = []
        self._watchers: set[Watcher] = set()
        self._visible_size = log.appended_size
        # A checkpoint, a swap, a removal of segments, or a repair after a failed flush: in threads,
        # they write files by name, and expect the segments that they have found.
        self._maintenance = asyncio.Lock()
        self._last_append_time = NO_TIMESTAMP

    def __str__(self) -> str:
        return str(self.name)

    @property
    def is_begun(self) -> bool:
        """Whether `log` is its own: else nothing is known of what is on disk."""
        return self._begin is None

    @property
    def last_stable_offset(self) -> int:
        """How far readers of committed records may see: never below where the log starts, though
        records of an open transaction may have been deleted.
        """
        stable = self._transactions.last_stable_offset(self.high_watermark)
        start = self.log.log_start_offset
        return stable if stable > start else start

    def aborted(self, start: int, end: int) -> list[AbortedTransaction]:
        """Transactions that were aborted and have a record, or their marker, in [start, end)."""
        return self._transactions.aborted(start, end)

    def packed_aborted(self, start: int, end: int) -> list[bytes]:
        """The same and a few more, as three i64 each, in parts."""
        return self._transactions.packed_aborted(start, end)

    def are_many_aborted(self, start: int, end: int) -> bool:
        """Whether one response cannot tell of all that ended in [start, end)."""
        return self._transactions.are_many_aborted(start, end)

    def told_aborted(self, start: int, batches: Buffer, looks: int) -> Told:
        """How many of these batches, which were read from `start` on, may be sent to a reader of
        committed records, and which aborted transactions have some of them.
        """
        return self._transactions.told_aborted(start, batches, looks)

    def forget_aborted(self, markers: Collection[int]) -> None:
        """Before compaction removes the markers at these offsets: readers would look for them."""
        self.forgotten_aborts += 1
        self._transactions.forget_aborted(markers)

    def open_transactions(self) -> list[OpenTransaction]:
        return self._transactions.open()

    def is_open_for(self, producer_id: int) -> bool:
        """Whether a transaction of the producer has records here and no end."""
        return self._transactions.is_open(producer_id)

    def forget_producer(self, producer_id: int) -> bool:
        """Unless it has a transaction open here: whether it is forgotten."""
        if self._transactions.is_open(producer_id):
            return False
        self.producers.forget(producer_id)
        return True

    def append(self, batch: memoryview, header: BatchHeader | None = None) -> BatchHeader:
        """Append one batch as a client sent it, stamped in place; the header says where it went.

        A retried batch is not appended again: its header comes back with the original offset.
        """
        self.check_online()
        if header is None:
            header = self.validated(batch)
            if self.config.compacted:
                _check_keys(batch, header)
        if header.producer_id >= 0 and (there := self.producers.check(header)):
            return header._replace(base_offset=there.base_offset, max_timestamp=there.append_time)
        now_ms = self._clock()
        stamp(batch, 0, self.log.end_offset, LEADER_EPOCH)
        if self.config.log_append_time:
            stamp_append_time(batch, 0, self._append_time(now_ms))
            header = read_header(batch)
        else:
            header = header.moved_to(self.log.end_offset, LEADER_EPOCH)
        self.log.append(batch, header, now_ms)
        self.producers.update(header, now_ms)
        self._transactions.appended(header, now_ms)
        if header.producer_id >= 0:
            self._producer_ids.heard(self, header.producer_id)
        self._appended()
        return header

    def append_marker(self, producer_id: int, producer_epoch: int, marker: Marker) -> int:
        """End a producer's transaction here; the offset after the marker, to wait for."""
        self.check_online()
        now_ms = self._clock()
        batch = new_marker(self.log.end_offset, producer_id, producer_epoch, marker, now_ms)
        header = read_header(batch)
        self.log.append(batch, header, now_ms)
        self.producers.update(header, now_ms)
        # Or, where nobody reads, the ends that are visible would never be forgotten.
        self._transactions.seen_to(self.high_watermark)
        self._transactions.ended(producer_id, marker, header.base_offset)
        self._producer_ids.heard(self, producer_id)
        self._appended()
        return header.next_offset

    def _appended(self) -> None:
        if self.config.write_caching:
            self._advance(self.log.end_offset, self.log.appended_size)
        else:
            self._flush()

    def durable(self, offset: int, mine: Futures = ()) -> asyncio.Future[None] | None:
        """A future that is done when acks=all may be answered for everything before `offset`; None:
        now.
        """
        return None if self.config.write_caching else self.flushed(offset, mine)

    def flushed(self, offset: int, mine: Futures = ()) -> asyncio.Future[None] | None:
        """A future that is done when everything before `offset` is on disk; None: it is. Of who has
        some already, the last to wait here waits for this, too: a request may have thousands of
        batches, and is answered once.
        """
        if offset <= self.log.flushed_offset:
            return None
        self.check_online()
        if mine and self._unflushed and self._unflushed[-1][1] in mine:
            earlier, future = self._unflushed.pop()
            offset = max(earlier, offset)
        else:
            future = asyncio.get_running_loop().create_future()
        self._unflushed.append((offset, future))
        self._flush()
        return future

    def read(self, offset: int, max_bytes: int, limit: int, *, min_one: bool = True) -> Slice:
        self.check_online()
        return self.log.read(offset, max_bytes, limit, min_one=min_one)

    def watch(self, watcher: Watcher) -> None:
        self._watchers.add(watcher)

    def unwatch(self, watcher: Watcher) -> None:
        self._watchers.discard(watcher)

    def configure(self, config: TopicConfig) -> None:
        self.config = config
        self.log.config = config.log_of(self.name)
        if self.offline is None:
            self._appended()

    def roll(self) -> None:
        """Begin a new segment. Raises KafkaError where the disk fails; while offline, too: a thread
        may be dropping the end of the log, and a segment that begins there would leave a hole.
        """
        self.check_online()
        self.log.roll()

    def roll_if_older(self, timestamp: int) -> None:
        """The same, if the first record of the last segment is older than that."""
        self.check_online()
        self.log.roll_if_older(timestamp)

    def delete_records(self, offset: int) -> int:
        """Raise the log start offset to `offset`; −1 means the high watermark."""
        self.check_online()
        offset = self.high_watermark if offset == -1 else offset
        if not 0 <= offset <= self.high_watermark:
            message = f"{offset} is not between 0 and the high watermark {self.high_watermark}"
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, message)
        self._raise_start(partial(self.log.delete_before, offset))
        return self.log.log_start_offset

    def enforce_retention(self, now_ms: int) -> None:
        """Raises KafkaError where the disk fails."""
        if self.offline is None and "delete" in self.config.cleanup_policy:
            self._raise_start(partial(self.log.enforce_retention, now_ms))

    def _raise_start(self, drop: Callable[[], list[Segment]]) -> None:
        start = self.log.log_start_offset
        self._removable += drop()
        if self.log.log_start_offset > start:
            # Who waits below it is to hear that its offset is out of range.
            self.wake_watchers()

    def starts_for_good(self, log_start_offset: int) -> None:
        """No power cut brings back what lies before it. Until then, a snapshot has to say which of
        it was aborted.
        """
        self._transactions.forget_before(log_start_offset)

    def removable(self, log_start_offset: int) -> list[Segment]:
        """Segments that a log start leaves behind, oldest first: `remove_segments` removes them
        once it is durable. Not those of an unfinished swap, nor those after it: which
        files are whose is open until it is finished.
        """
        if swap := self.log.unfinished_swap:
            log_start_offset = min(log_start_offset, swap.new.base_offset)
        removable = [each for each in self._removable if each.next_offset <= log_start_offset]
        return sorted(removable, key=lambda segment: segment.base_offset)

    async def remove_segments(self, log_start_offset: int) -> None:
        """Remove the files of segments that a log start leaves behind. Raises OSError."""
        async with self._maintenance:
            # Once it is closed, its files may be a namesake's.
            for segment in () if self.is_closed else self.removable(log_start_offset):
                await self._disk.run_aside(partial(self.log.remove_segments, [segment]))
                self.removed(segment)

    def removed(self, segment: Segment) -> None:
        self._removable.remove(segment)

    @property
    def has_moved(self) -> bool:
        """Whether something was appended since the last checkpoint."""
        return self.log.recovery_point < self.log.end_offset

    async def checkpoint(self) -> None:
        """Write index and producers out up to here: the next unclean start scans from this point
        on. Raises KafkaError or OSError.
        """
        async with self._maintenance:
            self.check_online()
            offset = self.log.end_offset
            parts = [*self.producers.snapshot(), *self._transactions.snapshot()]
            join = partial(b"".join, parts)
            # A thread for many: where it copies, a join lets the loop go on.
            snapshot = join() if len(parts) < _MANY_PARTS else await self._disk.run_aside(join)
            if waiting := self.flushed(offset):
                await waiting
            checkpoint = self.log.checkpoint((offset, snapshot))
            if checkpoint:
                await self._disk.run_aside(checkpoint.run)
                self.log.end_checkpoint(checkpoint)

    async def swap(self, old: list[Segment], cleaned: Cleaned) -> bool:
        """Put a compacted segment in the place of `old`.

        False: they are not there any more, or the partition is not. `old` is emptied: the last to
        hold a file waits for its end, and that must not be the loop. Raises OSError when the disk
        fails: the log then reads the old segments until `finish_swap`, or for good.
        """
        if self.offline is not None:
            # Its repair may hang, and whoever calls this has others to see to.
            return False
        async with self._maintenance:
            swap = self.log.swap(old, cleaned) if self.offline is None else None
            if swap is None:
                return False
            await self._disk.run_aside(swap.run)
            if self.is_closed:
                return False
            old.clear()
            await self._end_swap(swap)
        return True

    async def finish_swap(self) -> None:
        """Complete or undo what the disk has broken off, if there is such a swap. Raises OSError
        while the disk still fails.
        """
        if self.offline is not None:
            return
        async with self._maintenance:
            swap = self.log.unfinished_swap
            if swap is None or self.is_closed:
                return
            await self._disk.run_aside(swap.finish)
            if not (swap.is_undone or self.is_closed):
                await self._end_swap(swap)

    async def remove_cleaned(self) -> None:
        """Remove what compaction has written and will not be swapped in. While its disk fails, it
        stays, for the next pass or start. Raises OSError.
        """
        if self.offline is not None:
            return
        async with self._maintenance:
            if not self.is_closed:
                await self._disk.run_aside(self.log.remove_cleaned)

    async def _end_swap(self, swap: Swap) -> None:
        # Also if a flush has failed meanwhile: these segments were durable long before.
        self.log.end_swap(swap)
        # All that the new segment has may lie before the log start by now.
        self._raise_start(partial(self.log.delete_before, self.log.log_start_offset))
        await self._disk.run_aside(swap.forget_old)

    async def reopen(self) -> None:
        """After a failed flush: drop what was never acknowledged, scan again, come back. Raises
        KafkaError or OSError while the disk still fails.
        """
        async with self._maintenance:
            if self.is_closed or self.offline is None:
                return
            if self._begin is None:
                await self._disk.run_aside(self.log.recover_from_failed_flush)
            else:
                self.log = await self._disk.run_aside(self._begin)
                self.log.config = self.config.log_of(self.name)
                self._begin = None
            restored = await self._disk.run_aside(partial(_restore, self.log, self._clock()))
            if not self.is_closed:
                self._come_back(*restored)

    def _come_back(self, producers: Producers, transactions: PartitionTransactions) -> None:
        self._producer_ids.leave(self, self.producers.ids() - producers.ids())
        self.producers, self._transactions = producers, transactions
        self._tell_found()
        self.high_watermark = self.log.end_offset
        self._visible_size = self.log.appended_size
        self.reopened += 1
        self.offline = None
        logger.warning("%s is back online; it ends at %d", self.name, self.high_watermark)
        if self.when_begun is not None:
            self.when_begun()
            self.when_begun = None

    def _tell_found(self) -> None:
        self._producer_ids.found(self, self.producers.silent_ms(self._clock()))

    def close(self) -> None:
        """No more reads or writes: those who wait are told that the partition is gone."""
        self.offline = "closed"
        self.is_closed = True
        self._producer_ids.leave(self, self.producers.ids())
        self._refuse_unflushed(KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        self.cold_reads.close()
        self.wake_watchers()

    async def ended(self) -> None:
        """After `close`: nobody here touches its files by name any more. The first flush does too:
        it writes whose the partition is.
        """
        async with self._maintenance:
            if self._flushing is not None:
                await asyncio.wait([self._flushing])

    def wake_watchers(self) -> None:
        """Let those who wait look again: something has happened that is not an append."""
        for watcher in tuple(self._watchers):
            watcher.wake()

    @property
    def max_unpacked_bytes(self) -> int:
        """What a batch may come to where the broker opens it."""
        times = _MAX_UNPACKED * max(self.config.max_message_bytes, _LEAST_MESSAGE_BYTES)
        return min(times, _MOST_UNPACKED_BYTES)

    def validated(self, batch: memoryview) -> BatchHeader:
        """The header of a batch that could be appended now, as far as can be told without opening
        it.
        """
        size = len(batch)
        header = read_header(batch) if size else None
        if header is None or header.size != size:
            message = "a produce request carries exactly one whole record batch"
            raise KafkaError(ErrorCode.INVALID_RECORD, message)
        if size > self.config.max_message_bytes:
            message = f"{size} bytes exceed max.message.bytes={self.config.max_message_bytes}"
            raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, message)
        if not crc_matches(batch, 0, header):
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "the batch's CRC does not match its bytes")
        self._check_header(header)
        return header

    def _check_header(self, header: BatchHeader) -> None:
        reason = None
        if header.count < 1 or header.count != header.last_offset_delta + 1:
            reason = f"{header.count} records, but last offset delta {header.last_offset_delta}"
        elif header.is_control:
            reason = "control batches come from the broker alone"
        elif header.producer_id >= 0 and (header.base_sequence < 0 or header.producer_epoch < 0):
            reason = "a producer id needs an epoch and a sequence"
        elif header.attributes & 7 > Codec.ZSTD:
            reason = f"there is no codec {header.attributes & 7}"
        elif header.count * LEAST_RECORD_BYTES > (packed := header.size - HEADER_SIZE) and (
            header.count > most_records(header.codec, packed)
        ):
            reason = f"{header.count} records do not fit into {header.size} bytes"
        if reason:
            raise KafkaError(ErrorCode.INVALID_RECORD, reason)
        if not header.is_transactional and self._transactions.is_open(header.producer_id):
            message = "a plain write of a producer whose transaction is open here"
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, message)
        if not self.config.log_append_time:
            self._check_timestamps(header)

    def _check_timestamps(self, header: BatchHeader) -> None:
        now_ms = self._clock()
        ahead = header.max_timestamp - now_ms
        behind = now_ms - header.base_timestamp if header.base_timestamp >= 0 else 0
        if (
            ahead > self.config.timestamp_after_max_ms
            or behind > self.config.timestamp_before_max_ms
        ):
            message = f"timestamps {header.base_timestamp}…{header.max_timestamp} are out of bounds"
            raise KafkaError(ErrorCode.INVALID_TIMESTAMP, message)

    def _append_time(self, now_ms: int) -> int:
        """The broker's clock, but never behind the last stamp: clients compare and set by it."""
        if (
            self._last_append_time == NO_TIMESTAMP
            and self.log.end_offset > self.log.log_start_offset
        ):
            last = next(self.log.headers(self.log.end_offset - 1))
            self._last_append_time = last.max_timestamp if last.is_log_append_time else NO_TIMESTAMP
        self._last_append_time = max(now_ms, self._last_append_time)
        return self._last_append_time

    def check_online(self) -> None:
        if self.offline is not None:
            raise KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR, f"{self.name} is offline: {self.offline}"
            )

    def _flush(self) -> None:
        if self._flushing is not None or self.offline is not None:
            return
        flush = self.log.begin_flush()
        if flush is None:
            self._advance(self.log.flushed_offset, self.log.appended_size)
            return
        size = self.log.appended_size
        self._disk.flushes.begun()
        done = self._flushing = self._disk.run(partial(_timed, flush.run))
        done.add_done_callback(lambda done: self._flush_ended(flush, size, done))

    def _flush_ended(self, flush: Flush, size: int, done: asyncio.Future[float]) -> None:
        self._flushing = None
        self._disk.flushes.ended()
        if error := done.exception():
            self._go_offline(error)
            return
        self._disk.fsync_seconds.observe(done.result())
        self.log.end_flush(flush)
        unflushed = self._unflushed
        while unflushed and unflushed[0][0] <= flush.end_offset:
            future = unflushed.popleft()[1]
            if not future.done():
                future.set_result(None)
        self._advance(flush.end_offset, size)
        # Those who wait were promised a flush, even if write.caching was set meanwhile.
        if self.log.end_offset > flush.end_offset and (unflushed or not self.config.write_caching):
            self._flush()

    def _advance(self, offset: int, size: int) -> None:
        """Move the high watermark and tell those who wait for it."""
        if offset <= self.high_watermark:
            return
        self.high_watermark = offset
        more = size - self._visible_size
        self._visible_size = size
        for watcher in tuple(self._watchers):
            watcher.more(self, more)

    def _go_offline(self, error: BaseException) -> None:
        if self.is_closed:
            return
        self.offline = str(error)
        logger.error("%s goes offline: flush failed: %s", self.name, error)
        self._refuse_unflushed(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, self.offline))
        self.wake_watchers()

    def _refuse_unflushed(self, error: KafkaError) -> None:
        while self._unflushed:
            future = self._unflushed.popleft()[1]
            if not future.done():
                future.set_exception(error)
                # Its client may have gone: nobody has to hear of it.
                future.exception()


def _timed(job: Callable[[], None]) -> float:
    """Seconds, in the thread that does it: without the hand-over."""
    began = perf_counter()
    job()
    return perf_counter() - began


def check_leader_epoch(epoch: int) -> None:
    """A client that knows another epoch has old metadata, or ours is (KIP-320). −1: it does not
    say.
    """
    if epoch > LEADER_EPOCH:
        raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH)


def _restore(log: Log, now_ms: int) -> tuple[Producers, PartitionTransactions]:
    """The last snapshot, and the headers of every batch since.

    A checkpoint without a snapshot says that there were no producers: nothing before it matters.
    When a producer sent a batch, nothing tells: its timestamps are the client's to choose. It
    counts as heard of now, or the retry of a batch that is in the log could come too late.
    """
    offset, producers, transactions = log.recovery_point, Producers(), PartitionTransactions()
    if found := log.latest_snapshot(log.end_offset):
        offset, snapshot = found
        producers, end = Producers.restore(snapshot)
        transactions = PartitionTransactions.restore(snapshot, end)
    if offset < log.end_offset:
        for header in log.headers(max(offset, log.log_start_offset)):
            producers.update(header, now_ms)
            if not header.is_control:
                transactions.appended(header, header.max_timestamp)
            elif marker := read_marker(_batch(log, header)):
                transactions.ended(header.producer_id, marker, header.base_offset)
    return producers, transactions


def _batch(log: Log, header: BatchHeader) -> Buffer:
    return log.read(header.base_offset, header.size, header.next_offset).read()


def _check_keys(batch: memoryview, header: BatchHeader) -> None:
    data = payload_view(batch, header, _MOST_UNPACKED_BYTES)
    heads = (head for head, _ in checked_heads(data, header) if head)
    keyless = [index for index, head in enumerate(heads) if not head.has_key]
    if keyless:
        raise KeylessRecordsError(keyless)
