"""Where partitions live: a data directory, or memory. Opens them, checkpoints them, forgets them.

A checkpoint makes the next unclean start short: the index and the producers of each partition that
has moved are written out, then its recovery point. Segments are unlinked only after the log start
that leaves them behind is durable, so that a power cut never leaves a hole, and that start only
moves after a snapshot of the producers whose records go.

Above: topics.py, broker.py. Below: partition.py, log/.
"""

import asyncio
import base64
import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol
from uuid import UUID, uuid4

from kafkaesque.broker.config import TopicConfig
from kafkaesque.broker.disk import Disk
from kafkaesque.broker.partition import Partition
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.directory import DataDirectory
from kafkaesque.log.log import Log, Segment
from kafkaesque.log.memory import MemorySegments
from kafkaesque.log.store import Cleaned
from kafkaesque.types import Clock, TopicPartition

logger = logging.getLogger(__name__)


class Storage(Protocol):
    """The two kinds of storage."""

    cluster_id: str
    path: str
    is_durable: bool
    scanned_bytes: int
    """How much of the logs was read again at start, because the last stop was not clean."""

    @property
    def cleaned_offsets(self) -> Mapping[TopicPartition, int]:
        """How far each partition has been compacted, of those that have."""

    def open(self, name: TopicPartition, topic_id: UUID, config: TopicConfig) -> Partition: ...
    def strays(self) -> list[TopicPartition]: ...
    def forget_strangers(self) -> None: ...
    def offline(self) -> list[Partition]: ...
    async def delete(self, partitions: Sequence[Partition]) -> None: ...
    async def checkpoint(self) -> None: ...
    async def checkpoint_log_starts(self) -> None: ...
    async def note_cleaned(self, name: TopicPartition, offset: int) -> None: ...
    async def revive(self) -> None: ...
    async def close(self) -> None: ...


class MemoryStorage:
    """Nothing outlives the process."""

    def __init__(self, disk: Disk, clock: Clock) -> None:
        self.cluster_id = new_cluster_id()
        self.path = "memory"
        self.is_durable = False
        self.scanned_bytes = 0
        self._disk = disk
        self._clock = clock
        self._partitions: set[Partition] = set()
        self.cleaned_offsets: dict[TopicPartition, int] = {}

    def open(self, name: TopicPartition, topic_id: UUID, config: TopicConfig) -> Partition:
        log = Log.open(MemorySegments(), config.log)
        partition = Partition(name, log, config, self._disk, self._clock)
        self._partitions.add(partition)
        return partition

    def strays(self) -> list[TopicPartition]:
        return []

    def forget_strangers(self) -> None:
        pass

    def offline(self) -> list[Partition]:
        return []

    async def delete(self, partitions: Sequence[Partition]) -> None:
        self._partitions.difference_update(partitions)
        for partition in partitions:
            self.cleaned_offsets.pop(partition.name, None)

    async def checkpoint(self) -> None:
        pass

    async def checkpoint_log_starts(self) -> None:
        for partition in self._partitions:
            partition.log.remove_segments(partition.take_removable())

    async def note_cleaned(self, name: TopicPartition, offset: int) -> None:
        self.cleaned_offsets[name] = offset

    async def revive(self) -> None:
        pass

    async def close(self) -> None:
        pass


class DiskStorage:
    """Partitions in a data directory."""

    def __init__(self, directory: DataDirectory, disk: Disk, clock: Clock) -> None:
        self.cluster_id = directory.cluster_id
        self.path = directory.path
        self.is_durable = True
        self._directory = directory
        self._disk = disk
        self._clock = clock
        self.scanned_bytes = 0
        self._on_disk = directory.partitions()
        self._partitions: dict[TopicPartition, Partition] = {}
        # The checkpoint files are written whole, in threads: without this, one that began earlier
        # could end later and bring back what was.
        self._checkpoints = asyncio.Lock()
        for sentence in directory.repairs:
            logger.warning("%s", sentence)

    def open(self, name: TopicPartition, topic_id: UUID, config: TopicConfig) -> Partition:
        """Open what is on disk, or begin anew. A directory of an older topic of that name is set
        aside.
        """
        directory = self._directory
        known = name in self._on_disk
        if known and self._is_stale(name, topic_id, self._on_disk.pop(name)):
            logger.warning("%s belongs to a topic that was deleted: removed", name)
            directory.remove_deleted(directory.delete_partition(name))
            known = False
        log = self._known_log(name, config) if known else self._new_log(name, topic_id, config)
        self.scanned_bytes += log.recovery.scanned_bytes
        for sentence in log.recovery.sentences:
            logger.warning("%s: %s", name, sentence)
        partition = self._partitions[name] = Partition(name, log, config, self._disk, self._clock)
        return partition

    def _is_stale(self, name: TopicPartition, topic_id: UUID, found: UUID | None) -> bool:
        """Without its partition.metadata, a directory has never been flushed: nothing in it was
        promised to anybody, and it may be an older topic's. One that has a checkpoint was flushed,
        and has lost its metadata since.
        """
        if found is None and self._directory.recovery_points.get(name, 0) > 0:
            self._directory.write_topic_id(name, topic_id)
            return False
        return found != topic_id

    def _known_log(self, name: TopicPartition, config: TopicConfig) -> Log:
        directory = self._directory
        return Log.open(
            directory.segments(name),
            config.log,
            log_start_offset=directory.log_start_offsets.get(name),
            recovery_point=directory.recovery_points.get(name),
            clean=directory.was_clean,
        )

    def _new_log(self, name: TopicPartition, topic_id: UUID, config: TopicConfig) -> Log:
        """Begin a log. If the disk has no room for its files, those that were made go again."""
        directory = self._directory
        try:
            return Log.open(directory.create_partition(name, topic_id), config.log)
        except (OSError, KafkaError) as error:
            with suppress(OSError):
                directory.remove_deleted(directory.delete_partition(name))
            message = f"{name} cannot be created: {error}"
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, message) from error

    def strays(self) -> list[TopicPartition]:
        """Partitions on disk that no topic has claimed: left alone, and named."""
        return sorted(self._on_disk)

    def forget_strangers(self) -> None:
        """Drop checkpoints of partitions that are gone: they would mislead a namesake."""
        self._forget(self._directory.recovery_points.keys() - self._partitions.keys())
        self._forget(self._directory.log_start_offsets.keys() - self._partitions.keys())
        self._forget(self._directory.cleaned_offsets.keys() - self._partitions.keys())

    async def delete(self, partitions: Sequence[Partition]) -> None:
        directory = self._directory
        names = {partition.name for partition in partitions}
        async with self._checkpoints:
            for name in names:
                del self._partitions[name]

            def remove() -> None:
                for partition in partitions:
                    partition.log.close(clean=False)
                    directory.remove_deleted(directory.delete_partition(partition.name))
                self._forget(names)

            await self._disk.run(remove)

    def _forget(self, names: Collection[TopicPartition]) -> None:
        directory = self._directory
        points, starts = directory.recovery_points, directory.log_start_offsets
        if not points.keys().isdisjoint(names):
            directory.write_recovery_points({n: o for n, o in points.items() if n not in names})
        if not starts.keys().isdisjoint(names):
            directory.write_log_start_offsets({n: o for n, o in starts.items() if n not in names})
        cleaned = directory.cleaned_offsets
        if not cleaned.keys().isdisjoint(names):
            directory.write_cleaned_offsets({n: o for n, o in cleaned.items() if n not in names})

    async def checkpoint(self) -> None:
        """Write recovery points, so that a start after a kill scans only what is newer."""
        async with self._checkpoints:
            moved = [p for p in self._partitions.values() if p.offline is None and p.has_moved]
            await asyncio.gather(*map(self._checkpoint, moved))
            points = {name: p.log.recovery_point for name, p in self._partitions.items()}
            # Compared with what is on disk, not with what moved: the last write may have failed.
            if points != self._directory.recovery_points:
                await self._disk.run(lambda: self._directory.write_recovery_points(points))

    async def _checkpoint(self, partition: Partition) -> None:
        try:
            await partition.checkpoint()
        except (OSError, KafkaError) as error:
            if partition.offline is None:
                logger.error("%s: checkpoint failed: %s", partition.name, error)

    async def checkpoint_log_starts(self) -> None:
        """Make log starts durable, then remove the segments that they leave behind.

        What the producers of those records last sent is known from their headers or a snapshot: a
        snapshot first, if the headers go. A partition that is offline keeps the start it had.
        """
        async with self._checkpoints:
            while unsaved := self._with_unsaved_producers():
                try:
                    await unsaved[0].checkpoint()
                except KafkaError:
                    if unsaved[0].offline is None:
                        raise
            online = {n: p.log for n, p in self._partitions.items() if p.offline is None}
            starts = self._directory.log_start_offsets | {
                name: log.log_start_offset for name, log in online.items() if log.log_start_offset
            }
            removable = [
                (log, segments)
                for name, log in online.items()
                if (segments := self._partitions[name].take_removable())
            ]
            if starts != self._directory.log_start_offsets:
                await self._disk.run(lambda: self._directory.write_log_start_offsets(starts))
            for log, segments in removable:
                await self._disk.run(partial(log.remove_segments, segments))

    def _with_unsaved_producers(self) -> list[Partition]:
        return [
            partition
            for partition in self._partitions.values()
            if partition.offline is None
            and partition.log.log_start_offset > partition.log.recovery_point
        ]

    @property
    def cleaned_offsets(self) -> Mapping[TopicPartition, int]:
        return self._directory.cleaned_offsets

    async def note_cleaned(self, name: TopicPartition, offset: int) -> None:
        async with self._checkpoints:
            if name in self._partitions:
                cleaned = {**self._directory.cleaned_offsets, name: offset}
                await self._disk.run(lambda: self._directory.write_cleaned_offsets(cleaned))

    async def swap(self, partition: Partition, old: list[Segment], cleaned: Cleaned) -> bool:
        """Put a compacted segment in the place of `old`, while nobody removes segments.

        False: they are not there any more, or the partition is not. `old` is emptied: the last to
        hold a file waits for its end, and that must not be the loop. Raises KafkaError when the
        disk fails: the log then reads the old segments until the next start, which finds the new.
        """
        async with self._checkpoints:
            swap = partition.log.swap(old, cleaned) if partition.offline is None else None
            if swap is None:
                return False
            try:
                await self._disk.run(swap.run)
            except OSError as error:
                raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error
            # A log that is being repaired must not change.
            partition.check_online()
            partition.log.end_swap(swap)
            old.clear()
            await self._disk.run(swap.forget_old)
        return True

    async def forget_aborted(self, partition: Partition, markers: Collection[int]) -> None:
        """Forget aborted transactions for good, before compaction removes their markers.

        A reader who is told of one looks for its marker, and hides all until then.
        """
        async with self._checkpoints:
            if partition.offline is None:
                partition.forget_aborted(markers)
                await partition.checkpoint()

    async def remove_cleaned(self, partition: Partition) -> None:
        """Remove what compaction has written and will not be swapped in."""
        async with self._checkpoints:
            if self._partitions.get(partition.name) is partition:
                await self._disk.run(partition.log.remove_cleaned)

    async def revive(self) -> None:
        """Try to bring partitions back that a failed flush took offline."""
        for partition in self.offline():
            try:
                await partition.reopen()
            except (OSError, KafkaError) as error:
                partition.offline = str(error)

    def offline(self) -> list[Partition]:
        """Those that a failed flush took offline, the metadata log included."""
        return [p for p in self._partitions.values() if p.offline is not None]

    async def close(self) -> None:
        """A clean stop: everything on disk and indexed, so that the next start scans nothing."""
        is_written = await self._last_checkpoint()
        are_closed = await asyncio.gather(*map(self._close, self._partitions.values()))
        try:
            self._directory.close(clean=is_written and all(are_closed))
        except OSError as error:
            logger.error("the next start will scan: %s", error)

    async def _close(self, partition: Partition) -> bool:
        """Whether the partition ends where its recovery point says, and all of it is on disk."""
        partition.close()
        is_whole = partition.log.recovery_point == partition.log.end_offset
        try:
            await self._disk.run(partial(partition.log.close, clean=True))
        except (OSError, KafkaError) as error:
            logger.error("%s did not close cleanly: %s", partition.name, error)
            return False
        return is_whole

    async def _last_checkpoint(self) -> bool:
        """Whether all of it could be written: otherwise the next start has to scan."""
        try:
            await self.checkpoint()
            await self.checkpoint_log_starts()
        except (OSError, KafkaError) as error:
            logger.error("the last checkpoint failed, the next start will scan: %s", error)
            return False
        return True


def new_cluster_id() -> str:
    """22 characters, as Kafka makes them."""
    return base64.urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")
