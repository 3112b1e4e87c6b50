"""Who is in a group: members in the order they came, the leader, and ids handed out but not used.

Rules: a group instance id belongs to one member id at a time (KIP-345); there is a leader as soon
as there is a member; a protocol can be chosen only if every member offers it. How many offer which
is counted as they come and go: each who joins asks for it, and there may be thousands of members.

Above: group.py, which decides when; this file only keeps count. Below: member.py, bounds.py.
"""

import dataclasses
from collections import Counter
from collections.abc import Mapping

from kafkaesque.errors import ErrorCode
from kafkaesque.groups.bounds import Budget
from kafkaesque.groups.events import Join
from kafkaesque.groups.member import MEMBER_BYTES, Member


class Roster:
    """Members, static members by instance id, pending members, leader."""

    def __init__(self, budget: Budget | None = None) -> None:
        self.members: dict[str, Member] = {}
        self.pending: dict[str, int] = {}
        """Ids that clients were told to join again with (KIP-394), and when they become void.
        `expect` and `forget` change it.
        """
        self.budget = budget or Budget()
        self.stored_bytes = 0
        """What all members together add to the group's record, at most."""
        self.name_bytes = 0
        """Of that, their names."""
        self.leader: str | None = None
        self._static: dict[str, str] = {}
        self._offered: Counter[str] = Counter()
        """Protocol -> how many members offer it."""

    def __len__(self) -> int:
        return len(self.members)

    def expect(self, member_id: str, deadline_ms: int) -> None:
        """A client was told this id."""
        self.pending[member_id] = deadline_ms
        self.budget.used_bytes += MEMBER_BYTES

    def forget(self, member_id: str) -> bool:
        """Nobody is expected under this id any more; whether somebody was."""
        was_expected = self.pending.pop(member_id, None) is not None
        self.budget.used_bytes -= MEMBER_BYTES * was_expected
        return was_expected

    def _count(self, member: Member, times: int) -> None:
        """Before and after each change of what a member offers: −1, 1."""
        self.budget.used_bytes += times * member.kept_bytes
        self.stored_bytes += times * member.stored_bytes
        self.name_bytes += times * member.name_bytes
        for name in member.protocol_names():
            self._offered[name] += times
            if not self._offered[name]:
                del self._offered[name]

    def update(self, member: Member, join: Join) -> None:
        """Take over what a JoinGroup of a known member says."""
        self._count(member, -1)
        member.update(join)
        self._count(member, 1)

    def assign(self, assignments: Mapping[str, bytes]) -> None:
        for member in self.members.values():
            assignment = assignments.get(member.member_id, b"")
            more_bytes = len(assignment) - len(member.assignment)
            self.budget.used_bytes += more_bytes
            self.stored_bytes += more_bytes
            member.assignment = assignment

    def add(self, member: Member) -> None:
        self.forget(member.member_id)
        self._count(member, 1)
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            self._static[member.group_instance_id] = member.member_id
        if self.leader is None:
            self.leader = member.member_id

    def remove(self, member_id: str) -> None:
        member = self.members.pop(member_id)
        self._count(member, -1)
        if member.group_instance_id is not None:
            del self._static[member.group_instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)

    def replace(self, old: Member, join: Join, member_id: str) -> Member:
        """A static member has come back: the same place and assignment under a new id."""
        new = dataclasses.replace(
            old,
            member_id=member_id,
            client_id=join.client_id,
            client_host=join.client_host,
            is_new=False,
            sync_token=None,
        )
        new.update(join)
        was_leader = self.leader == old.member_id
        self.remove(old.member_id)
        self.add(new)
        if was_leader:
            self.leader = member_id
        return new

    def static_member(self, group_instance_id: str | None) -> Member | None:
        if group_instance_id is None or group_instance_id not in self._static:
            return None
        return self.members[self._static[group_instance_id]]

    def check(self, member_id: str, group_instance_id: str | None) -> ErrorCode:
        """Is this member in the group, under the instance id that it claims?"""
        if group_instance_id is not None:
            static = self.static_member(group_instance_id)
            if static is not None and static.member_id != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
            if static is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    @property
    def joined_count(self) -> int:
        return sum(member.has_joined for member in self.members.values())

    @property
    def staying_count(self) -> int:
        """Who is in the next generation, if nobody else joins it."""
        return sum(member.has_joined or member.is_static for member in self.members.values())

    @property
    def all_joined(self) -> bool:
        """Nobody is left to wait for, not even a client that was told its id only just now."""
        return not self.pending and self.joined_count == len(self.members)

    @property
    def rebalance_timeout_ms(self) -> int:
        return max([0, *(member.rebalance_timeout_ms for member in self.members.values())])

    def elect_leader(self) -> bool:
        """Keep a leader that has joined, else take the first member that has; False if none has."""
        if self.leader is not None and self.members[self.leader].has_joined:
            return True
        joined = (member.member_id for member in self.members.values() if member.has_joined)
        elected = next(joined, None)
        self.leader = elected or self.leader
        return elected is not None

    def supports(self, protocol_names: set[str]) -> bool:
        """Is one of these offered by every member?"""
        return not self.members or any(map(self._is_common, protocol_names))

    def choose_protocol(self) -> str:
        """Of the protocols that all offer, what most prefer; the oldest members break a tie."""
        anyone = next(iter(self.members.values()))
        common = set(filter(self._is_common, anyone.protocol_names()))
        votes = Counter(member.vote(common) for member in self.members.values())
        return votes.most_common(1)[0][0]

    def _is_common(self, protocol_name: str) -> bool:
        return self._offered[protocol_name] == len(self.members)
