"""All groups and their offsets: what a replay of `__consumer_offsets` builds and a snapshot writes.

Each change here has a record: what is removed is returned as the tombstones to append. Memory is
changed at once; it is what the log will say.

Above: the broker's coordinator, which owns the log, the clock and the waiting. Below: group.py,
offsets.py, records.py.
"""

from collections.abc import Callable, Iterable, Iterator

from kafkaesque.groups.events import Expire, State, StoredGroup
from kafkaesque.groups.group import Group, GroupConfig, random_id
from kafkaesque.groups.offsets import Offsets, expired
from kafkaesque.groups.records import (
    GroupRecord,
    OffsetRecord,
    StoredRecord,
    Tombstone,
    decode,
    group_record,
    group_tombstone,
    offset_record,
    offset_tombstone,
)
from kafkaesque.types import Buffer, TopicPartition


class GroupTable:
    """Group id -> group, and the offsets of all of them."""

    def __init__(self, config: GroupConfig, new_id: Callable[[], str] = random_id) -> None:
        self.config = config
        self.groups: dict[str, Group] = {}
        self.offsets = Offsets()
        self._new_id = new_id
        self._replayed: dict[str, StoredGroup] = {}

    def replay(self, key: Buffer, value: Buffer | None) -> None:
        """Take in one record of the log; in the log's order, the last word on each key counts."""
        match decode(key, value):
            case OffsetRecord(group_id, partition, committed):
                self.offsets.load(group_id, partition, committed)
            case GroupRecord(group_id, None):
                self._replayed.pop(group_id, None)
            case GroupRecord(group_id, StoredGroup() as stored):
                self._replayed[group_id] = stored
            case None:
                pass

    def finish_replay(self, now_ms: int) -> None:
        """The log is read: sessions start now. Offsets alone make a group too."""
        for group_id, stored in self._replayed.items():
            self.groups[group_id] = Group.restore(
                group_id, self.config, stored, now_ms, self._new_id
            )
        self._replayed.clear()
        for group_id in self.offsets.group_ids():
            if group_id not in self.groups:
                self.create(group_id, now_ms)

    def group(self, group_id: str) -> Group | None:
        return self.groups.get(group_id)

    def create(self, group_id: str, now_ms: int) -> Group:
        """A new group, for somebody who wants to join it or to commit."""
        group = self.groups[group_id] = Group(group_id, self.config, now_ms, self._new_id)
        return group

    def discard_vacant(self, group_id: str) -> None:
        """Nothing came of the request that the group was created for."""
        group = self.groups.get(group_id)
        if group is not None and group.is_vacant and not self.offsets.has(group_id):
            del self.groups[group_id]

    def group_ids(self) -> list[str]:
        """Groups that the log may have something of."""
        return sorted({*self.groups, *self.offsets.group_ids()})

    def snapshot(self, group_id: str) -> Iterator[StoredRecord]:
        """All that a replay needs of a group, to be read in one go: earlier records may be dropped.

        So a commit that is appended but not durable is in it: its record is one of those.
        """
        group = self.groups.get(group_id)
        if group is not None and group.stored is not None:
            yield group_record(group_id, group.stored)
        for partition, committed in self.offsets.known(group_id).items():
            yield offset_record(group_id, partition, committed)

    def remove(self, group_id: str) -> list[Tombstone]:
        """Forget a group that is dead, and its offsets."""
        tombstones = self.delete_offsets(group_id, self.offsets.known(group_id))
        group = self.groups.pop(group_id, None)
        if group is not None and group.stored is not None:
            tombstones.append(group_tombstone(group_id))
        return tombstones

    def delete_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition]
    ) -> list[Tombstone]:
        """Forget offsets of one group."""
        deleted = self.offsets.delete(group_id, partitions)
        return [offset_tombstone(group_id, partition) for partition in deleted]

    def delete_topic(self, topic: str) -> list[Tombstone]:
        """Forget a topic's offsets in all groups: a new topic of that name starts afresh."""
        return [offset_tombstone(*deleted) for deleted in self.offsets.delete_topic(topic)]

    def expire(self, now_ms: int, retention_ms: int) -> list[Tombstone]:
        """Forget the offsets that nobody wants any more, and the groups that have nothing left."""
        tombstones: list[Tombstone] = []
        for group_id, group in list(self.groups.items()):
            doomed = expired(group, self.offsets, now_ms, retention_ms)
            tombstones += self.delete_offsets(group_id, doomed)
            if not self.offsets.has(group_id):
                group.handle(Expire(), now_ms)
            if group.state is State.DEAD:
                tombstones += self.remove(group_id)
        return tombstones
