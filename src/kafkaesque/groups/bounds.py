"""How much a group, and all groups together, keep of what clients send them.

A member stays for its session, up to half an hour after its connection is gone, and anyone may join
any group. So what would not fit is refused before anything of it is kept:
- a stable group is one record of `__consumer_offsets`, whichever protocol is chosen, and that has a
  largest size: GROUP_MAX_SIZE_REACHED to who joins, and as in Kafka UNKNOWN_SERVER_ERROR to a
  leader whose assignments are too large;
- all groups share a budget: COORDINATOR_NOT_AVAILABLE, so that clients ask again;
- names have to fit into a record's strings, and nobody offers a hundred protocols: INVALID_REQUEST.
Above: joins.py, transitions.py, the broker's coordinator. Below: member.py.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafkaesque.errors import ErrorCode
from kafkaesque.groups.events import Join
from kafkaesque.groups.member import Member

if TYPE_CHECKING:
    from kafkaesque.groups.group import Group

MAX_NAME_BYTES = 2**15 - 1
MAX_PROTOCOLS = 100
MAX_PENDING = 10_000
"""Ids of one group that clients were told and have not joined with."""


class Budget:
    """The bytes that all groups together may keep of their members."""

    def __init__(self, max_bytes: int = 64 << 20) -> None:
        self.max_bytes = max_bytes
        self.used_bytes = 0

    def has_room(self, size: int) -> bool:
        return self.used_bytes + size <= self.max_bytes


def fits_a_name(name: str) -> bool:
    """Can it be a string of a record? A character is a byte at least, and four at most."""
    return len(name) * 4 <= MAX_NAME_BYTES or len(name.encode()) <= MAX_NAME_BYTES


def join_error(group: "Group", event: Join) -> ErrorCode:
    """Would this member be too much to keep?"""
    names = [event.protocol_type, event.client_id, *(name for name, _ in event.protocols[:100])]
    if len(event.protocols) > MAX_PROTOCOLS or not all(map(fits_a_name, names)):
        return ErrorCode.INVALID_REQUEST
    roster = group.roster
    newcomer = Member.joining(event, event.member_id, 0)
    known = roster.members.get(event.member_id) or roster.static_member(event.group_instance_id)
    stored_bytes = roster.stored_bytes + newcomer.stored_bytes
    kept_bytes = newcomer.kept_bytes
    if known is not None:
        stored_bytes -= known.stored_bytes
        kept_bytes -= known.kept_bytes
    if stored_bytes > group.config.max_stored_bytes or len(roster.pending) >= MAX_PENDING:
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    has_room = roster.budget.has_room(kept_bytes)
    return ErrorCode.NONE if has_room else ErrorCode.COORDINATOR_NOT_AVAILABLE


def assignments_error(group: "Group", assignments: Mapping[str, bytes]) -> ErrorCode:
    """Would these be too much to keep, in place of those that there are?"""
    roster = group.roster
    more_bytes = sum(
        len(assignments.get(member.member_id, b"")) - len(member.assignment)
        for member in roster.members.values()
    )
    if roster.stored_bytes + more_bytes > group.config.max_stored_bytes:
        return ErrorCode.UNKNOWN_SERVER_ERROR
    has_room = roster.budget.has_room(more_bytes)
    return ErrorCode.NONE if has_room else ErrorCode.COORDINATOR_NOT_AVAILABLE
