"""The data directory: who holds it, how it was left, and which partitions it has.

    .lock                               held while a broker runs; names its process
    meta.properties                     Kafka's, and kafkaesque.format=1
    .kafka_cleanshutdown                there after a clean stop; gone before anything is written
    recovery-point-offset-checkpoint    below it a log need not be scanned
    log-start-offset-checkpoint         written before segments below it are removed
    cleaner-offset-checkpoint           below it a log is compacted; without it, more is read again
    <topic>-<n>/                        a partition: segments, partition.metadata, *.producers
    <topic>-<n>.<hex>-delete/           one that was deleted, until its files are gone

What is missing or damaged is repaired, with a sentence in `repairs`, where no record is at stake.
What cannot be removed is told there too, and tried again: it keeps nobody from starting.
Above: broker/broker.py. Below: checkpoints.py, files.py; disk.py for a partition's segments.
"""

import errno
import os
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from uuid import UUID, uuid4

from kafkaesque.errors import StartError
from kafkaesque.log.checkpoints import OffsetCheckpoint
from kafkaesque.log.disk import DiskSegments
from kafkaesque.log.files import Files, Lock, read_whole, write_atomically, write_synced
from kafkaesque.log.names import METADATA, is_ours
from kafkaesque.log.properties import (
    format_properties,
    format_topic_id,
    format_uuid,
    parse_properties,
    parse_topic_id,
)
from kafkaesque.log.segment_files import LOG, OpenFiles
from kafkaesque.types import TopicPartition

FORMAT = 1
_CLEAN_MARKER = ".kafka_cleanshutdown"
_RECOVERY_POINTS = "recovery-point-offset-checkpoint"
_LOG_START_OFFSETS = "log-start-offset-checkpoint"
_CLEANED_OFFSETS = "cleaner-offset-checkpoint"
_DELETED = re.compile(r".+-[0-9]+\.[0-9a-f]{32}-delete")
_LONGEST_NAME = 255


class DataDirectory:
    """Methods wait for the disk: for a thread, or the start and the stop of a broker."""

    def __init__(self, files: Files, path: str, lock: Lock, meta: Mapping[str, str]) -> None:
        self.path = path
        self.cluster_id = meta["cluster.id"]
        self.directory_id = meta["directory.id"]
        self.repairs: list[str] = []
        self._files = files
        self._lock = lock
        self._open_files = OpenFiles()
        self._recovery_points = self._checkpoint(_RECOVERY_POINTS)
        self._log_starts = self._checkpoint(_LOG_START_OFFSETS)
        self._cleaned = self._checkpoint(_CLEANED_OFFSETS)
        self.unreadable: set[TopicPartition] = set()
        """Partitions of which it could not be read whose they are."""
        self.deleted: set[str] = set()
        """Partitions that were put aside, and are not removed yet."""
        # Put aside under names that may not be durable yet.
        self._renamed: set[str] = set()
        self.was_clean = files.exists(self._at(_CLEAN_MARKER))

    @classmethod
    def open(cls, files: Files, path: str) -> "DataDirectory":
        """Take the directory for this process. StartError says why it cannot be had."""
        path = os.path.abspath(path)
        try:
            _make_directory(files, path)
            lock = _lock(files, path)
            try:
                directory = cls(files, path, lock, _meta(files, path))
                directory._tidy_up()
            except BaseException:
                lock.release()
                raise
        except (FileExistsError, NotADirectoryError) as error:
            raise StartError(
                f"the data directory {path} cannot be used: it, or what it should lie in, is a "
                "file. Choose another with --data-dir"
            ) from error
        except OSError as error:
            raise StartError(
                f"the data directory {path} cannot be used: {error.strerror}. "
                "Make it writable, or choose another with --data-dir"
            ) from error
        return directory

    def _tidy_up(self) -> None:
        """From here on the directory counts as left in a crash, until `close` says otherwise."""
        if self.was_clean:
            self._files.remove(self._at(_CLEAN_MARKER))
        # Also for partitions that a kill left in the page cache only: soon they are read.
        self._files.sync_directory(self.path)
        names = self._files.names(self.path)
        self.deleted = {self._at(name) for name in names if _DELETED.fullmatch(name)}
        try:
            self.remove_deleted(self.removable())
        except OSError as error:
            left = len(self.deleted)
            self.repairs.append(
                f"{self.path}: {left} deleted partitions cannot be removed: {error.strerror}"
            )

    def _at(self, name: str) -> str:
        return f"{self.path}/{name}"

    def _checkpoint(self, name: str) -> OffsetCheckpoint:
        checkpoint = OffsetCheckpoint(self._files, self._at(name))
        if checkpoint.is_damaged:
            self.repairs.append(f"{self._at(name)} cannot be read, and is begun anew")
        return checkpoint

    def partitions(self) -> dict[TopicPartition, UUID | None]:
        """The partitions that have a directory, and their topic ids where those can be read."""
        found = {}
        for name in self._files.names(self.path):
            partition = _partition(name)
            if partition is not None and self._files.is_directory(self._at(name)):
                try:
                    found[partition] = self.topic_id(partition)
                except OSError as error:
                    # It has an id, so it may hold what was promised: nobody may take its place.
                    self.repairs.append(f"{self._metadata(partition)}: {error.strerror}")
                    self.unreadable.add(partition)
        return found

    def topic_id(self, partition: TopicPartition) -> UUID | None:
        data = read_whole(self._files, self._metadata(partition))
        return parse_topic_id(data) if data is not None else None

    def create_partition(self, partition: TopicPartition, topic_id: UUID) -> DiskSegments:
        """Its directory is durable with the first flush of its log, and not before.

        Where it raises, nothing is left of what it made.
        """
        path, metadata = self._at(str(partition)), format_topic_id(topic_id)
        if self.has_partition(partition):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        self.forget_offsets([partition])
        self._files.make_directory(path)
        try:
            file = self._files.open(self._metadata(partition), create=True)
            try:
                file.pwrite(metadata, 0)
            finally:
                file.close()
        except OSError:
            self.discard(partition)
            raise
        segments = self.segments(partition)
        segments.mark_new(self._metadata(partition), metadata)
        return segments

    def forget_offsets(self, partitions: Collection[TopicPartition]) -> None:
        """What is known of a deleted partition would truncate or skip records of its namesake."""
        for checkpoint in (self._recovery_points, self._log_starts, self._cleaned):
            checkpoint.forget(partitions)

    def write_topic_id(self, partition: TopicPartition, topic_id: UUID) -> None:
        """Give a partition its partition.metadata again."""
        write_atomically(self._files, self._metadata(partition), format_topic_id(topic_id))

    def secure_topic_id(
        self, partition: TopicPartition, topic_id: UUID, segments: DiskSegments
    ) -> None:
        """Make a partition.metadata durable that may never have been; if that fails now, then with
        the first flush of the log.
        """
        path, content = self._metadata(partition), format_topic_id(topic_id)
        try:
            # Written again: a sync that failed once leaves nothing for the next to write.
            write_synced(self._files, path, content, 0)
            self._files.sync_directory(os.path.dirname(path))
        except OSError:
            segments.mark_new(path, content)

    def segments(self, partition: TopicPartition) -> DiskSegments:
        """Where the log of a partition lies that has a directory."""
        return DiskSegments(self._files, self._at(str(partition)), self._open_files)

    def has_partition(self, partition: TopicPartition) -> bool:
        return self._files.exists(self._at(str(partition)))

    def is_empty(self, partition: TopicPartition) -> bool:
        """Whether no record was ever written there, nor anything that is not ours. One that cannot
        be read may have some.
        """
        path = self._at(str(partition))
        try:
            names = self._files.names(path)
            logs = [name for name in names if name.endswith(LOG)]
            is_written = any(self._files.size(f"{path}/{name}") for name in logs)
            return not is_written and all(map(is_ours, names))
        except OSError:
            return False

    def delete_partitions(self, partitions: Iterable[TopicPartition]) -> list[str]:
        """Put partitions aside, durably, under the names returned: `remove_deleted` does the rest.

        All that can be are; the first error is raised then. It may be called again: those that are
        not there any more are left out.
        """
        deleted, failure = self._put_aside(partitions)
        self._renamed.update(deleted)
        self._vouch_for_names()
        if failure is not None:
            raise failure
        return deleted

    def _vouch_for_names(self) -> None:
        """Until its new name is durable, what was put aside keeps its files: a power cut may bring
        the old name back, and the metadata in it tells whose it is.
        """
        # Another thread may rename while this one syncs: only what was there before is covered.
        renamed = self._renamed.copy()
        self._files.sync_directory(self.path)
        self.deleted.update(renamed)
        self._renamed.difference_update(renamed)

    @property
    def is_tidy(self) -> bool:
        """Whether all that was put aside is removed."""
        return not (self.deleted or self._renamed)

    def _put_aside(self, partitions: Iterable[TopicPartition]) -> tuple[list[str], OSError | None]:
        deleted, failure = [], None
        for partition in partitions:
            aside = self._at(_deleted_name(partition))
            try:
                self._files.rename(self._at(str(partition)), aside)
            except FileNotFoundError:
                continue
            except OSError as error:
                failure = failure or error
            else:
                deleted.append(aside)
        return deleted, failure

    def removable(self) -> list[str]:
        """All that was put aside, now or in an earlier life, and may be removed."""
        if self._renamed:
            with suppress(OSError):
                self._vouch_for_names()
        return sorted(self.deleted)

    def remove_deleted(self, paths: Iterable[str]) -> None:
        """Remove what was put aside: these, and no others, which may be many and large.

        One that fails does not keep the others; the first error is raised then.
        """
        failure = None
        for path in paths:
            try:
                self._files.remove_tree(path)
            except FileNotFoundError:
                pass
            except OSError as error:
                failure = failure or error
                continue
            self.deleted.discard(path)
        if failure is not None:
            raise failure

    def discard(self, partition: TopicPartition) -> None:
        """Remove a partition that could not be created, as far as that is possible now.

        Its name is free at once, even where there is no descriptor left to remove its files.
        """
        deleted, _ = self._put_aside([partition])
        self.deleted.update(deleted)
        with suppress(OSError):
            self.remove_deleted(deleted)

    @property
    def recovery_points(self) -> Mapping[TopicPartition, int]:
        return self._recovery_points.offsets

    @property
    def log_start_offsets(self) -> Mapping[TopicPartition, int]:
        return self._log_starts.offsets

    @property
    def cleaned_offsets(self) -> Mapping[TopicPartition, int]:
        return self._cleaned.offsets

    def write_recovery_points(self, points: Mapping[TopicPartition, int]) -> None:
        """All of them: a partition that is left out has none."""
        self._recovery_points.write(points)

    def write_log_start_offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        """All of them. Durable when it returns: only then may segments be removed."""
        self._log_starts.write(offsets)

    def write_cleaned_offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        """All of them, each after its segments are swapped in."""
        self._cleaned.write(offsets)

    def close(self, clean: bool) -> None:
        """`clean`: every log was closed clean, and its end written as its recovery point."""
        try:
            if clean:
                marker = b'{"version":0,"brokerEpoch":-1}'
                write_atomically(self._files, self._at(_CLEAN_MARKER), marker)
        finally:
            self._lock.release()

    def _metadata(self, partition: TopicPartition) -> str:
        return self._at(f"{partition}/{METADATA}")


def _make_directory(files: Files, path: str) -> None:
    parent = os.path.dirname(path)
    if not files.is_directory(path):
        _make_directory(files, parent)
        files.make_directory(path)
        try:
            files.sync_directory(parent)
        except OSError:
            # Found there by the next start, its name would never be made durable.
            files.remove_tree(path)
            raise


def _lock(files: Files, path: str) -> Lock:
    lock = files.lock(f"{path}/.lock")
    if lock is not None:
        return lock
    holder = (read_whole(files, f"{path}/.lock") or b"").decode(errors="replace").strip()
    process = f"process {holder}" if holder.isdecimal() else "another process"
    raise StartError(
        f"the data directory {path} is in use by {process}: "
        "stop that broker, or choose another directory with --data-dir"
    )


def _meta(files: Files, path: str) -> dict[str, str]:
    """What meta.properties says, written first where the directory is new."""
    data = read_whole(files, f"{path}/meta.properties")
    if data is None:
        return _new_meta(files, path)
    meta = parse_properties(data)
    if meta is None or "cluster.id" not in meta or meta.get("version") != "1":
        raise StartError(
            f"{path}/meta.properties cannot be read: restore it from a backup, "
            "or choose another directory with --data-dir"
        )
    written = meta.get("kafkaesque.format", "")
    if not written.isdecimal():
        raise StartError(
            f"the data directory {path} belongs to Apache Kafka: "
            "choose another directory with --data-dir"
        )
    if int(written) > FORMAT:
        raise StartError(
            f"the data directory {path} was written by a newer Kafkaesque (format {written}, "
            f"this one knows {FORMAT}): upgrade, or choose another directory with --data-dir"
        )
    return {"directory.id": "", **meta}


def _new_meta(files: Files, path: str) -> dict[str, str]:
    foreign = [name for name in files.names(path) if not _may_be_in_a_new_one(name)]
    if foreign:
        raise StartError(
            f"{path} is not empty and has no meta.properties, so it is no data directory of ours: "
            "choose an empty one with --data-dir"
        )
    meta = {
        "version": "1",
        "cluster.id": format_uuid(uuid4()),
        "node.id": "0",
        "directory.id": format_uuid(uuid4()),
        "kafkaesque.format": str(FORMAT),
    }
    # A kill may have come between the making of the directory and its sync. One that somebody else
    # has made may lie where we must not look.
    with suppress(PermissionError):
        files.sync_directory(os.path.dirname(path))
    write_atomically(files, f"{path}/meta.properties", format_properties(meta))
    return meta


def _may_be_in_a_new_one(name: str) -> bool:
    return name.startswith(".") or name in {"meta.properties.tmp", "lost+found"}


def _deleted_name(partition: TopicPartition) -> str:
    """Kafka's: a topic's name is cut where the whole would be too long for a file system."""
    suffix = f"-{partition.partition}.{uuid4().hex}-delete"
    return partition.topic[: _LONGEST_NAME - len(suffix)] + suffix


def _partition(name: str) -> TopicPartition | None:
    topic, _, number = name.rpartition("-")
    if not (topic and number.isdecimal()):
        return None
    partition = TopicPartition(topic, int(number))
    return partition if str(partition) == name else None  # Not `t-01`, which would be another's.
