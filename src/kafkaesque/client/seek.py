"""Moving a group: to the start or end of its topics, to a time, to another group's commits, or to
offsets that somebody has written down.

Only a group without members can be moved: a member would go on from where it is, and commit over
it. START, END and a time move all partitions of the topics that the group has committed, and, if
asked, of others; a list of offsets moves exactly what it lists.
Above: cli/group/seek.py. Below: groups.py, offsets.py, admin.py.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from kafkaesque.client.admin import Admin
from kafkaesque.client.answers import Status
from kafkaesque.client.connection import ClusterError
from kafkaesque.client.groups import Groups
from kafkaesque.client.offsets import EARLIEST, LATEST, Offsets, ask_offsets, at_time
from kafkaesque.errors import ErrorCode
from kafkaesque.types import TopicPartition


class End(Enum):
    """An end of a log: its oldest record, or after its newest."""

    START = "start"
    END = "end"


@dataclass(frozen=True, slots=True)
class Moment:
    """The first record of that time or later; the end if there is none."""

    timestamp_ms: int


Target: TypeAlias = End | Moment


@dataclass(frozen=True, slots=True)
class Moved:
    """Where a group was in one partition, and where it is now."""

    topic: str
    partition: int
    prior: int | None
    current: int | None
    status: Status


def seek(
    admin: Admin,
    group: str,
    target: Target,
    topics: Collection[str] | None = None,
    *,
    allow_new_topics: bool = False,
) -> list[Moved]:
    """Move the group in all topics that it has committed, or in these."""
    groups = Groups(admin)
    _require_no_members(groups, group)
    prior = groups.committed(group)
    chosen = _chosen(group, {place.topic for place in prior}, topics, allow_new_topics)
    places = {*admin.partitions(chosen), *(place for place in prior if place.topic in chosen)}
    _require_topics(chosen, {place.topic for place in places})
    return _commit(groups, group, prior, _resolved(admin, target, places))


def seek_to_offsets(
    admin: Admin,
    group: str,
    offsets: Mapping[TopicPartition, int],
    topics: Collection[str] | None = None,
) -> list[Moved]:
    """Move the group to these offsets, or to those of them that are of these topics."""
    groups = Groups(admin)
    _require_no_members(groups, group)
    wanted = {
        place: offset
        for place, offset in offsets.items()
        if topics is None or place.topic in topics
    }
    return _commit(groups, group, groups.committed(group), wanted)


def _require_no_members(groups: Groups, name: str) -> None:
    (group,) = groups.describe([name])
    if group.members:
        raise ClusterError(
            f"group {name} has active members ({len(group.members)}), which would commit over it: "
            "stop its consumers and try again when "
            f"`kafkaesque group describe -s {name}` says Empty"
        )


def _chosen(
    group: str, committed: set[str], topics: Collection[str] | None, allow_new_topics: bool
) -> set[str]:
    if topics is None and not committed:
        raise ClusterError(
            f"group {group} has committed nothing, so there is no topic to move it in: "
            "name topics with --topics, and give --allow-new-topics"
        )
    chosen = committed if topics is None else set(topics)
    new = chosen - committed
    if new and not allow_new_topics:
        raise ClusterError(
            f"group {group} has committed nothing of {', '.join(sorted(new))}: "
            "give --allow-new-topics if it is to begin there"
        )
    return chosen


def _require_topics(chosen: set[str], found: set[str]) -> None:
    missing = chosen - found
    if missing:
        raise ClusterError(
            f"there is no topic {', '.join(sorted(missing))}: "
            "see which there are with `kafkaesque topic list`"
        )


def _resolved(admin: Admin, target: Target, places: Collection[TopicPartition]) -> Offsets:
    """Where the target lies in each partition; None where the partition cannot say."""
    if target is End.START:
        return ask_offsets(admin, places, EARLIEST)()
    ends = ask_offsets(admin, places, LATEST)
    if target is End.END:
        return ends()
    found = ask_offsets(admin, places, at_time(target.timestamp_ms))()
    fallback = ends()
    return {place: fallback[place] if at == -1 else at for place, at in found.items()}


def _commit(
    groups: Groups,
    group: str,
    prior: Mapping[TopicPartition, int],
    offsets: Mapping[TopicPartition, int | None],
) -> list[Moved]:
    known = {place: offset for place, offset in offsets.items() if offset is not None}
    statuses = groups.commit(group, known)
    return [
        _moved(place, prior.get(place), offsets[place], statuses.get(place) or _unknown(group))
        for place in sorted(offsets)
    ]


def _moved(place: TopicPartition, prior: int | None, wanted: int | None, status: Status) -> Moved:
    return Moved(*place, prior, prior if status.error else wanted, status)


def _unknown(group: str) -> Status:
    return Status(
        group,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        "the partition does not say where it starts and ends",
        "see whether it is there and led with `kafkaesque cluster health`",
    )
