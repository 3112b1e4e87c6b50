"""Cures of housekeeping that one partition, or a full disk, stopped for all others."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial

from tests.simulation.cures.cure import Change, Cure

from kafkaesque.broker import state_log
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.metadata import Metadata
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.removals import Removals
from kafkaesque.broker.state_log import StateLog
from kafkaesque.broker.storage import DiskStorage
from kafkaesque.errors import KafkaError
from kafkaesque.log import retention
from kafkaesque.log.log import Log, Segment


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


_every = Broker._every


def _checkpoints_as(
    checkpoint: Callable[[Broker], Awaitable[None]],
) -> Callable[[Broker, float, Callable[[], Awaitable[None]]], Awaitable[None]]:
    """What is done regularly, with this in the place of checkpoints."""

    async def every(self: Broker, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        async def in_one() -> None:
            await checkpoint(self)

        await _every(self, seconds, in_one if work == self.storage.checkpoint else work)

    return every


async def _checkpoint_after_metadata(self: Broker) -> None:
    await self.metadata.compact()
    await self.storage.checkpoint_log_starts()
    await self.storage.checkpoint()


async def _checkpoint_after_log_starts(self: Broker) -> None:
    await self.storage.checkpoint_log_starts()
    if isinstance(self.storage, DiskStorage):
        online = [p for p in self.storage._partitions.values() if p.offline is None]
        if any(map(self.storage._has_raised_start, online)):
            return
    await self.storage.checkpoint()


async def _shorten_even_while_repaired(self: Metadata) -> None:
    if self._log.is_long:
        async with self._gate.shut():
            await self._log.compact(self._live_state())


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
        if merged != directory.log_start_offsets:
            await storage._disk.run(partial(directory.write_log_start_offsets, merged))
    except OSError:
        return False
    for partition, start in starts.items():
        partition.starts_for_good(start)
    return True


async def _remove_until_one_fails(self: Removals, paths: Iterable[str]) -> None:
    with suppress(OSError):
        for path in paths:
            await self._disk.run(partial(self._directory.remove_deleted, [path]))


HOUSEKEEPING = (
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
        "is told KAFKA_STORAGE_ERROR, and its files are all right|has not removed a segment",
        lambda: [Change(DiskStorage, "_raised_starts", _starts_of_all_or_none)],
    ),
    Cure(
        "checkpoints-without-metadata",
        "has had no checkpoint",
        lambda: [
            Change(Broker, "_every", _checkpoints_as(_checkpoint_after_metadata)),
            Change(Metadata, "compact", _shorten_even_while_repaired),
            Change(StateLog, "is_long", property(_is_long_whatever_was_tried)),
        ],
    ),
    Cure(
        "checkpoints-without-log-starts",
        "has had no checkpoint",
        lambda: [Change(Broker, "_every", _checkpoints_as(_checkpoint_after_log_starts))],
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
        lambda: [Change(Removals, "remove", _remove_until_one_fails)],
    ),
)
