"""When committed offsets may be forgotten.

An offset is kept as long as its group may still want it: while the group has members that subscribe
to the topic, and for `offsets.retention.minutes` after that. One that a write on its way is about,
be it a plain one or a transaction's, stays.

Above: table.py. Below: committed.py, group.py.
"""

from collections.abc import Callable

from kafkaesque.groups.committed import Offsets
from kafkaesque.groups.events import State
from kafkaesque.groups.group import Group
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.types import TopicPartition


def expired(group: Group, offsets: Offsets, now_ms: int, retention_ms: int) -> list[TopicPartition]:
    """The offsets of a group that nobody has wanted for the retention time."""
    unused_since = _unused_since(group)
    if unused_since is None:
        return []
    unwanted = [t for t in offsets.topics(group.group_id) if not group.is_subscribed_to(t)]
    return [
        partition
        for topic in unwanted
        for partition, committed in offsets.of_group(group.group_id, topic).items()
        if _is_over(committed, unused_since(committed), now_ms, retention_ms)
        and not offsets.is_staged(group.group_id, partition)
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
