"""What happens to a group (events) and what the group asks for in return (effects).

The coordinator turns a request into an event with a token of its choice, and finds the token again
in the reply, at once or many events later: a JoinGroup is answered when the whole group has joined.
Each token is answered exactly once. Effects are carried out in order: what `Store` and `Removed`
ask for has to be durable before anything after it goes out, even the effects of later events.

Above: the coordinator. Below: group.py, which makes the one out of the other.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from kafkaesque.errors import ErrorCode

Token: TypeAlias = Hashable
Protocols: TypeAlias = tuple[tuple[str, bytes], ...]
"""(name, metadata) of each assignor that a member offers, the preferred one first."""


class State(Enum):
    """Spelled as Kafka spells them in DescribeGroups and ListGroups."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


@dataclass(frozen=True, slots=True)
class Join:
    """JoinGroup. An empty member id asks for one; version 0 has the session timeout twice."""

    token: Token
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    protocol_type: str
    protocols: Protocols
    session_timeout_ms: int
    rebalance_timeout_ms: int
    require_known_member_id: bool = False
    """JoinGroup 4 and later (KIP-394): a newcomer is told its id first and joins again with it."""
    supports_skipping_assignment: bool = False
    """JoinGroup 9 and later (KIP-814): a static leader that returns may be told not to assign."""


@dataclass(frozen=True, slots=True)
class Sync:
    """SyncGroup. Only the leader's assignments count; the protocol is None before version 5."""

    token: Token
    generation: int
    member_id: str
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Heartbeat."""

    token: Token
    generation: int
    member_id: str
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class Leaving:
    """One member of a LeaveGroup; an administrator names a static one by instance id (KIP-345)."""

    member_id: str
    group_instance_id: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Leave:
    """LeaveGroup, of one member or several."""

    token: Token
    members: tuple[Leaving, ...]


@dataclass(frozen=True, slots=True)
class CheckCommit:
    """May this OffsetCommit be written? A member's commit also counts as a heartbeat."""

    token: Token
    generation: int
    member_id: str
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """DeleteGroups."""

    token: Token


@dataclass(frozen=True, slots=True)
class Expire:
    """The group has no committed offsets: an empty one has nothing left to remember."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed: whatever is due, happens."""


@dataclass(frozen=True, slots=True)
class Unstored:
    """What `Store` or `Removed` asks for could not be made durable."""


Event: TypeAlias = Join | Sync | Heartbeat | Leave | CheckCommit | Delete | Expire | Tick | Unstored


@dataclass(frozen=True, slots=True)
class JoinMember:
    """What the leader is told of each member: the metadata of the chosen protocol."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True)
class JoinReply:
    """Answers a Join. Only the leader is given the members."""

    token: Token
    error: ErrorCode = ErrorCode.NONE
    member_id: str = ""
    generation: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    members: tuple[JoinMember, ...] = ()
    skip_assignment: bool = False


@dataclass(frozen=True, slots=True)
class SyncReply:
    """Answers a Sync."""

    token: Token
    error: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


@dataclass(frozen=True, slots=True)
class Left:
    """What became of one member of a LeaveGroup; the ids are the request's."""

    member_id: str
    group_instance_id: str | None
    error: ErrorCode


@dataclass(frozen=True, slots=True)
class LeaveReply:
    """Answers a Leave."""

    token: Token
    error: ErrorCode = ErrorCode.NONE
    members: tuple[Left, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """Answers a Heartbeat, a CheckCommit or a Delete: these have nothing but an error code."""

    token: Token
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class StoredMember:
    """A member as `__consumer_offsets` remembers it: metadata of the chosen protocol only."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True)
class StoredGroup:
    """A group as `__consumer_offsets` remembers it: stable with its members, or empty without."""

    generation: int
    protocol_type: str | None
    protocol_name: str | None
    leader: str | None
    state_since_ms: int
    """When the group entered its state; -1 where an old record does not say."""
    members: tuple[StoredMember, ...] = ()


@dataclass(frozen=True, slots=True)
class Store:
    """Write this, and let nothing that follows out before it is durable."""

    group: StoredGroup


@dataclass(frozen=True, slots=True)
class Removed:
    """The group is dead: write tombstones for it and its offsets, and forget it when they are
    durable; if they cannot be written, say Unstored.
    """


Effect: TypeAlias = JoinReply | SyncReply | LeaveReply | Reply | Store | Removed
