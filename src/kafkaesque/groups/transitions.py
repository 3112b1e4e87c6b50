"""What a group does with each event in each of its states: TRANSITIONS, at the end, has them all.

A function here decides (who asks, may it, what does it change) and calls the group's own steps. It
answers each request once, now or later, and with Kafka's answer, to the error code.

Above: group.py, whose `handle` looks the function up. Beside: joins.py, for the longest of them.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from kafkaesque.errors import ErrorCode
from kafkaesque.groups.bounds import assignments_error
from kafkaesque.groups.events import (
    CheckCommit,
    Delete,
    Expire,
    Heartbeat,
    Join,
    Leave,
    LeaveReply,
    Leaving,
    Left,
    Reply,
    State,
    Sync,
    SyncReply,
    Tick,
    Unstored,
)
from kafkaesque.groups.joins import join, join_dead
from kafkaesque.types import Moment

if TYPE_CHECKING:
    from kafkaesque.groups.group import Group

Transition: TypeAlias = "Callable[[Group, Any, Moment], None]"


def sync_refused(group: "Group", event: Sync, now: Moment) -> None:
    """There is nothing to hand out: the next generation has not begun."""
    error = _sync_error(group, event)
    group.emit(SyncReply(event.token, error or ErrorCode.REBALANCE_IN_PROGRESS))


def sync_completing(group: "Group", event: Sync, now: Moment) -> None:
    """Followers wait for the leader, whose Sync brings the assignments."""
    error = _sync_error(group, event)
    is_leader = event.member_id == group.leader
    if not error and is_leader:
        error = assignments_error(group, event.assignments)
    if error:
        group.emit(SyncReply(event.token, error))
        return
    member = group.roster.members[event.member_id]
    if member.sync_token is not None:
        group.emit(SyncReply(member.sync_token, ErrorCode.REBALANCE_IN_PROGRESS))
    member.sync_token = event.token
    group.mark_synced(event.member_id)
    if is_leader:
        group.assign(event.assignments, now)


def sync_stable(group: "Group", event: Sync, now: Moment) -> None:
    error = _sync_error(group, event)
    if error:
        group.emit(SyncReply(event.token, error))
        return
    member = group.roster.members[event.member_id]
    member.renew(now.monotonic_ms)
    group.mark_synced(event.member_id)
    group.emit(group.synced(event.token, member))


def _sync_error(group: "Group", event: Sync) -> ErrorCode:
    error = _member_error(group, event)
    if error:
        return error
    if event.protocol_type not in (None, group.protocol_type):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if event.protocol_name not in (None, group.protocol_name):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return ErrorCode.NONE


def _member_error(group: "Group", event: Sync | Heartbeat) -> ErrorCode:
    error = group.roster.check(event.member_id, event.group_instance_id)
    if not error and event.generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return error


def heartbeat(group: "Group", event: Heartbeat, now: Moment) -> None:
    error = _member_error(group, event)
    if not error:
        group.roster.members[event.member_id].renew(now.monotonic_ms)
    group.emit(Reply(event.token, error))


def heartbeat_preparing(group: "Group", event: Heartbeat, now: Moment) -> None:
    """This is how members learn that they have to join again."""
    error = _member_error(group, event)
    if not error:
        group.roster.members[event.member_id].renew(now.monotonic_ms)
        error = ErrorCode.REBALANCE_IN_PROGRESS
    group.emit(Reply(event.token, error))


def check_commit(group: "Group", event: CheckCommit, now: Moment) -> None:
    error = group.commit_error(event.generation, event.member_id, event.group_instance_id)
    member = group.roster.members.get(event.member_id)
    if not error and member is not None:
        member.renew(now.monotonic_ms)
    group.emit(Reply(event.token, error))


def leave(group: "Group", event: Leave, now: Moment) -> None:
    """Take out all who leave, then rebalance once; pending members were never in."""
    size = len(group.roster)
    left = tuple(_take_out(group, leaving) for leaving in event.members)
    if len(group.roster) < size or group.state is State.PREPARING_REBALANCE:
        group.rebalance(now)
    group.emit(LeaveReply(event.token, members=left))


def _take_out(group: "Group", leaving: Leaving) -> Left:
    member_id, instance_id = leaving.member_id, leaving.group_instance_id
    static = group.roster.static_member(instance_id)
    error = ErrorCode.NONE
    if not member_id and static is not None:
        group.evict(static)
    elif not group.roster.forget(member_id):
        error = group.roster.check(member_id, instance_id)
        if not error:
            group.evict(group.roster.members[member_id])
    return Left(member_id, instance_id, error)


def tick_empty(group: "Group", event: Tick, now: Moment) -> None:
    _expire_pending(group, now)


def tick_preparing(group: "Group", event: Tick, now: Moment) -> None:
    _expire_pending(group, now)
    _expire_members(group, now)
    group.rebalance(now)
    group.join_timed_out(now)


def tick(group: "Group", event: Tick, now: Moment) -> None:
    """Who does not ask for its assignment in time is as absent as who does not heartbeat."""
    _expire_pending(group, now)
    size = len(group.roster)
    _expire_members(group, now)
    if group.sync_deadline_ms is not None and group.sync_deadline_ms <= now.monotonic_ms:
        for member_id in list(group.unsynced):
            group.evict(group.roster.members[member_id])
    if len(group.roster) < size:
        group.rebalance(now)


def _expire_pending(group: "Group", now: Moment) -> None:
    pending = group.roster.pending
    for member_id in [
        key for key, deadline_ms in pending.items() if deadline_ms <= now.monotonic_ms
    ]:
        group.roster.forget(member_id)


def _expire_members(group: "Group", now: Moment) -> None:
    for member in list(group.roster.members.values()):
        if member.has_expired(now.monotonic_ms):
            group.evict(member)


def delete(group: "Group", event: Delete, now: Moment) -> None:
    group.emit(Reply(event.token, ErrorCode.NON_EMPTY_GROUP))


def delete_empty(group: "Group", event: Delete, now: Moment) -> None:
    for member_id in list(group.roster.pending):
        group.roster.forget(member_id)
    group.die()
    group.emit(Reply(event.token))


def expire_empty(group: "Group", event: Expire, now: Moment) -> None:
    """Unless somebody is about to join."""
    if not group.roster.pending:
        group.die()


def unstored_dead(group: "Group", event: Unstored, now: Moment) -> None:
    group.survive()


def unstored_stable(group: "Group", event: Unstored, now: Moment) -> None:
    """Nobody was told the assignment that could not be stored: there will be another."""
    group.rebalance(now)


def nothing(group: "Group", event: object, now: Moment) -> None:
    """This event means nothing in this state, and asks for no answer."""


def sync_dead(group: "Group", event: Sync, now: Moment) -> None:
    group.emit(SyncReply(event.token, ErrorCode.COORDINATOR_NOT_AVAILABLE))


def leave_dead(group: "Group", event: Leave, now: Moment) -> None:
    group.emit(LeaveReply(event.token, ErrorCode.COORDINATOR_NOT_AVAILABLE))


def reply_dead(group: "Group", event: Heartbeat, now: Moment) -> None:
    group.emit(Reply(event.token, ErrorCode.COORDINATOR_NOT_AVAILABLE))


def delete_dead(group: "Group", event: Delete, now: Moment) -> None:
    group.emit(Reply(event.token, ErrorCode.GROUP_ID_NOT_FOUND))


EMPTY, DEAD, STABLE = State.EMPTY, State.DEAD, State.STABLE
PREPARING, COMPLETING = State.PREPARING_REBALANCE, State.COMPLETING_REBALANCE

TRANSITIONS: dict[tuple[State, type], Transition] = {
    (EMPTY, Join): join,
    (EMPTY, Sync): sync_refused,
    (EMPTY, Heartbeat): heartbeat,
    (EMPTY, Leave): leave,
    (EMPTY, CheckCommit): check_commit,
    (EMPTY, Delete): delete_empty,
    (EMPTY, Expire): expire_empty,
    (EMPTY, Tick): tick_empty,
    (EMPTY, Unstored): nothing,
    (PREPARING, Join): join,
    (PREPARING, Sync): sync_refused,
    (PREPARING, Heartbeat): heartbeat_preparing,
    (PREPARING, Leave): leave,
    (PREPARING, CheckCommit): check_commit,
    (PREPARING, Delete): delete,
    (PREPARING, Expire): nothing,
    (PREPARING, Tick): tick_preparing,
    (PREPARING, Unstored): nothing,
    (COMPLETING, Join): join,
    (COMPLETING, Sync): sync_completing,
    (COMPLETING, Heartbeat): heartbeat,
    (COMPLETING, Leave): leave,
    (COMPLETING, CheckCommit): check_commit,
    (COMPLETING, Delete): delete,
    (COMPLETING, Expire): nothing,
    (COMPLETING, Tick): tick,
    (COMPLETING, Unstored): nothing,
    (STABLE, Join): join,
    (STABLE, Sync): sync_stable,
    (STABLE, Heartbeat): heartbeat,
    (STABLE, Leave): leave,
    (STABLE, CheckCommit): check_commit,
    (STABLE, Delete): delete,
    (STABLE, Expire): nothing,
    (STABLE, Tick): tick,
    (STABLE, Unstored): unstored_stable,
    (DEAD, Join): join_dead,
    (DEAD, Sync): sync_dead,
    (DEAD, Heartbeat): reply_dead,
    (DEAD, Leave): leave_dead,
    (DEAD, CheckCommit): check_commit,
    (DEAD, Delete): delete_dead,
    (DEAD, Expire): nothing,
    (DEAD, Tick): nothing,
    (DEAD, Unstored): unstored_dead,
}
