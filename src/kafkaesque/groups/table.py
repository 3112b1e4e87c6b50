"""All groups and their offsets: what `__consumer_offsets` says, in memory.

Memory follows the log: what is written or deleted is staged (committed.py), and a group leaves the
table when its tombstones are durable.

Above: the broker's coordinator, which owns the log, the clock and the waiting; replay.py, which
fills it at start. Below: group.py, committed.py.
"""

from collections.abc import Callable

from kafkaesque.groups.committed import Offsets
from kafkaesque.groups.group import Group, GroupConfig, random_id


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

    def remove(self, group_id: str, now_ms: int) -> None:
        """Forget a group whose tombstones are durable. Offsets written since make a new one."""
        del self.groups[group_id]
        if self.offsets.has(group_id):
            self.create(group_id, now_ms)
