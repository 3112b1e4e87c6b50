"""Cures of what stopped, hung, or never came back.

Here: transactions, waiters, partitions, clocks and long polls. Beside it: stuck_housekeeping.py,
stuck_disk.py (starts, descriptors), stuck_compaction.py.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.simulation.cures.cure import Change, Cure
from tests.simulation.cures.stuck_compaction import COMPACTION
from tests.simulation.cures.stuck_disk import DESCRIPTORS, STARTS
from tests.simulation.cures.stuck_housekeeping import HOUSEKEEPING

from kafkaesque.broker.apis.fetch import _LongPoll
from kafkaesque.broker.coordinator import Coordinator
from kafkaesque.broker.partition import Partition, _restore
from kafkaesque.broker.slices import Slices
from kafkaesque.broker.state_log import StateLog
from kafkaesque.broker.storage import DiskStorage
from kafkaesque.broker.transactions import Transactions, _Desk, _records
from kafkaesque.groups.group import GroupConfig
from kafkaesque.log.log import Flush, Log, Segment, _unwritable
from kafkaesque.transactions.events import Effect, Event, Tick
from kafkaesque.transactions.records import decode
from kafkaesque.types import Clock

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
    self._come_back(*await self._disk.run(partial(_restore, self.log, self._clock())))


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


# Clocks and long polls.


def _load_by_the_wall() -> Any:
    load = Coordinator.load

    def by_the_wall(
        cls: type[Coordinator],
        log: StateLog,
        config: GroupConfig,
        clock: Clock,
        monotonic: Clock,
        slices: Slices,
    ) -> Coordinator:
        return load(log, config, clock, clock, slices)

    return classmethod(by_the_wall)


def _transactions_by_the_wall() -> Callable[..., None]:
    made: Callable[..., None] = Transactions.__init__

    def by_the_wall(self: Transactions, *parts: Any) -> None:
        *others, clock, _, slices = parts
        made(self, *others, clock, clock, slices)

    return by_the_wall


def _more_by_size_alone(self: _LongPoll, partition: Partition, size: int) -> None:
    if self._moved is not None:
        self._moved[partition] = None
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


STUCK: tuple[Cure, ...] = (
    *HOUSEKEEPING,
    *_PARTITIONS,
    *STARTS,
    *COMPACTION,
    *_TIME,
    *DESCRIPTORS,
)
