"""JoinGroup: who may join a group, as whom, and what it sets off.

A newcomer is told its member id and joins again with it (KIP-394), or is let in at once. A member
that joins again starts a rebalance if it brings news. A static member that was restarted comes
without a member id and takes its old place (KIP-345).

Above: transitions.py, which lists `join` for every live state. Below: group.py's steps, roster.py.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from kafkaesque.errors import ErrorCode
from kafkaesque.groups.bounds import join_error
from kafkaesque.groups.events import Join, JoinReply, State
from kafkaesque.groups.member import Member
from kafkaesque.types import Moment

if TYPE_CHECKING:
    from kafkaesque.groups.group import Group

MAX_INSTANCE_ID = 249
"""Kafka's clients refuse longer ones; here they would make member ids that cannot be stored."""


def join(group: "Group", event: Join, now: Moment) -> None:
    """Turn it away, let it in, or pass it on to what this state does with a known member."""
    if len(event.group_instance_id or "") > MAX_INSTANCE_ID:
        group.emit(JoinReply(event.token, ErrorCode.INVALID_REQUEST, event.member_id))
    elif not _is_session_allowed(group, event):
        group.emit(JoinReply(event.token, ErrorCode.INVALID_SESSION_TIMEOUT, event.member_id))
    elif error := join_error(group, event):
        group.emit(JoinReply(event.token, error, event.member_id))
    elif _is_full(group, event):
        _shed(group, event, now)
    elif not _is_compatible(group, event):
        group.emit(JoinReply(event.token, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, event.member_id))
    elif not event.member_id:
        _join_without_id(group, event, now)
    elif event.member_id in group.roster.pending and event.group_instance_id is None:
        group.add(event, event.member_id, now)
    else:
        _join_with_id(group, event, now)


def join_dead(group: "Group", event: Join, now: Moment) -> None:
    group.emit(JoinReply(event.token, ErrorCode.COORDINATOR_NOT_AVAILABLE, event.member_id))


def _is_session_allowed(group: "Group", event: Join) -> bool:
    config = group.config
    return (
        config.min_session_timeout_ms <= event.session_timeout_ms <= config.max_session_timeout_ms
    )


def _is_compatible(group: "Group", event: Join) -> bool:
    names = {name for name, _ in event.protocols}
    if not event.protocol_type or not names:
        return False
    if group.state is State.EMPTY:
        return True
    return event.protocol_type == group.protocol_type and group.roster.supports(names)


def _is_full(group: "Group", event: Join) -> bool:
    """While members rejoin, those who did are counted, so that the last to come back are shed; and
    the static ones, who stay whether they come or not, so that nobody else takes their places.
    """
    roster = group.roster
    known = roster.members.get(event.member_id) or roster.static_member(event.group_instance_id)
    if group.state is State.EMPTY:
        return False
    if group.state is State.PREPARING_REBALANCE:
        if known is not None and known.is_static:
            return not known.has_joined and roster.joined_count >= group.config.max_size
        is_in = known is not None and known.has_joined
        return not is_in and roster.staying_count >= group.config.max_size
    return known is None and len(roster) >= group.config.max_size


def _shed(group: "Group", event: Join, now: Moment) -> None:
    group.emit(JoinReply(event.token, ErrorCode.GROUP_MAX_SIZE_REACHED))
    group.roster.forget(event.member_id)
    member = group.roster.members.get(event.member_id)
    if member is not None:
        group.evict(member)
    if group.state is State.PREPARING_REBALANCE:
        group.rebalance(now)


def _join_without_id(group: "Group", event: Join, now: Moment) -> None:
    static = group.roster.static_member(event.group_instance_id)
    if static is not None:
        RETURNS[group.state](group, event, static, now)
        return
    member_id = group.new_member_id(event)
    if event.require_known_member_id and event.group_instance_id is None:
        group.roster.expect(member_id, now.monotonic_ms + event.session_timeout_ms)
        group.emit(JoinReply(event.token, ErrorCode.MEMBER_ID_REQUIRED, member_id))
    else:
        group.add(event, member_id, now)


def _join_with_id(group: "Group", event: Join, now: Moment) -> None:
    error = group.roster.check(event.member_id, event.group_instance_id)
    if error:
        group.emit(JoinReply(event.token, error, event.member_id))
    else:
        REJOINS[group.state](group, event, group.roster.members[event.member_id], now)


def _rejoin(group: "Group", event: Join, member: Member, now: Moment) -> None:
    group.rejoin(member, event, now)


def _rejoin_completing(group: "Group", event: Join, member: Member, now: Moment) -> None:
    """Without news it has only missed our answer: here it is again."""
    if event.protocols == member.protocols:
        group.emit(group.joined(event.token, member))
    else:
        group.rejoin(member, event, now)


def _rejoin_stable(group: "Group", event: Join, member: Member, now: Moment) -> None:
    """A leader always starts a rebalance: it alone sees that a topic has got more partitions."""
    if event.protocols == member.protocols and member.member_id != group.leader:
        group.emit(group.joined(event.token, member))
    else:
        group.rejoin(member, event, now)


def _return(group: "Group", event: Join, old: Member, now: Moment) -> None:
    """Rebalance: the leader may be assigning to the old id, which would leave the new one out."""
    group.replace(old, event).renew(now.monotonic_ms)
    group.rebalance(now)


def _return_stable(group: "Group", event: Join, old: Member, now: Moment) -> None:
    """A static member that was restarted has its assignment back, and nobody else notices."""
    leader_before = group.leader or ""
    new = group.replace(old, event)
    new.renew(now.monotonic_ms)
    if group.roster.choose_protocol() != group.protocol_name:
        group.rebalance(now)
        return
    new.join_token = None
    group.store()
    # A leader that assigned now would not be heard. Before KIP-814 it cannot be told so; it is kept
    # from assigning by being told its old id as the leader's.
    reply = group.joined(event.token, new)
    if event.supports_skipping_assignment:
        group.emit(replace(reply, skip_assignment=new.member_id == group.leader))
    else:
        group.emit(replace(reply, leader=leader_before, members=()))


REJOINS = {
    State.PREPARING_REBALANCE: _rejoin,
    State.COMPLETING_REBALANCE: _rejoin_completing,
    State.STABLE: _rejoin_stable,
}
"""A member joins again under its id. Only these states have members."""

RETURNS = {
    State.PREPARING_REBALANCE: _return,
    State.COMPLETING_REBALANCE: _return,
    State.STABLE: _return_stable,
}
"""A static member joins again without an id: its process was restarted."""
