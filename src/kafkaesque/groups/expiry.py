"""When committed offsets may be forgotten.

An offset is kept as long as its group may still want it: while the group has members that subscribe
to the topic, and for `offsets.retention.minutes` after that. One that a write on its way is about,
be it a plain one or a transaction's, stays.

Above: the broker's coordinator. Below: committed.py, group.py.
"""

from collections.abc import Callable

from kafkaesque.groups.committed import Offsets
from kafkaesque.groups.events import State
from kafkaesque.groups.group import Group
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.types import TopicPartition


def is_expired(
    group: Group, offsets: Offsets, partition: TopicPartition, now_ms: int, retention_ms: int
) -> bool:
    """Has nobody wanted this offset of the group for the retention time?"""
    unused_since = _unused_since(group)
    if unused_since is None or group.is_subscribed_to(partition.topic):
        return False
    if offsets.is_staged(group.group_id, partition):
        return False
    committed = offsets.fetch(group.group_id, partition)
    return committed is not None and _is_over(
        committed, unused_since(committed), now_ms, retention_ms
    )


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
