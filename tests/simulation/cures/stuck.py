"""Cures of what stopped, hung, or never came back.

In the order of the issue: housekeeping that one partition or a full disk stopped for all others,
transactions, waiters, partitions that stayed offline or came back, starts, compaction, clocks, long
polls, descriptors.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

from tests.simulation.cures.cure import Change, Cure

from kafkaesque.broker import state_log
from kafkaesque.broker.apis.fetch import _LongPoll
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.cleaner import Cleaner
from kafkaesque.broker.compactors import CompactionError, FilesInSlices, SwapError
from kafkaesque.broker.config import TopicConfig
from kafkaesque.broker.coordinator import Coordinator
from kafkaesque.broker.partition import Partition, _restore
from kafkaesque.broker.state_log import StateLog
from kafkaesque.broker.storage import DiskStorage
from kafkaesque.broker.topics import Topics
from kafkaesque.broker.transactions import Transactions, _Desk, _records
from kafkaesque.errors import KafkaError
from kafkaesque.groups.group import GroupConfig
from kafkaesque.log import recovery, repair, retention
from kafkaesque.log.compact import Request, Result, compact
from kafkaesque.log.compaction import Compaction, _times
from kafkaesque.log.directory import DataDirectory, _deleted_name
from kafkaesque.log.index import OFFSET_ENTRY_SIZE, TIME_ENTRY_SIZE, SegmentIndex
from kafkaesque.log.log import Flush, Log, Segment, _unwritable
from kafkaesque.log.segment_files import INDEX, TIME_INDEX, SegmentFiles
from kafkaesque.log.store import Recovery
from kafkaesque.records.batch import BatchHeader
from kafkaesque.records.record import MAX_TIMESTAMP
from kafkaesque.transactions.events import Effect, Event, Tick
from kafkaesque.transactions.records import decode
from kafkaesque.types import Buffer, Clock, TopicPartition

# Housekeeping: one partition, or a full disk, stopped it for all others.


async def _retention_in_one(self: Broker) -> None:
    now_ms = self.clock()
    for topic in list(self.topics):
        for partition in topic.partitions:
            partition.enforce_retention(now_ms)
    await self.storage.checkpoint_log_starts()


def _retention_that_has_to_roll(self: Log, now_ms: int) -> list[Segment]:
    segments = self._store.segments
    start = retention.retained_from(segments, self.config, self.flushed_offset, now_ms)
    if start == self.end_offset and self._active.size:
        self.roll()
    return self.delete_before(start)


async def _starts_of_all_or_none(self: DiskStorage) -> dict[Partition, int]:
    starts = {
        partition: partition.log.log_start_offset
        for partition in self._partitions.values()
        if partition.offline is None and self._has_raised_start(partition)
    }
    for partition, start in starts.items():
        try:
            if start > partition.log.recovery_point:
                await partition.checkpoint()
        except (OSError, KafkaError):
            if partition.offline is None:
                return {}
    return {partition: start for partition, start in starts.items() if partition.offline is None}


async def _checkpoint_after_metadata(self: Broker) -> None:
    await self.metadata.compact()
    await self.storage.checkpoint_log_starts()
    await self.storage.remove_deleted()
    await self.storage.checkpoint()


def _is_long_whatever_was_tried(self: StateLog) -> bool:
    enough = max(state_log._SMALL_BYTES, state_log._GROWTH * self._live_bytes)
    return self.partition.log.size >= enough


def _log_starts(
    *, forgets: bool, needs_starts: bool, ends_at_first: bool
) -> Callable[[DiskStorage], Awaitable[None]]:
    """`forgets`: segments are taken before anything is done. `needs_starts`: none go unless the
    starts are written. `ends_at_first`: or if one before them did not.
    """

    async def checkpoint_log_starts(self: DiskStorage) -> None:
        async with self._checkpoints:
            starts = await self._raised_starts()
            removable = [(p, s) for p, start in starts.items() for s in p.removable(start)]
            for partition, segment in removable if forgets else ():
                partition.removed(segment)
            if not await _write_starts(self, starts) and needs_starts:
                return
            for partition, segment in removable:
                try:
                    await self._disk.run(partial(partition.log.remove_segments, [segment]))
                except OSError:
                    if ends_at_first:
                        return
                else:
                    if not forgets:
                        partition.removed(segment)

    return checkpoint_log_starts


async def _write_starts(storage: DiskStorage, starts: dict[Partition, int]) -> bool:
    directory, known = storage._directory, storage._partitions
    merged = {name: start for name, start in directory.log_start_offsets.items() if name in known}
    merged |= {partition.name: start for partition, start in starts.items()}
    try:
        await storage._disk.run(partial(directory.write_log_start_offsets, merged))
    except OSError:
        return False
    for partition, start in starts.items():
        partition.starts_for_good(start)
    return True


def _remove_deleted_until_one_fails(self: DataDirectory, paths: Collection[str]) -> None:
    for path in sorted({*paths, *self.deleted}):
        with suppress(FileNotFoundError):
            self._files.remove_tree(path)
        self.deleted.discard(path)


_HOUSEKEEPING = (
    Cure(
        "retention-per-partition",
        "is longer than retention.bytes allows",
        lambda: [
            Change(Broker, "_enforce_retention", _retention_in_one),
            Change(Log, "enforce_retention", _retention_that_has_to_roll),
        ],
    ),
    Cure(
        "retention-without-room-to-roll",
        "is longer than retention.bytes allows",
        lambda: [Change(Log, "enforce_retention", _retention_that_has_to_roll)],
    ),
    Cure(
        "log-starts-per-partition",
        "is told KAFKA_STORAGE_ERROR, and its files are all right",
        lambda: [Change(DiskStorage, "_raised_starts", _starts_of_all_or_none)],
    ),
    Cure(
        "checkpoints-without-metadata",
        "has had no checkpoint",
        lambda: [
            Change(Broker, "_checkpoint", _checkpoint_after_metadata),
            Change(StateLog, "is_long", property(_is_long_whatever_was_tried)),
        ],
    ),
    Cure(
        "segments-remembered-until-removed",
        "has not removed",
        lambda: [
            Change(
                DiskStorage,
                "checkpoint_log_starts",
                _log_starts(forgets=True, needs_starts=True, ends_at_first=True),
            )
        ],
    ),
    Cure(
        "segments-removed-without-log-starts",
        "has not removed a segment",
        lambda: [
            Change(
                DiskStorage,
                "checkpoint_log_starts",
                _log_starts(forgets=False, needs_starts=True, ends_at_first=False),
            )
        ],
    ),
    Cure(
        "segments-removed-per-partition",
        "has not removed a segment",
        lambda: [
            Change(
                DiskStorage,
                "checkpoint_log_starts",
                _log_starts(forgets=False, needs_starts=False, ends_at_first=True),
            )
        ],
    ),
    Cure(
        "deleted-partitions-removed-each",
        "is deleted and has not been removed",
        lambda: [Change(DataDirectory, "remove_deleted", _remove_deleted_until_one_fails)],
    ),
)


# Transactions: a decision that could not be stored.


async def _tick_without_reading_again(self: Transactions) -> None:
    self._end_orphans()
    for transactional_id in sorted(self._unwritten):
        self._resume(transactional_id)
    for transaction in tuple(self.table.transactions.values()):
        if transaction.is_due(self._now()):
            self._give(transaction.transactional_id, Tick())


def _handled_after_reading_again() -> Callable[..., list[Effect]]:
    handled = Transactions._handled

    def reading_again(
        self: Transactions, transactional_id: str, desk: _Desk, event: Event
    ) -> list[Effect]:
        if desk.is_doubtful:
            desk.effects.extend(_read_again(self, transactional_id, desk))
        return handled(self, transactional_id, desk, event)

    return reading_again


def _read_again(self: Transactions, transactional_id: str, desk: _Desk) -> list[Effect]:
    if self._log is None or self._log.partition.offline is not None:
        return []
    self.table.remove(transactional_id)
    for key, value in _records(self._log):
        record = decode(key, value)
        if record is not None and record.transactional_id == transactional_id:
            self.table.take(record)
    desk.is_doubtful = False
    transaction = self.table.get(transactional_id)
    for partition, opened in self._open():
        if transaction and self.table.by_producer(opened.producer_id) is transaction:
            self._reinstate(partition, opened)
    return transaction.resume(self._now()) if transaction else []


# Waiters that nobody woke, partitions that stayed away or came back.


def _flush_ended_for_no_waiter(
    self: Partition, flush: Flush, size: int, done: "asyncio.Future[float]"
) -> None:
    self._flushing = None
    if error := done.exception():
        self._go_offline(error)
        return
    self.log.end_flush(flush)
    while self._unflushed and self._unflushed[0][0] <= flush.end_offset:
        future = self._unflushed.popleft()[1]
        if not future.done():
            future.set_result(None)
    self._advance(flush.end_offset, size)
    if self.log.end_offset > flush.end_offset and not self.config.write_caching:
        self._flush()


def _recover_to_what_was_flushed(self: Log) -> None:
    self.truncate(self.flushed_offset)
    try:
        self._store.repair_tail(self._flush, self.recovery_point)
    except OSError as error:
        raise _unwritable(error) from error
    self._flush = None


def _offline_or_closed(self: DiskStorage) -> list[Partition]:
    return [p for p in self._partitions.values() if p.offline is not None]


async def _reopen_though_closed(self: Partition) -> None:
    if self._begin is None:
        await self._disk.run(self.log.recover_from_failed_flush)
    else:
        self.log = await self._disk.run(self._begin)
        self.log.config = self.config.log_of(self.name)
        self._begin = None
    self._come_back(*await self._disk.run(partial(_restore, self.log)))


_PARTITIONS = (
    Cure(
        "undecided-transaction-read-again",
        "is in state PREPARE_ABORT for ever",
        lambda: [
            Change(Transactions, "tick", _tick_without_reading_again),
            Change(Transactions, "_handled", _handled_after_reading_again()),
        ],
    ),
    Cure(
        "flush-for-those-who-wait",
        "has had no checkpoint|is not answered after|a clean stop has not ended",
        lambda: [Change(Partition, "_flush_ended", _flush_ended_for_no_waiter)],
    ),
    Cure(
        "log-begins-anew-above-what-was-flushed",
        "is offline for ever: offset .* is not in",
        lambda: [Change(Log, "recover_from_failed_flush", _recover_to_what_was_flushed)],
    ),
    Cure(
        "closed-partitions-stay-closed",
        "is back online.*, and its topic is deleted",
        lambda: [
            Change(DiskStorage, "offline", _offline_or_closed),
            Change(Partition, "reopen", _reopen_though_closed),
        ],
    ),
)


# Starts on a full disk.


def _write_index_or_fail(
    files: SegmentFiles, index: SegmentIndex, offsets: int, times: int, told: Recovery
) -> bool:
    files.write_index(INDEX, index.offset_bytes(offsets), offsets * OFFSET_ENTRY_SIZE)
    files.write_index(TIME_INDEX, index.time_bytes(times), times * TIME_ENTRY_SIZE)
    return True


def _restore_or_fail(
    self: DiskStorage, name: TopicPartition, topic_id: UUID, config: TopicConfig, *, is_state: bool
) -> Partition:
    return self.open(name, topic_id, config)


def _forget_strangers_or_fail(self: DiskStorage) -> None:
    directory = self._directory
    known = {*directory.recovery_points, *directory.log_start_offsets, *directory.cleaned_offsets}
    directory.forget_offsets(known - self._partitions.keys())


_STARTS = (
    Cure(
        "start-without-room-for-indexes",
        "a broker does not start: .*No space left",
        lambda: [
            Change(recovery, "write_index", _write_index_or_fail),
            Change(repair, "write_index", _write_index_or_fail),
        ],
    ),
    Cure(
        "start-without-room-for-an-empty-partition",
        "a broker does not start: .*No space left",
        lambda: [Change(DiskStorage, "restore", _restore_or_fail)],
    ),
    Cure(
        "start-without-room-for-checkpoints",
        "a broker does not start: .*No space left",
        lambda: [Change(DiskStorage, "forget_strangers", _forget_strangers_or_fail)],
    ),
)


# Compaction.


def _with_horizon_beyond_64_bits() -> Callable[..., Buffer]:
    with_horizon = Compaction._with_horizon

    def beyond_64_bits(
        self: Compaction,
        data: bytes,
        at: int,
        header: BatchHeader,
        unpacked: bytes,
        places: Sequence[tuple[int, int]],
    ) -> Buffer:
        horizon = self._rules.now_ms + self._rules.delete_retention_ms
        if horizon <= MAX_TIMESTAMP:
            return with_horizon(self, data, at, header, unpacked, places)
        return self._rewritten(header, unpacked, places, _times(header, unpacked, places), horizon)

    return beyond_64_bits


def _with_horizon_however_far(
    self: Compaction,
    data: bytes,
    at: int,
    header: BatchHeader,
    unpacked: bytes,
    places: Sequence[tuple[int, int]],
) -> Buffer:
    horizon = min(self._rules.now_ms + self._rules.delete_retention_ms, MAX_TIMESTAMP)
    return self._rewritten(header, unpacked, places, _times(header, unpacked, places), horizon)


async def _clean_unless_surprised(self: Cleaner, partition: Partition) -> None:
    began_ms = self._clock()
    try:
        work = self._work(partition)
        done = await self._compactor.compact(work) if work is not None else None
        if done is None:
            self._try_later(partition)
        else:
            await self._storage.note_cleaned(partition, done.cleaned_to)
            self._succeeded(partition, done, began_ms)
    except (CompactionError, SwapError, KafkaError, OSError) as error:
        if not self._is_stopping:
            self._failed(partition, error)


async def _run_as_a_child_does(
    self: FilesInSlices, request: Request, is_void: Callable[[], bool]
) -> Result:
    """Whatever ends a child process is told as one kind of error."""
    try:
        return await self.all(compact(self._files, request), is_void)
    except Exception as error:
        raise CompactionError(str(error)) from error


_COMPACTION = (
    Cure(
        "delete-horizon-within-64-bits",
        "a traceback in the log: .* was not compacted",
        lambda: [Change(Compaction, "_with_horizon", _with_horizon_beyond_64_bits())],
    ),
    Cure(
        "timestamp-delta-within-64-bits",
        "a client cannot read what it is sent: a varint",
        lambda: [Change(Compaction, "_with_horizon", _with_horizon_however_far)],
    ),
    Cure(
        "compaction-in-memory-per-partition",
        "a traceback in the log: clean failed",
        lambda: [
            Change(Compaction, "_with_horizon", _with_horizon_beyond_64_bits()),
            Change(FilesInSlices, "run", _run_as_a_child_does),
            Change(Cleaner, "_clean", _clean_unless_surprised),
        ],
    ),
)


# Clocks and long polls.


def _load_by_the_wall() -> Any:
    load = Coordinator.load

    def by_the_wall(
        cls: type[Coordinator], log: StateLog, config: GroupConfig, clock: Clock, monotonic: Clock
    ) -> Coordinator:
        return load(log, config, clock, clock)

    return classmethod(by_the_wall)


def _transactions_by_the_wall() -> Callable[..., None]:
    made: Callable[..., None] = Transactions.__init__

    def by_the_wall(self: Transactions, *parts: Any) -> None:
        *others, clock, _ = parts
        made(self, *others, clock, clock)

    return by_the_wall


def _more_by_size_alone(self: _LongPoll, partition: Partition, size: int) -> None:
    self._moved.add(partition)
    self._needed -= size
    if self._needed <= 0:
        self._read_soon()


def _raise_start_silently(self: Partition, drop: Callable[[], list[Segment]]) -> None:
    self._removable += drop()


_TIME = (
    Cure(
        "rebalance-by-a-clock-that-goes-forward",
        "JoinGroup is not answered after",
        lambda: [Change(Coordinator, "load", _load_by_the_wall())],
    ),
    Cure(
        "transaction-times-out-by-a-clock-that-goes-forward",
        "is in state ONGOING for ever",
        lambda: [Change(Transactions, "__init__", _transactions_by_the_wall())],
    ),
    Cure(
        "long-poll-woken-by-what-is-appended",
        "a long poll from offset .* slept on",
        lambda: [
            Change(Log, "appended_size", property(lambda log: log.size)),
            Change(_LongPoll, "more", _more_by_size_alone),
            Change(Partition, "_raise_start", _raise_start_silently),
        ],
    ),
)


# Descriptors.


async def _discard_one_by_one(self: Topics, partitions: list[Partition]) -> None:
    for partition in partitions:
        partition.close()
    storage = self._storage
    if isinstance(storage, DiskStorage):
        for partition in partitions:
            del storage._partitions[partition.name]
        with suppress(OSError):
            await storage._disk.run(partial(_remove_one_by_one, storage._directory, partitions))


def _remove_one_by_one(directory: DataDirectory, partitions: Iterable[Partition]) -> None:
    for partition in partitions:
        partition.log.close(clean=False)
        _remove_with_a_descriptor(directory, partition.name)


def _remove_with_a_descriptor(directory: DataDirectory, name: TopicPartition) -> None:
    aside = directory._at(_deleted_name(name))
    directory._files.rename(directory._at(str(name)), aside)
    directory._files.sync_directory(directory.path)
    directory._files.remove_tree(aside)


def _discard_with_a_descriptor(self: DataDirectory, partition: TopicPartition) -> None:
    with suppress(OSError):
        _remove_with_a_descriptor(self, partition)


_DESCRIPTORS = (
    Cure(
        "creation-undone-without-descriptors",
        "is left on the disk, and belongs to no topic|is deleted and has not been removed",
        lambda: [
            Change(Topics, "_discard", _discard_one_by_one),
            Change(DataDirectory, "discard", _discard_with_a_descriptor),
        ],
    ),
    Cure(
        "descriptors-counted-before-a-creation",
        "is told KAFKA_STORAGE_ERROR, and its files are all right|Too many open files",
        lambda: [Change(DiskStorage, "check_room", lambda storage, partitions: None)],
    ),
)

STUCK: tuple[Cure, ...] = (
    *_HOUSEKEEPING,
    *_PARTITIONS,
    *_STARTS,
    *_COMPACTION,
    *_TIME,
    *_DESCRIPTORS,
)
