"""Partitions on disk that no topic has claimed at the start.

Those of topics that were deleted go, and those of topics that were being made when a kill came.
What fails of that is tried again, and so is one of which the disk does not tell whose it is. All
others are left alone.
Above: storage.py. Below: disk.py, log/directory.py.
"""

import logging
from collections.abc import Collection, Mapping
from functools import partial
from uuid import UUID

from kafkaesque.broker.disk import Disk
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.directory import DataDirectory
from kafkaesque.types import TopicPartition

logger = logging.getLogger(__name__)


class Strays:
    def __init__(self, directory: DataDirectory, disk: Disk) -> None:
        self.on_disk = directory.partitions()
        """Whose they are. Whoever opens one takes it out."""
        self._directory = directory
        self._disk = disk
        self._kept: set[TopicPartition] = set()
        self._removing: set[TopicPartition] = set()

    def check_free(self, name: TopicPartition) -> None:
        """Raises KafkaError while a thread removes what lies under the name: it would remove what
        is made there, too.
        """
        if name in self._removing:
            message = f"{name} is still there of a topic that is gone"
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, message)

    def forget(self, name: TopicPartition) -> None:
        """A topic that had claimed it is deleted, and sees to it: it may never have been opened."""
        self.on_disk.pop(name, None)
        self._directory.unreadable.discard(name)

    async def remove(
        self, deleted: Mapping[UUID, str], claimed: Collection[TopicPartition]
    ) -> Mapping[UUID, str]:
        """Remove what is to go; `deleted` are ids and names of topics. Those of which something may
        be left: call it again.
        """
        await self._identify(claimed)
        self._removing = {*self.on_disk}.difference(claimed, self._kept)
        if self._removing:
            try:
                await self._remove(deleted)
            except OSError as error:
                logger.error("files of deleted topics stay for now: %s", error)
        left, self._removing = self._removing, set()
        return self._may_be_left(deleted, left.difference(self._kept), claimed)

    async def _identify(self, claimed: Collection[TopicPartition]) -> None:
        """Read whose those are of which it could not be read."""
        for name in sorted(self._unreadable(claimed)):
            try:
                topic_id = await self._disk.run_aside(partial(self._directory.topic_id, name))
            except OSError:
                continue
            if name in self._directory.unreadable:
                self.on_disk[name] = topic_id
                self._directory.unreadable.discard(name)

    def _unreadable(self, claimed: Collection[TopicPartition]) -> set[TopicPartition]:
        return self._directory.unreadable.difference(claimed)

    async def _remove(self, deleted: Mapping[UUID, str]) -> None:
        names = self._removing
        of_deleted = {name for name in names if self._is_of_deleted(name, deleted)}
        never_made = await self._disk.run_aside(partial(self._empty, names - of_deleted))
        self._kept |= names - of_deleted - never_made
        doomed = sorted(of_deleted | never_made)
        await self._disk.run_aside(partial(self._directory.delete_partitions, doomed))
        for name in doomed:
            of = "was deleted" if name in of_deleted else "was never made"
            logger.warning("%s belongs to a topic that %s: removed", name, of)
            del self.on_disk[name]
            names.discard(name)

    def _empty(self, names: Collection[TopicPartition]) -> set[TopicPartition]:
        return {name for name in sorted(names) if self._directory.is_empty(name)}

    def _is_of_deleted(self, name: TopicPartition, deleted: Mapping[UUID, str]) -> bool:
        """Its metadata may have been lost with the power: one that was never flushed goes by its
        name.
        """
        topic_id = self.on_disk[name]
        if topic_id is not None:
            return topic_id in deleted
        return name.topic in deleted.values() and not self._directory.recovery_points.get(name)

    def _may_be_left(
        self,
        deleted: Mapping[UUID, str],
        left: Collection[TopicPartition],
        claimed: Collection[TopicPartition],
    ) -> Mapping[UUID, str]:
        """A name may not be known: then only the id tells."""
        ids = {self.on_disk[name] for name in left}
        topics = {name.topic for name in (*left, *self._unreadable(claimed))}
        if topics:
            topics.add("")
        return {found: name for found, name in deleted.items() if found in ids or name in topics}
