"""Groups: who is a member for certain, and which groups are deleted.

Who was answered by SyncGroup is a member of a generation that is durable: it is neither unknown nor
fenced while its session lasts, in this life of the broker and in the next, unless it has left or
has joined under another id. Its session lasts for so long after the sending of the last request
that was answered well (not of a JoinGroup: one that changes nothing leaves the session as it is, as
in Kafka), or after the start of the broker, which gives everybody a new one. A rebalance throws
nobody out earlier: it waits longer than a session lasts, and who is heard of in it is told.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from kafkaesque.errors import ErrorCode

SESSION_MS = 3000
REBALANCE_MS = 4000
"""Longer than a session: the rules above stand on that."""
_SESSION_SECONDS = SESSION_MS / 1000
_UNKNOWN = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)
_NOBODY = ("Empty", "Dead")


@dataclass(slots=True)
class FoundGroups:
    listed: set[str] = field(default_factory=set)
    states: dict[str, str] = field(default_factory=dict)
    members: dict[str, set[str]] = field(default_factory=dict)


@dataclass(slots=True)
class _Membership:
    group: str
    member_id: str
    heard_at: float
    is_settled: bool
    """Whether its generation is the group's until it joins again."""


class Groups:
    def __init__(self) -> None:
        self._members: dict[str, _Membership] = {}
        """By the name of the client."""
        self._deleted: set[str] = set()
        self._began = 0.0

    def forget_all(self) -> None:
        self._members.clear()
        self._deleted.clear()

    def life_begins(self, now: float) -> None:
        """Sessions begin anew."""
        self._began = now

    def life_ends(self, now: float) -> None:
        """Whose session may have run out by then is not there for certain in the next."""
        self._members = {
            client: member for client, member in self._members.items() if self._lasts(member, now)
        }

    def _lasts(self, member: _Membership, now: float) -> bool:
        return now - max(member.heard_at, self._began) < _SESSION_SECONDS

    def synced(self, client: str, group: str, member_id: str, sent_at: float, named: bool) -> None:
        """`named`: it has an instance id. A generation may begin without it, and it stays."""
        self._members[client] = _Membership(group, member_id, sent_at, is_settled=not named)

    def heard(self, client: str, sent_at: float) -> None:
        """What it sent then was answered well, or as to a member."""
        if client in self._members:
            self._members[client].heard_at = sent_at

    def joining(self, client: str, group: str, member_id: str) -> None:
        """Under another id it is another member, and under its own it may have the next
        generation.
        """
        self._deleted.discard(group)
        member = self._members.get(client)
        if member is not None and member.member_id == member_id:
            member.is_settled = False
        else:
            self.leaving(client)

    def leaving(self, client: str) -> None:
        self._members.pop(client, None)

    def is_member(self, client: str, now: float) -> bool:
        member = self._members.get(client)
        return member is not None and self._lasts(member, now)

    def answered(self, client: str, code: ErrorCode, now: float) -> Iterator[str]:
        """What a member was told for a heartbeat, a join or a commit."""
        member = self._members.get(client)
        if member is None or not self._lasts(member, now):
            return
        is_wrong = member.is_settled and code is ErrorCode.ILLEGAL_GENERATION
        if code in _UNKNOWN or is_wrong:
            heard = (
                f"was heard of at {member.heard_at:.3f}, and the broker began at {self._began:.3f}"
            )
            yield f"{client} is told {code.name}, it {heard}"

    def deleted(self, group: str) -> None:
        self._deleted.add(group)

    def wanted(self, group: str) -> None:
        """Somebody is about to commit offsets for it."""
        self._deleted.discard(group)

    def check(self, found: FoundGroups, now: float, at_rest: bool) -> Iterator[str]:
        for group in sorted(self._deleted & found.listed):
            yield f"group {group} is deleted, and is there"
        for client, member in self._members.items():
            there = found.members.get(member.group, set())
            if self._lasts(member, now) and member.member_id not in there:
                state = found.states.get(member.group)
                yield f"{client} is not in group {member.group}, which is {state}"
        for group, state in found.states.items() if at_rest else ():
            if state not in _NOBODY or found.members[group]:
                yield f"group {group} is {state}, and nobody has been heard of for long"
