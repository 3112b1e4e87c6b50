"""Committed offsets of all groups, and when they may be forgotten.

A commit is staged when its record is appended, and seen when the record is durable: nobody is told
an offset that a power cut could take back. A staged partition does not expire, and a delete takes
staged commits with it, so that memory ends up as a replay of the log would.

An offset is kept as long as its group may still want it: while the group has members that subscribe
to the topic, and for `offsets.retention.minutes` after that.

Above: table.py, the broker's OffsetCommit and OffsetFetch. Below: group.py.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from kafkaesque.errors import ErrorCode
from kafkaesque.groups.events import State
from kafkaesque.groups.group import Group
from kafkaesque.types import TopicPartition

MAX_METADATA = 4096
NO_TOPIC_ID = UUID(int=0)


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """Where a group will go on reading a partition."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp_ms: int = 0
    expire_timestamp_ms: int | None = None
    """A time of its own to expire at, from OffsetCommit 2 to 4; None: by the broker's retention."""
    topic_id: UUID = NO_TOPIC_ID


def metadata_error(metadata: str | None, limit: int = MAX_METADATA) -> ErrorCode:
    """May this be committed along with an offset?"""
    if metadata is not None and len(metadata) > limit:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    return ErrorCode.NONE


@dataclass(slots=True, eq=False)
class Staged:
    """One commit on its way to the disk: what is left of it, if something is deleted meanwhile."""

    group_id: str
    offsets: dict[TopicPartition, CommittedOffset]


class Offsets:
    """Group id -> partition -> committed offset."""

    def __init__(self) -> None:
        self._committed: dict[str, dict[TopicPartition, CommittedOffset]] = {}
        self._staged: dict[str, list[Staged]] = {}

    def fetch(self, group_id: str, partition: TopicPartition) -> CommittedOffset | None:
        return self.of_group(group_id).get(partition)

    def of_group(self, group_id: str) -> Mapping[TopicPartition, CommittedOffset]:
        return self._committed.get(group_id, {})

    def group_ids(self) -> list[str]:
        """Groups with an offset, or one on its way."""
        return sorted({*self._committed, *self._staged})

    def has(self, group_id: str) -> bool:
        """Has this group an offset, or one on its way?"""
        return group_id in self._committed or group_id in self._staged

    def is_staged(self, group_id: str, partition: TopicPartition) -> bool:
        return any(partition in staged.offsets for staged in self._staged.get(group_id, ()))

    def stage(self, group_id: str, offsets: Mapping[TopicPartition, CommittedOffset]) -> Staged:
        """These are appended, and not durable yet."""
        staged = Staged(group_id, dict(offsets))
        self._staged.setdefault(group_id, []).append(staged)
        return staged

    def commit(self, staged: Staged) -> None:
        """It is durable now. What was deleted in the meantime stays deleted."""
        self.abandon(staged)
        for partition, committed in staged.offsets.items():
            self.load(staged.group_id, partition, committed)

    def abandon(self, staged: Staged) -> None:
        """It could not be written."""
        in_flight = self._staged[staged.group_id]
        in_flight.remove(staged)
        if not in_flight:
            del self._staged[staged.group_id]

    def load(
        self, group_id: str, partition: TopicPartition, committed: CommittedOffset | None
    ) -> None:
        """Set an offset, or with None remove it: what a record of the log says."""
        if committed is not None:
            self._committed.setdefault(group_id, {})[partition] = committed
        elif group_id in self._committed:
            self._committed[group_id].pop(partition, None)
            if not self._committed[group_id]:
                del self._committed[group_id]

    def delete(self, group_id: str, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Forget offsets; what is returned needs a tombstone."""
        doomed = self.known(group_id).keys() & set(partitions)
        for partition in doomed:
            self.load(group_id, partition, None)
            for staged in self._staged.get(group_id, ()):
                staged.offsets.pop(partition, None)
        return sorted(doomed)

    def delete_topic(self, topic: str) -> list[tuple[str, TopicPartition]]:
        """Forget a topic in every group; what is returned needs a tombstone."""
        removed = []
        for group_id in self.group_ids():
            of_topic = [at for at in self.known(group_id) if at.topic == topic]
            removed += [(group_id, partition) for partition in self.delete(group_id, of_topic)]
        return removed

    def known(self, group_id: str) -> Mapping[TopicPartition, CommittedOffset]:
        """Committed or on its way: all that the log may have of this group."""
        known = dict(self.of_group(group_id))
        for staged in self._staged.get(group_id, ()):
            known |= staged.offsets
        return known


def expired(group: Group, offsets: Offsets, now_ms: int, retention_ms: int) -> list[TopicPartition]:
    """The offsets of a group that nobody has wanted for the retention time."""
    unused_since = _unused_since(group)
    if unused_since is None:
        return []
    return [
        partition
        for partition, committed in offsets.of_group(group.group_id).items()
        if not group.is_subscribed_to(partition.topic)
        and not offsets.is_staged(group.group_id, partition)
        and _is_over(committed, unused_since(committed), now_ms, retention_ms)
    ]


def _unused_since(group: Group) -> Callable[[CommittedOffset], int] | None:
    """What the retention time counts from; None while the group may want all of its offsets."""
    if group.protocol_type is None:
        return lambda committed: committed.commit_timestamp_ms
    if group.state is State.EMPTY:
        since_ms = group.state_since_ms
        return lambda committed: committed.commit_timestamp_ms if since_ms < 0 else since_ms
    if group.state is State.STABLE and group.subscribed_topics is not None:
        return lambda committed: committed.commit_timestamp_ms
    return None


def _is_over(committed: CommittedOffset, since_ms: int, now_ms: int, retention_ms: int) -> bool:
    if committed.expire_timestamp_ms is not None:
        return now_ms >= committed.expire_timestamp_ms
    return now_ms - since_ms >= retention_ms
