"""A process that may open few files: what it is told, and that it can still clean up.

In a child process, for the limit is real.
"""

import multiprocessing
import os
import resource
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from kafkaesque.errors import KafkaError
from kafkaesque.log.directory import DataDirectory
from kafkaesque.log.files import OsFiles, descriptors_left
from kafkaesque.log.log import Log, LogConfig
from kafkaesque.types import TopicPartition

LIMIT = 64
TOPIC_ID = UUID(int=3)


def in_child(function: Callable[[str], object], directory: Path) -> object:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, (str(directory),))


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT))


def create_until_none_is_left(directory: DataDirectory) -> list[tuple[TopicPartition, Log]]:
    created: list[tuple[TopicPartition, Log]] = []
    while True:
        name = TopicPartition("orders", len(created))
        try:
            segments = directory.create_partition(name, TOPIC_ID)
            try:
                created.append((name, Log.open(segments, LogConfig())))
            except KafkaError:
                directory.discard(name)
                raise
        except (OSError, KafkaError) as error:
            if "Too many open files" not in str(error):
                raise
            return created


def crowd(path: str) -> list[object]:
    """Fill the table of open files, delete it all, and do it once more."""
    _limit()
    directory = DataDirectory.open(OsFiles(), path)
    seen: list[object] = [LIMIT - 15 < descriptors_left() < LIMIT]
    for _ in range(2):
        created = create_until_none_is_left(directory)
        seen += [len(created) > LIMIT - 15, descriptors_left()]
        names = [name for name, _ in created]
        for _, log in created:
            log.close(clean=False)
        directory.delete_partitions(names)
        directory.remove_deleted(directory.removable())
        del created, log
        seen.append([name for name in os.listdir(path) if name.startswith("orders")])
    return seen


def test_a_process_without_descriptors_left_can_remove_what_it_made(tmp_path: Path) -> None:
    assert in_child(crowd, tmp_path) == [True, True, 0, [], True, 0, []]


def count(path: str) -> list[int]:
    _limit()
    before = descriptors_left()
    held = [os.open(path, os.O_RDONLY) for _ in range(10)]
    after = descriptors_left()
    for descriptor in held:
        os.close(descriptor)
    return [before - after, before - descriptors_left()]


def test_descriptors_left_are_counted(tmp_path: Path) -> None:
    assert in_child(count, tmp_path) == [10, 0]


def idle(path: str) -> int:
    _limit()
    directory = DataDirectory.open(OsFiles(), path)
    before = descriptors_left()
    name = TopicPartition("orders", 0)
    log = Log.open(directory.create_partition(name, TOPIC_ID), LogConfig())
    assert log.end_offset == 0
    return before - descriptors_left()


def test_a_new_partition_holds_one_descriptor(tmp_path: Path) -> None:
    assert in_child(idle, tmp_path) == 1
