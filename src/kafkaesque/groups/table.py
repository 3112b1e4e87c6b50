"""All groups and their offsets: what `__consumer_offsets` says, in memory.

Memory follows the log: what is written or deleted is staged (committed.py), and a group leaves the
table when its tombstones are durable.

Above: the broker's coordinator, which owns the log, the clock and the waiting; replay.py, which
fills it at start. Below: group.py, committed.py.
"""

from collections.abc import Callable

from kafkaesque.groups.bounds import Budget
from kafkaesque.groups.committed import Offsets
from kafkaesque.groups.group import Group, GroupConfig, random_id


class GroupTable:
    """Group id -> group, and the offsets of all of them."""

    def __init__(self, config: GroupConfig, new_id: Callable[[], str] = random_id) -> None:
        self.config = config
        self.groups: dict[str, Group] = {}
        self.offsets = Offsets()
        self.new_id = new_id
        self.budget = Budget()

    def group(self, group_id: str) -> Group | None:
        return self.groups.get(group_id)

    def has_room_for(self, group_id: str) -> bool:
        """May the group be one of those that are remembered?"""
        return group_id in self.groups or (
            len(self.groups) < self.config.max_groups and self.budget.has_room(len(group_id))
        )

    def create(self, group_id: str, now_ms: int) -> Group:
        """A new group, for somebody who wants to join it or to commit."""
        group = Group(group_id, self.config, now_ms, self.new_id, self.budget)
        self.put(group)
        return group

    def put(self, group: Group) -> None:
        self.groups[group.group_id] = group
        self.budget.used_bytes += len(group.group_id)

    def _drop(self, group_id: str) -> None:
        del self.groups[group_id]
        self.budget.used_bytes -= len(group_id)

    def discard_vacant(self, group_id: str) -> None:
        """Nothing came of the request that the group was created for."""
        group = self.groups.get(group_id)
        if group is not None and group.is_vacant and not self.offsets.has(group_id):
            self._drop(group_id)

    def group_ids(self) -> list[str]:
        """Groups that the log may have something of."""
        return sorted({*self.groups, *self.offsets.group_ids()})

    def remove(self, group_id: str, now_ms: int) -> None:
        """Forget a group whose tombstones are durable. Offsets written since make a new one."""
        self._drop(group_id)
        if self.offsets.has(group_id):
            self.create(group_id, now_ms)
