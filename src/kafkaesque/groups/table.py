"""All groups and their offsets: what `__consumer_offsets` says, in memory.

Each change here has a record: what is removed is returned as the tombstones to append. Memory is
changed at once; it is what the log will say.

Above: the broker's coordinator, which owns the log, the clock and the waiting; replay.py, which
fills it at start. Below: group.py, committed.py, expiry.py, records.py.
"""

from collections.abc import Callable, Iterable

from kafkaesque.groups.committed import Offsets
from kafkaesque.groups.events import Expire, State
from kafkaesque.groups.expiry import expired
from kafkaesque.groups.group import Group, GroupConfig, random_id
from kafkaesque.groups.records import Tombstone, group_tombstone, offset_tombstone
from kafkaesque.types import TopicPartition


class GroupTable:
    """Group id -> group, and the offsets of all of them."""

    def __init__(self, config: GroupConfig, new_id: Callable[[], str] = random_id) -> None:
        self.config = config
        self.groups: dict[str, Group] = {}
        self.offsets = Offsets()
        self.new_id = new_id

    def group(self, group_id: str) -> Group | None:
        return self.groups.get(group_id)

    def create(self, group_id: str, now_ms: int) -> Group:
        """A new group, for somebody who wants to join it or to commit."""
        group = self.groups[group_id] = Group(group_id, self.config, now_ms, self.new_id)
        return group

    def discard_vacant(self, group_id: str) -> None:
        """Nothing came of the request that the group was created for."""
        group = self.groups.get(group_id)
        if group is not None and group.is_vacant and not self.offsets.has(group_id):
            del self.groups[group_id]

    def group_ids(self) -> list[str]:
        """Groups that the log may have something of."""
        return sorted({*self.groups, *self.offsets.group_ids()})

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

    def delete_topic(self, group_id: str, topic: str) -> list[Tombstone]:
        """Forget a topic's offsets in a group: a new topic of that name starts afresh."""
        return self.delete_offsets(group_id, self.offsets.known(group_id, topic))

    def expire(self, group_id: str, now_ms: int, retention_ms: int) -> list[Tombstone]:
        """Forget the offsets of a group that nobody wants any more, and the group with the last."""
        group = self.groups.get(group_id)
        if group is None:
            return []
        doomed = expired(group, self.offsets, now_ms, retention_ms)
        tombstones = self.delete_offsets(group_id, doomed)
        if not self.offsets.has(group_id):
            group.handle(Expire(), now_ms)
        if group.state is State.DEAD:
            tombstones += self.remove(group_id)
        return tombstones
