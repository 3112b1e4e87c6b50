"""Where partitions live: a data directory, or memory. Opens them, checkpoints them, forgets them.

A checkpoint makes the next unclean start short: the index and the producers of each partition that
has moved are written out, then its recovery point. Segments are unlinked only after the log start
that leaves them behind is durable, so that a power cut never leaves a hole.

Above: topics.py, broker.py. Below: partition.py, log/.
"""

import base64
import logging
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Protocol
from uuid import UUID, uuid4

from kafkaesque.broker.config import TopicConfig
from kafkaesque.broker.disk import Disk
from kafkaesque.broker.partition import Partition
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.directory import DataDirectory
from kafkaesque.log.log import Log
from kafkaesque.log.memory import MemorySegments
from kafkaesque.types import Clock, TopicPartition

logger = logging.getLogger(__name__)


class Storage(Protocol):
    """The two kinds of storage."""

    cluster_id: str
    path: str
    is_durable: bool

    def open(self, name: TopicPartition, topic_id: UUID, config: TopicConfig) -> Partition: ...
    def strays(self) -> list[TopicPartition]: ...
    async def delete(self, partition: Partition) -> None: ...
    async def checkpoint(self) -> None: ...
    async def checkpoint_log_starts(self) -> None: ...
    async def revive(self) -> None: ...
    async def close(self) -> None: ...


class MemoryStorage:
    """Nothing outlives the process."""

    def __init__(self, disk: Disk, clock: Clock) -> None:
        self.cluster_id = new_cluster_id()
        self.path = "memory"
        self.is_durable = False
        self._disk = disk
        self._clock = clock
        self._partitions: set[Partition] = set()

    def open(self, name: TopicPartition, topic_id: UUID, config: TopicConfig) -> Partition:
        log = Log.open(MemorySegments(), config.log)
        partition = Partition(name, log, config, self._disk, self._clock)
        self._partitions.add(partition)
        return partition

    def strays(self) -> list[TopicPartition]:
        return []

    async def delete(self, partition: Partition) -> None:
        self._partitions.discard(partition)

    async def checkpoint(self) -> None:
        pass

    async def checkpoint_log_starts(self) -> None:
        for partition in self._partitions:
            partition.log.remove_segments(partition.take_removable())

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
        self._on_disk = directory.partitions()
        self._partitions: dict[TopicPartition, Partition] = {}
        for sentence in directory.repairs:
            logger.warning("%s", sentence)

    def open(self, name: TopicPartition, topic_id: UUID, config: TopicConfig) -> Partition:
        """Open what is on disk, or begin anew. A directory of an older topic of that name is set
        aside.
        """
        directory = self._directory
        known = name in self._on_disk
        if known and self._on_disk.pop(name) not in (topic_id, None):
            logger.warning("%s belongs to a topic that was deleted: removed", name)
            directory.remove_deleted(directory.delete_partition(name))
            known = False
        log = self._known_log(name, config) if known else self._new_log(name, topic_id, config)
        for sentence in log.recovery.sentences:
            logger.warning("%s: %s", name, sentence)
        partition = self._partitions[name] = Partition(name, log, config, self._disk, self._clock)
        return partition

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

    async def delete(self, partition: Partition) -> None:
        del self._partitions[partition.name]
        directory = self._directory
        path = directory.delete_partition(partition.name)

        def remove() -> None:
            partition.log.close(clean=False)
            directory.remove_deleted(path)

        await self._disk.run(remove)

    async def checkpoint(self) -> None:
        """Write recovery points, so that a start after a kill scans only what is newer."""
        moved = [p for p in self._partitions.values() if p.offline is None and p.has_moved]
        if not moved:
            return
        for partition in moved:
            try:
                await partition.checkpoint()
            except (OSError, KafkaError) as error:
                logger.error("%s: checkpoint failed: %s", partition.name, error)
        points = {name: p.log.recovery_point for name, p in self._partitions.items()}
        await self._disk.run(lambda: self._directory.write_recovery_points(points))

    async def checkpoint_log_starts(self) -> None:
        """Make log starts durable, then remove the segments that they leave behind."""
        starts = {name: p.log.log_start_offset for name, p in self._partitions.items()}
        removable = [
            (partition.log, segments)
            for partition in self._partitions.values()
            if (segments := partition.take_removable())
        ]
        written = {name: start for name, start in starts.items() if start > 0}
        if written != self._directory.log_start_offsets:
            await self._disk.run(lambda: self._directory.write_log_start_offsets(written))
            self._directory.log_start_offsets = written
        for log, segments in removable:
            await self._disk.run(partial(log.remove_segments, segments))

    async def revive(self) -> None:
        """Try to bring partitions back that a failed flush took offline."""
        for partition in self._offline():
            try:
                await partition.reopen()
            except (OSError, KafkaError) as error:
                partition.offline = str(error)

    def _offline(self) -> Iterator[Partition]:
        yield from [p for p in self._partitions.values() if p.offline is not None]

    async def close(self) -> None:
        """A clean stop: everything on disk and indexed, so that the next start scans nothing."""
        clean = True
        await self.checkpoint()
        await self.checkpoint_log_starts()
        for partition in self._partitions.values():
            partition.close()
            if partition.log.recovery_point < partition.log.end_offset:
                clean = False
            try:
                partition.log.close(clean=True)
            except (OSError, KafkaError) as error:
                logger.error("%s did not close cleanly: %s", partition.name, error)
                clean = False
        self._directory.close(clean=clean)


def new_cluster_id() -> str:
    """22 characters, as Kafka makes them."""
    return base64.urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")
