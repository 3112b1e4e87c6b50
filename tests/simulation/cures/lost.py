"""Cures of what was acknowledged and lost, or deleted and back."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from tests.simulation.cures.cure import Change, Cure

from kafkaesque.broker import broker, metadata, state_log
from kafkaesque.broker.apis.fetch import _Attempt, _Found
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.coordinator import Coordinator, _all_done, _Desk
from kafkaesque.broker.fetch_sessions import FetchSessions, Owner, Session
from kafkaesque.broker.markers import Markers
from kafkaesque.broker.metadata import Metadata, Resource, _Image
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.state_log import StateLog
from kafkaesque.broker.storage import DiskStorage
from kafkaesque.broker.topics import INTERNAL_TOPICS, Topic, Topics
from kafkaesque.broker.topics import Change as Ask
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.groups import records
from kafkaesque.groups.records import Tombstone
from kafkaesque.log import directory
from kafkaesque.log.segment_files import SegmentFiles
from kafkaesque.log.store import Swap
from kafkaesque.protocol.messages.fetch import FetchRequest
from kafkaesque.protocol.messages.internal import ConfigRecord
from kafkaesque.records.control import Marker
from kafkaesque.types import TopicPartition

_OFFSET_IS_BACK = r"^offset of \S+ for \S+ is \d+, not one of \[None\]"


# The metadata log is shortened when no change is on its way.


def _shortened_at_any_time() -> list[Change]:
    """What is appended and not in memory yet is dropped."""

    async def compact(self: Metadata) -> None:
        if self._log.is_long:
            await self._log.compact(self._live_state())

    return [Change(Metadata, "compact", compact)]


def _long_whatever_failed() -> list[Change]:
    """The next attempt to shorten it comes with the next checkpoint."""

    def is_long(self: StateLog) -> bool:
        enough = max(state_log._SMALL_BYTES, state_log._GROWTH * self._live_bytes)
        return self.partition.log.size >= enough

    return [Change(StateLog, "is_long", property(is_long))]


def _shortened_under_repair() -> list[Change]:
    """A segment begins where the log ended, before a thread dropped its end."""

    async def compact(self: Metadata) -> None:
        if self._log.is_long:
            async with self._gate.shut():
                await self._log.compact(self._live_state())

    def roll(self: Partition) -> None:
        self.log.roll()

    return [Change(Metadata, "compact", compact), Change(Partition, "roll", roll)]


# Offsets and groups are gone in memory when their tombstones are durable.


def _delete_at_once(
    self: Coordinator, group_id: str, names: Iterable[TopicPartition], *more: Tombstone
) -> Any:
    """Memory first. What becomes of the tombstones, the future says that is returned."""
    names = sorted(names)
    tombstones = [*(records.offset_tombstone(group_id, name) for name in names), *more]
    offsets = self.table.offsets
    offsets.commit(offsets.stage(group_id, dict.fromkeys(names), self._log.end_offset))
    return self._log.append_soon(tombstones)


def _offset_delete_at_once() -> list[Change]:
    async def delete_offsets(
        self: Coordinator, group_id: str, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        is_known = partial(self.table.offsets.is_known, group_id)
        await _all_done([_delete_at_once(self, group_id, filter(is_known, set(partitions)))])
        self._drop_if_nothing_is_left(group_id)
        return {}

    return [Change(Coordinator, "delete_offsets", delete_offsets)]


def _topic_forgotten_at_once() -> list[Change]:
    async def delete_topic(self: Coordinator, topic: str) -> None:
        waiting = []
        for group_id in self.table.offsets.group_ids():
            names = self.table.offsets.known(group_id, topic)
            waiting.append(_delete_at_once(self, group_id, names))
            self._discard_vacant(group_id)
        await _all_done(waiting)

    return [Change(Coordinator, "delete_topic", delete_topic)]


def _group_removed_at_once() -> list[Change]:
    put_back = Coordinator._unstored

    async def remove(self: Coordinator, group_id: str) -> None:
        is_stored = self.table.groups[group_id].stored is not None
        more = (records.group_tombstone(group_id),) if is_stored else ()
        self.table._drop(group_id)
        names = self.table.offsets.known(group_id)
        await _all_done([_delete_at_once(self, group_id, names, *more)])

    def unstored(self: Coordinator, group_id: str, desk: _Desk, error: Exception) -> None:
        if group_id in self.table.groups:
            put_back(self, group_id, desk, error)
        else:
            self._refuse_held(desk)

    return [Change(Coordinator, "_remove", remove), Change(Coordinator, "_unstored", unstored)]


def _offsets_after_files() -> list[Change]:
    """The name of a deleted topic is free, whatever has failed; offsets go when its files have."""

    async def finish(self: Topics, name: str) -> None:
        self._finishing.add(name)
        try:
            await self._storage.delete(self._leaving[name].partitions)
            await self.forget_offsets(name)
        finally:
            self._finishing.discard(name)
            del self._leaving[name]

    return [Change(Topics, "_finish", finish)]


# Transactions and producers.


def _ended_where_nothing_is_open() -> list[Change]:
    """A marker that is there counts as written, though its flush may be under way, and fail."""
    end_in = Markers.end_in

    def end_what_is_open(
        self: Markers, partition: Partition, producer_id: int, epoch: int, marker: Marker
    ) -> Any:
        partition.check_online()
        if not partition.is_open_for(producer_id):
            return None
        return end_in(self, partition, producer_id, epoch, marker)

    return [Change(Markers, "end_in", end_what_is_open)]


def _first_producer_id_is_0() -> list[Change]:
    return [Change(metadata, "_FIRST_BLOCKS", 1)]


# Brokers in one process.


def _one_buffer_for_all() -> list[Change]:
    begin, shared = Broker.__init__, memoryview(bytearray(broker._SCRATCH_BYTES))

    def init(self: Broker, *args: Any) -> None:
        begin(self, *args)
        self.scratch = shared

    return [Change(Broker, "__init__", init)]


# Settings.


def _configured_at_any_time() -> list[Change]:
    """A setting may come after the deletion of its topic, and stays under the name."""

    async def configure(self: Topics, topic: Topic, change: Ask) -> None:
        changes = change()
        self.check_configs(topic, changes)
        apply = partial(self._override, topic, changes)
        await self.journal.topic_configured(topic, changes, apply)

    def take_setting(self: _Image, record: ConfigRecord) -> None:
        configs = self.broker_configs
        if record.resource_type == Resource.TOPIC:
            configs = self.topic_configs.setdefault(record.resource_name, {})
        if record.value is None:
            configs.pop(record.name, None)
        else:
            configs[record.name] = record.value

    return [Change(Topics, "configure", configure), Change(_Image, "_configure", take_setting)]


def _shown_as_begun() -> list[Change]:
    """A new topic goes by the settings of when its creation began."""
    show = Topics._show

    def show_as_begun(self: Topics, topic: Topic, partitions: Iterable[Partition]) -> None:
        config = topic.config
        show(self, topic, partitions)
        if topic.name in self._creating:
            topic.config = config
            for partition in topic.partitions:
                partition.configure(config)

    return [Change(Topics, "_show", show_as_begun)]


def _write_caching_everywhere() -> list[Change]:
    in_force = Topics.in_force

    def with_default(self: Topics, name: str, overrides: Mapping[str, str]) -> Mapping[str, str]:
        settings = dict(in_force(self, name, overrides))
        if name in INTERNAL_TOPICS:
            del settings["write.caching"]
        return settings

    return [Change(Topics, "in_force", with_default)]


# Deleted topics.


def _strays_left_alone() -> list[Change]:
    async def remove_strays(self: DiskStorage, deleted: Mapping[UUID, str]) -> Mapping[UUID, str]:
        return {}

    return [Change(DiskStorage, "remove_strays", remove_strays)]


def _deleted_under_any_name() -> list[Change]:
    def deleted_name(partition: TopicPartition) -> str:
        return f"{partition}.{uuid4().hex}-delete"

    return [Change(directory, "_deleted_name", deleted_name)]


def _files_opened_by_name() -> list[Change]:
    """A read in a thread opens what lies under the name by then, and nobody asks whose it is."""

    def check_nothing(self: SegmentFiles) -> None:
        pass

    async def read_from_disk(self: _Attempt, found: _Found) -> None:
        assert found.slice
        try:
            found.data.records = await self._ctx.broker.disk.run(found.slice.read)
        except OSError:
            found.data.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        except KafkaError as error:
            found.data.error_code = error.code

    return [
        Change(SegmentFiles, "_check", check_nothing),
        Change(_Attempt, "_read_from_disk", read_from_disk),
    ]


def _cleaned_by_name() -> list[Change]:
    """A swap did not hold its partition's lock then. Now a deletion waits for it, and comes to the
    checkpoints after the note: a name cannot be another's before the pass over its predecessor is
    noted, and that would hide this defect. So the lock is free while old segments are let go.
    """

    async def note_cleaned(self: DiskStorage, partition: Partition, offset: int) -> None:
        async with self._checkpoints:
            if partition.name in self._partitions:
                cleaned = {**self._directory.cleaned_offsets, partition.name: offset}
                await self._disk.run(partial(self._directory.write_cleaned_offsets, cleaned))

    async def end_swap(self: Partition, swap: Swap) -> None:
        self._maintenance.release()
        try:
            await end_swap_alone(self, swap)
        finally:
            await self._maintenance.acquire()

    end_swap_alone = Partition._end_swap
    return [
        Change(DiskStorage, "note_cleaned", note_cleaned),
        Change(Partition, "_end_swap", end_swap),
    ]


# Fetch sessions.


def _sessions_for_everybody() -> list[Change]:
    resolve = FetchSessions.resolve

    def resolve_for_anybody(self: FetchSessions, request: FetchRequest, owner: Owner) -> Session:
        session = self._sessions.get(request.session_id)
        whose = owner if session is None or session.owner is None else session.owner
        return resolve(self, request, whose)

    return [Change(FetchSessions, "resolve", resolve_for_anybody)]


LOST: tuple[Cure, ...] = (
    Cure(
        "shortening-keeps-new-topics",
        r"^topic \S+ is None, not one of \[TopicState\(partitions=[1-9], id=UUID",
        _shortened_at_any_time,
    ),
    Cure(
        "shortening-keeps-settings",
        r"^setting \S+ of .+ is \S+, not of ",
        _shortened_at_any_time,
    ),
    Cure(
        "shortening-keeps-new-partitions",
        r"^topic \S+ is \(UUID\S+ \d\), not one of \[TopicState\(partitions=[2-9], id=UUID",
        _shortened_at_any_time,
    ),
    Cure(
        "shortening-keeps-deletions",
        r"^topic \S+ is \(UUID\S+ \d\), not one of \[TopicState\(partitions=0, ",
        _shortened_at_any_time,
    ),
    Cure(
        "shortening-keeps-producer-ids",
        r"^producer id \d+ with epoch \d+ was given out twice",
        _shortened_at_any_time,
    ),
    Cure(
        "shortening-fails-once",
        r"^the metadata log is written anew again and again",
        _long_whatever_failed,
    ),
    Cure(
        "shortening-waits-for-repairs",
        r"^topic \S+ is None, not one of \[TopicState\(partitions=[1-9], id=UUID",
        _shortened_under_repair,
    ),
    Cure("offset-delete-when-durable", _OFFSET_IS_BACK, _offset_delete_at_once),
    Cure("group-delete-when-durable", _OFFSET_IS_BACK, _group_removed_at_once),
    Cure("topic-offsets-deleted-when-durable", _OFFSET_IS_BACK, _topic_forgotten_at_once),
    Cure("offsets-forgotten-whatever-fails", _OFFSET_IS_BACK, _offsets_after_files),
    Cure(
        "markers-waited-for",
        r"is committed, and \[.+\] are not to be read",
        _ended_where_nothing_is_open,
    ),
    Cure(
        "producer-ids-begin-anywhere",
        r"^producer id \d+ with epoch \d+ was given out twice",
        _first_producer_id_is_0,
    ),
    Cure(
        "buffer-of-each-broker",
        r"is answered by closing the connection|response \d+ came where|cannot read what",
        _one_buffer_for_all,
    ),
    Cure(
        "settings-go-with-their-topic",
        r"^setting \S+ of t\d is \S+, not of \[None\]",
        _configured_at_any_time,
    ),
    Cure(
        "defaults-reach-new-topics",
        r"^\S+ does not go by the settings that it shows",
        _shown_as_begun,
    ),
    Cure(
        "internal-topics-never-cached",
        r"^offset of \S+ for \S+ is |are not to be read",
        _write_caching_everywhere,
    ),
    Cure(
        "deletions-finished-at-start",
        r"is left on the disk, and belongs to no topic",
        _strays_left_alone,
    ),
    Cure(
        "long-names-deleted",
        r"File name too long|^longong\S+ is left on the disk",
        _deleted_under_any_name,
    ),
    Cure(
        "files-opened-by-owner",
        r"nobody sent record|is sent a part of a batch|at offset \d+ was record \d+, now",
        _files_opened_by_name,
    ),
    Cure("cleaned-by-partition", r"is compacted up to \d+, beyond its end", _cleaned_by_name),
    Cure(
        "fetch-sessions-by-owner",
        r"is let into the fetch session of|has lost its fetch session",
        _sessions_for_everybody,
    ),
)
