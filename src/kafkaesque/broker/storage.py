"""Where partitions live: a data directory, or memory. Opens them, checkpoints them, forgets them.

A checkpoint makes the next unclean start short: the index and the producers of each partition that
has moved are written out, then its recovery point. Segments are unlinked oldest first, each for
good before the next, so that a power cut never leaves a hole, and only after a snapshot of the
producers whose records go. What fails for one partition is told and tried again, and stops no
other; nor does one whose disk hangs.

Above: topics.py, broker.py. Below: partition.py, log/.
"""

import asyncio
import base64
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol
from uuid import UUID, uuid4

from kafkaesque.broker.config import TopicConfig
from kafkaesque.broker.disk import Disk
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.producer_ids import ProducerIds
from kafkaesque.broker.removals import Removals
from kafkaesque.broker.revivals import Revivals
from kafkaesque.broker.strays import Strays
from kafkaesque.broker.upkeep import Upkeep
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.directory import DataDirectory
from kafkaesque.log.files import SPARE_DESCRIPTORS, descriptors_left
from kafkaesque.log.log import Log
from kafkaesque.log.memory import MemorySegments
from kafkaesque.types import Clock, TopicPartition

logger = logging.getLogger(__name__)

_FEW_PARTITIONS = 100
"""No limit is as low as that: it is looked up only for more."""
_AT_ONCE = 4
"""Checkpoints and removals of segments: a thousand at once would keep the disk from flushes."""


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

    def check_room(self, partitions: int) -> None:
        """Raises KafkaError if so many more cannot be opened."""

    def open(self, name: TopicPartition, topic_id: UUID, config: TopicConfig) -> Partition: ...
    def restore(
        self, name: TopicPartition, topic_id: UUID, config: TopicConfig, *, is_state: bool
    ) -> Partition: ...
    def strays(self) -> list[TopicPartition]: ...
    async def remove_strays(self, deleted: Mapping[UUID, str]) -> Mapping[UUID, str]: ...
    def forget_strangers(self) -> None: ...
    def offline(self) -> list[Partition]: ...
    def durable_log_start(self, partition: Partition) -> int: ...
    async def forget(self, names: Collection[TopicPartition]) -> None: ...
    async def delete(self, partitions: Sequence[Partition]) -> None: ...
    async def remove_deleted(self) -> None: ...
    async def checkpoint(self) -> None: ...
    async def checkpoint_log_starts(self) -> None: ...
    async def note_cleaned(self, partition: Partition, offset: int) -> None: ...
    async def revive(self) -> None: ...
    async def close(self) -> None: ...


class MemoryStorage:
    """Nothing outlives the process."""

    def __init__(self, disk: Disk, clock: Clock, producer_ids: ProducerIds) -> None:
        self.cluster_id = new_cluster_id()
        self.path = "memory"
        self.is_durable = False
        self.scanned_bytes = 0
        self._disk = disk
        self._clock = clock
        self._producer_ids = producer_ids
        self._partitions: set[Partition] = set()
        self.cleaned_offsets: dict[TopicPartition, int] = {}

    def check_room(self, partitions: int) -> None:
        pass

    def open(self, name: TopicPartition, topic_id: UUID, config: TopicConfig) -> Partition:
        log = Log.open(MemorySegments(), config.log_of(name))
        partition = Partition(name, log, config, self._disk, self._clock, self._producer_ids)
        self._partitions.add(partition)
        return partition

    def restore(
        self, name: TopicPartition, topic_id: UUID, config: TopicConfig, *, is_state: bool
    ) -> Partition:
        return self.open(name, topic_id, config)

    def strays(self) -> list[TopicPartition]:
        return []

    async def remove_strays(self, deleted: Mapping[UUID, str]) -> Mapping[UUID, str]:
        return {}

    def forget_strangers(self) -> None:
        pass

    def offline(self) -> list[Partition]:
        return []

    def durable_log_start(self, partition: Partition) -> int:
        return partition.log.log_start_offset

    async def forget(self, names: Collection[TopicPartition]) -> None:
        pass

    async def delete(self, partitions: Sequence[Partition]) -> None:
        self._partitions.difference_update(partitions)
        for partition in partitions:
            self.cleaned_offsets.pop(partition.name, None)

    async def remove_deleted(self) -> None:
        pass

    async def checkpoint(self) -> None:
        pass

    async def checkpoint_log_starts(self) -> None:
        for partition in self._partitions:
            partition.starts_for_good(partition.log.log_start_offset)
            for segment in partition.removable(partition.log.log_start_offset):
                partition.log.remove_segments([segment])
                partition.removed(segment)

    async def note_cleaned(self, partition: Partition, offset: int) -> None:
        if partition in self._partitions:
            self.cleaned_offsets[partition.name] = offset

    async def revive(self) -> None:
        pass

    async def close(self) -> None:
        pass


class DiskStorage:
    """Partitions in a data directory."""

    def __init__(
        self,
        directory: DataDirectory,
        disk: Disk,
        clock: Clock,
        producer_ids: ProducerIds,
        state_topics: Sequence[str] = (),
    ) -> None:
        """`state_topics`: see `Revivals`."""
        self.cluster_id = directory.cluster_id
        self.path = directory.path
        self.is_durable = True
        self._directory = directory
        self._disk = disk
        self._clock = clock
        self._producer_ids = producer_ids
        self.scanned_bytes = 0
        self._strays = Strays(directory, disk)
        self._on_disk = self._strays.on_disk
        self._partitions: dict[TopicPartition, Partition] = {}
        self._removals = Removals(directory, disk)
        self._revivals = Revivals(state_topics)
        self._upkeep: Upkeep[Partition] = Upkeep(_AT_ONCE, lambda: disk.has_room_aside)
        # The checkpoint files are written whole, in threads: without this, one that began earlier
        # could end later and bring back what was. Nobody who has it waits for a partition's disk
        # to be free: every creation and deletion needs it.
        self._checkpoints = asyncio.Lock()
        for sentence in directory.repairs:
            logger.warning("%s", sentence)

    def check_room(self, partitions: int) -> None:
        """A partition is an open file. To run out of them in the midst of a creation would leave
        none for its clean-up, nor for connections.
        """
        if len(self._partitions) + partitions < _FEW_PARTITIONS:
            return
        left = descriptors_left()
        if partitions > left - SPARE_DESCRIPTORS:
            message = (
                f"{partitions} more partitions need as many open files, and {left} are left, "
                f"of which {SPARE_DESCRIPTORS} are kept free: raise the limit (ulimit -n)"
            )
            raise KafkaError(ErrorCode.INVALID_PARTITIONS, message)

    def open(self, name: TopicPartition, topic_id: UUID, config: TopicConfig) -> Partition:
        """Open what is on disk, or begin anew. A directory of an older topic of that name, or one
        that an attempt to create it has left, goes. Raises KafkaError where the disk fails.
        """
        self._strays.check_free(name)
        try:
            log = self._open(name, topic_id, config)
            partition = Partition(name, log, config, self._disk, self._clock, self._producer_ids)
        except OSError as error:
            message = f"{name} cannot be opened: {error}"
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, message) from error
        self._partitions[name] = partition
        # Not before: what fails is tried again, and must find that the directory is its own.
        self._on_disk.pop(name, None)
        self._tell_recovery(name, log)
        return partition

    def _tell_recovery(self, name: TopicPartition, log: Log) -> None:
        self.scanned_bytes += log.recovery.scanned_bytes
        for sentence in log.recovery.sentences:
            logger.warning("%s: %s", name, sentence)

    def restore(
        self, name: TopicPartition, topic_id: UUID, config: TopicConfig, *, is_state: bool
    ) -> Partition:
        """Open, at start, a partition that is known to clients. One that cannot be opened, because
        the disk fails, or is full, or has damaged it, is offline until it can: the others are
        served. But not if the broker's own state is in it: without that, clients would be told
        that nothing was ever committed.
        """
        try:
            return self.open(name, topic_id, config)
        except Exception as error:
            # Whatever it is: what damage does to whoever reads it cannot be foreseen.
            if is_state and self._may_have_records(name):
                raise
            is_expected = isinstance(error, KafkaError)
            logger.error("%s is offline: %s", name, error, exc_info=None if is_expected else error)
            log = Log.open(MemorySegments(), config.log)
            begin = partial(self._begin, name, topic_id, config)
            partition = Partition(
                name, log, config, self._disk, self._clock, self._producer_ids, begin
            )
            partition.offline = str(error)
            self._partitions[name] = partition
            return partition

    def _may_have_records(self, name: TopicPartition) -> bool:
        return self._directory.has_partition(name) and not self._directory.is_empty(name)

    def _begin(self, name: TopicPartition, topic_id: UUID, config: TopicConfig) -> Log:
        log = self._open(name, topic_id, config)
        self._on_disk.pop(name, None)
        self._tell_recovery(name, log)
        return log

    def _open(self, name: TopicPartition, topic_id: UUID, config: TopicConfig) -> Log:
        if name in self._directory.unreadable:
            self._on_disk[name] = self._directory.topic_id(name)
            self._directory.unreadable.discard(name)
        if name in self._on_disk:
            if not self._is_stale(name, topic_id, self._on_disk[name]):
                return self._known_log(name, topic_id, config)
            logger.warning("%s belongs to a topic that was deleted: removed", name)
        if self._directory.has_partition(name):
            self._directory.delete_partitions([name])
        self._on_disk.pop(name, None)
        return self._new_log(name, topic_id, config)

    def _is_stale(self, name: TopicPartition, topic_id: UUID, found: UUID | None) -> bool:
        """Without its partition.metadata, a directory has never been flushed: nothing in it was
        promised to anybody, and it may be an older topic's. One that has a checkpoint was flushed,
        and has lost its metadata since.
        """
        if found is None and self._directory.recovery_points.get(name, 0) > 0:
            try:
                self._directory.write_topic_id(name, topic_id)
            except OSError as error:
                logger.error("the metadata of %s cannot be written again: %s", name, error)
            return False
        return found != topic_id

    def _known_log(self, name: TopicPartition, topic_id: UUID, config: TopicConfig) -> Log:
        directory = self._directory
        segments = directory.segments(name)
        if not directory.was_clean and not directory.recovery_points.get(name):
            # A kill may have left its metadata in the page cache only. What is acknowledged from
            # here on must not be taken for a deleted topic's after a power cut.
            directory.secure_topic_id(name, topic_id, segments)
        try:
            return Log.open(
                segments,
                config.log_of(name),
                log_start_offset=directory.log_start_offsets.get(name),
                recovery_point=directory.recovery_points.get(name),
                clean=directory.was_clean,
            )
        except KafkaError as error:
            raise KafkaError(error.code, f"{name} cannot be opened: {error.message}") from error

    def _new_log(self, name: TopicPartition, topic_id: UUID, config: TopicConfig) -> Log:
        """Begin a log. If the disk has no room for its files, those that were made go again."""
        directory = self._directory
        try:
            segments = directory.create_partition(name, topic_id)
            try:
                return Log.open(segments, config.log_of(name))
            except KafkaError:
                directory.discard(name)
                raise
        except (OSError, KafkaError) as error:
            message = f"{name} cannot be created: {error}"
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, message) from error

    def strays(self) -> list[TopicPartition]:
        """Partitions on disk that no topic has claimed: left alone, and named."""
        return sorted(self._on_disk.keys() - self._partitions.keys())

    async def remove_strays(self, deleted: Mapping[UUID, str]) -> Mapping[UUID, str]:
        """Remove what a kill has left of topics that were deleted (ids and names), or that were
        being made and have no records; the deleted topics of which something may be left.
        """
        return await self._strays.remove(deleted, self._partitions.keys())

    def forget_strangers(self) -> None:
        """Drop checkpoints of partitions that are gone."""
        directory = self._directory
        known = {
            *directory.recovery_points,
            *directory.log_start_offsets,
            *directory.cleaned_offsets,
        }
        try:
            directory.forget_offsets(known - self._partitions.keys())
        except OSError as error:
            logger.error("checkpoints keep partitions that are gone: %s", error)

    async def forget(self, names: Collection[TopicPartition]) -> None:
        """What is known of deleted partitions would mislead their namesakes."""
        async with self._checkpoints:
            try:
                await self._disk.run_aside(partial(self._directory.forget_offsets, set(names)))
            except OSError as error:
                raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error

    async def delete(self, partitions: Sequence[Partition]) -> None:
        """Put away partitions that are closed; when this returns, they do not come back. Raises
        KafkaError if some may: it can be called again.
        """
        for partition in partitions:
            await partition.ended()
        async with self._checkpoints:
            for partition in partitions:
                if self._partitions.get(partition.name) is partition:
                    del self._partitions[partition.name]
                    self._strays.forget(partition.name)
            try:
                deleted = await self._disk.run_aside(partial(self._put_away, partitions))
            except OSError as error:
                raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error
        await self._removals.remove(deleted)

    def _put_away(self, partitions: Iterable[Partition]) -> list[str]:
        for partition in partitions:
            partition.log.close(clean=False)
        return self._directory.delete_partitions([partition.name for partition in partitions])

    async def remove_deleted(self) -> None:
        """Remove the files of what was put away and could not be removed then."""
        await self._removals.remove_rest()

    async def checkpoint(self) -> None:
        """Write recovery points, so that a start after a kill scans only what is newer. That of a
        partition whose disk hangs stays what it was.
        """
        moved = [p for p in self._partitions.values() if p.offline is None and p.has_moved]
        await self._upkeep.run(moved, self._checkpoint)
        async with self._checkpoints:
            points = {name: self._recovery_point(p) for name, p in self._partitions.items()}
            # Compared with what is on disk, not with what moved: the last write may have failed.
            # Entries of partitions that are gone go with it.
            if points != self._directory.recovery_points:
                await self._disk.run_aside(lambda: self._directory.write_recovery_points(points))

    def _recovery_point(self, partition: Partition) -> int:
        """One that could not be opened keeps what it had: it says that there are records."""
        if partition.is_begun:
            return partition.log.recovery_point
        return self._directory.recovery_points.get(partition.name, 0)

    async def _checkpoint(self, partition: Partition) -> None:
        try:
            await partition.checkpoint()
        except (OSError, KafkaError) as error:
            if partition.offline is None:
                logger.error("%s: checkpoint failed: %s", partition.name, error)

    async def checkpoint_log_starts(self) -> None:
        """Make log starts durable and remove the segments that they leave behind, as far as the
        disk allows: `durable_log_start` says what has come of it.

        What the producers of those records last sent is known from their headers or a snapshot: a
        snapshot first, if the headers go. A partition that is offline keeps the start it had.
        Segments go even if the starts could not be written: they may be what fills the disk.
        """
        starts = await self._raised_starts()
        async with self._checkpoints:
            await self._write_starts(starts)
        await self._upkeep.run(starts, lambda p: self._remove_segments(p, starts[p]))

    async def _raised_starts(self) -> dict[Partition, int]:
        """Log starts that are not durable, or have left segments behind, with what the producers
        before them have sent saved.
        """
        starts = {
            partition: partition.log.log_start_offset
            for partition in self._partitions.values()
            if partition.offline is None and self._has_raised_start(partition)
        }
        unsaved = [p for p, start in starts.items() if start > p.log.recovery_point]
        await self._upkeep.run(unsaved, self._checkpoint)
        return {p: start for p, start in starts.items() if start <= p.log.recovery_point}

    async def _write_starts(self, starts: Mapping[Partition, int]) -> None:
        """Meanwhile a partition may have been deleted, or a higher start been written."""
        written = self._directory.log_start_offsets
        merged = {name: start for name, start in written.items() if name in self._partitions}
        for partition, start in starts.items():
            if self._partitions.get(partition.name) is partition:
                merged[partition.name] = max(start, merged.get(partition.name, 0))
        try:
            if merged != written:
                await self._disk.run_aside(lambda: self._directory.write_log_start_offsets(merged))
        except OSError as error:
            logger.error("log starts could not be written: %s", error)
        else:
            for partition, start in starts.items():
                partition.starts_for_good(start)

    def _has_raised_start(self, partition: Partition) -> bool:
        start = partition.log.log_start_offset
        has_left_segments = partition.log.unfinished_swap or partition.removable(start)
        return start > self.durable_log_start(partition) or bool(has_left_segments)

    def durable_log_start(self, partition: Partition) -> int:
        return self._directory.log_start_offsets.get(partition.name, 0)

    async def _remove_segments(self, partition: Partition, start: int) -> None:
        try:
            if partition.log.unfinished_swap is not None:
                await partition.finish_swap()
        except OSError as error:
            # What is older than the segments that it replaces can go all the same.
            logger.error("%s keeps compacted segments for now: %s", partition.name, error)
        try:
            await partition.remove_segments(start)
        except OSError as error:
            logger.error("%s keeps segments for now: %s", partition.name, error)

    @property
    def cleaned_offsets(self) -> Mapping[TopicPartition, int]:
        return self._directory.cleaned_offsets

    async def note_cleaned(self, partition: Partition, offset: int) -> None:
        """Unless the partition was deleted meanwhile, whether or not its name is another's now."""
        async with self._checkpoints:
            if self._partitions.get(partition.name) is partition:
                cleaned = {**self._directory.cleaned_offsets, partition.name: offset}
                await self._disk.run_aside(lambda: self._directory.write_cleaned_offsets(cleaned))

    async def revive(self) -> None:
        await self._revivals.revive(self.offline())

    def offline(self) -> list[Partition]:
        """Those whose disk fails, or failed at the start; the metadata log included."""
        return [p for p in self._partitions.values() if p.offline is not None and not p.is_closed]

    async def close(self) -> None:
        """A clean stop: everything on disk and indexed, so that the next start scans nothing."""
        await self._revivals.ended()
        await self._upkeep.ended()
        await self._removals.ended()
        is_written = await self._last_checkpoint()
        are_closed = await asyncio.gather(*map(self._close, self._partitions.values()))
        try:
            self._directory.close(clean=is_written and all(are_closed))
        except OSError as error:
            logger.error("the next start will scan: %s", error)

    async def _close(self, partition: Partition) -> bool:
        """Whether the partition ends where its recovery point says, and all of it is on disk."""
        partition.close()
        await partition.ended()
        recovery_point = self._directory.recovery_points.get(partition.name, 0)
        is_whole = recovery_point == partition.log.end_offset and partition.is_begun
        try:
            await self._disk.run_aside(partial(partition.log.close, clean=True))
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
