"""One member of a group: what it offers, what it was given, which of its requests wait.

A member that waits in a JoinGroup or SyncGroup need not send heartbeats: its session stands still.
A new member is the exception: its client may be gone and nobody would know, so its wait has an end.

Above: roster.py, group.py. Below: events.py.
"""

from dataclasses import dataclass, field

from kafkaesque.groups.events import Join, JoinMember, Protocols, StoredMember, Token

MEMBER_BYTES = 1_000
"""Of memory, beside what its client has sent; of an id that nobody has joined with yet, too."""
STORED_BYTES = 60
"""Of a group's record: lengths, timeouts, and the id that a member is given."""


@dataclass(slots=True)
class Member:
    """Mutable: group.py alone changes it."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: Protocols
    expires_at_ms: int
    assignment: bytes = b""
    is_new: bool = False
    join_token: Token | None = None
    sync_token: Token | None = None
    name_bytes: int = field(init=False)
    """Encoded, as those of its protocols: a character may be four."""
    protocol_name_bytes: int = field(init=False)

    def __post_init__(self) -> None:
        self.name_bytes = _encoded_size(
            self.member_id, self.group_instance_id or "", self.client_id, self.client_host
        )
        self.protocol_name_bytes = _encoded_size(*(name for name, _ in self.protocols))

    @classmethod
    def joining(cls, join: Join, member_id: str, expires_at_ms: int) -> "Member":
        """A newcomer, whose JoinGroup waits for the rest of the group."""
        return cls(
            member_id=member_id,
            group_instance_id=join.group_instance_id,
            client_id=join.client_id,
            client_host=join.client_host,
            rebalance_timeout_ms=join.rebalance_timeout_ms,
            session_timeout_ms=join.session_timeout_ms,
            protocols=join.protocols,
            expires_at_ms=expires_at_ms,
            is_new=True,
            join_token=join.token,
        )

    @classmethod
    def restored(cls, stored: StoredMember, protocol_name: str, now_ms: int) -> "Member":
        """A member read back from the log, given a whole session to show up again."""
        return cls(
            member_id=stored.member_id,
            group_instance_id=stored.group_instance_id,
            client_id=stored.client_id,
            client_host=stored.client_host,
            rebalance_timeout_ms=stored.rebalance_timeout_ms,
            session_timeout_ms=stored.session_timeout_ms,
            protocols=((protocol_name, stored.subscription),),
            expires_at_ms=now_ms + stored.session_timeout_ms,
            assignment=stored.assignment,
        )

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def has_joined(self) -> bool:
        """Its JoinGroup is waiting for the rest of the group."""
        return self.join_token is not None

    @property
    def deadline_ms(self) -> int | None:
        """When it is given up, unless it is heard of; None while it is we who owe an answer."""
        waits = self.join_token is not None or self.sync_token is not None
        return None if waits and not self.is_new else self.expires_at_ms

    def has_expired(self, now_ms: int) -> bool:
        deadline = self.deadline_ms
        return deadline is not None and deadline <= now_ms

    def renew(self, now_ms: int) -> None:
        """Heard of just now: the session starts over."""
        self.expires_at_ms = now_ms + self.session_timeout_ms

    def update(self, join: Join) -> None:
        """Take over what a JoinGroup of a known member says, and let it wait."""
        self.protocols = join.protocols
        self.protocol_name_bytes = _encoded_size(*(name for name, _ in self.protocols))
        self.rebalance_timeout_ms = join.rebalance_timeout_ms
        self.session_timeout_ms = join.session_timeout_ms
        self.join_token = join.token

    @property
    def kept_bytes(self) -> int:
        """What it costs to remember it, about."""
        names = self.name_bytes + self.protocol_name_bytes
        offered = sum(len(metadata) for _, metadata in self.protocols)
        return MEMBER_BYTES + names + offered + len(self.assignment)

    @property
    def stored_bytes(self) -> int:
        """What it adds to its group's record at most, whichever of its protocols is chosen."""
        offered = max((len(metadata) for _, metadata in self.protocols), default=0)
        return STORED_BYTES + self.name_bytes + offered + len(self.assignment)

    def protocol_names(self) -> set[str]:
        return {name for name, _ in self.protocols}

    def metadata(self, protocol_name: str) -> bytes:
        return next(metadata for name, metadata in self.protocols if name == protocol_name)

    def vote(self, candidates: set[str]) -> str:
        """The candidate that it prefers."""
        return next(name for name, _ in self.protocols if name in candidates)

    def as_join_member(self, protocol_name: str) -> JoinMember:
        return JoinMember(self.member_id, self.group_instance_id, self.metadata(protocol_name))

    def as_stored(self, protocol_name: str) -> StoredMember:
        return StoredMember(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            session_timeout_ms=self.session_timeout_ms,
            subscription=self.metadata(protocol_name),
            assignment=self.assignment,
        )


def _encoded_size(*names: str) -> int:
    return len("".join(names).encode())
