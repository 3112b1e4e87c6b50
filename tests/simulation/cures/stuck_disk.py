"""Cures of starts that a full disk made fail, and of creations that used up the descriptors."""

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from uuid import UUID

from tests.simulation.cures.cure import Change, Cure

from kafkaesque.broker.config import TopicConfig
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.storage import DiskStorage
from kafkaesque.broker.topics import Topics
from kafkaesque.log import recovery, repair
from kafkaesque.log.directory import DataDirectory, _deleted_name
from kafkaesque.log.index import OFFSET_ENTRY_SIZE, TIME_ENTRY_SIZE, SegmentIndex
from kafkaesque.log.segment_files import INDEX, TIME_INDEX, SegmentFiles
from kafkaesque.log.store import Recovery
from kafkaesque.types import TopicPartition


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


STARTS = (
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


DESCRIPTORS = (
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
