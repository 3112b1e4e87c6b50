"""A classic consumer group: (event, now) -> effects. It opens no socket and reads no clock.

    EMPTY ──Join──► PREPARING_REBALANCE ──all joined, or time is up──► COMPLETING_REBALANCE
      ▲                  ▲      │                                            │
      └──nobody is left──┼──────┘                                   the leader's Sync
                         │                                                   ▼
                         └────Join with news, Leave, a session expires──── STABLE
    EMPTY ──Delete, Expire──► DEAD, and EMPTY again if its tombstones could not be written

This file holds the group and the steps it is moved by; transitions.py says which event takes which.
Generations only grow, and each is announced at once to everybody who joined. A member that has not
joined when time is up is removed, unless it is static: those are left to their session (KIP-345).

Above: the broker's coordinator. Below: transitions.py, roster.py (who is in), events.py.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import uuid4

from kafkaesque.errors import ErrorCode
from kafkaesque.groups.bounds import Budget
from kafkaesque.groups.events import (
    Effect,
    Event,
    Join,
    JoinReply,
    Removed,
    State,
    Store,
    StoredGroup,
    SyncReply,
    Token,
)
from kafkaesque.groups.member import Member
from kafkaesque.groups.roster import Roster
from kafkaesque.groups.subscription import CONSUMER_PROTOCOL_TYPE, subscribed_topics
from kafkaesque.groups.transitions import TRANSITIONS
from kafkaesque.groups.views import GroupDescription, MemberDescription
from kafkaesque.types import Moment

MAX_CLIENT_ID = 249
"""Characters of it that a member id has: it is kept for a session, and goes to and fro."""
RETRY_MS = 100
"""The least wait when nobody rejoined in time: a client may ask for a rebalance timeout of 0."""


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """The broker's settings for groups: `group.*` in Kafka's configuration."""

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    max_size: int = 1_000
    initial_rebalance_delay_ms: int = 3_000
    new_member_join_timeout_ms: int = 300_000
    max_stored_bytes: int = 1_000_000
    """Of a stable group's record: `max.message.bytes` of `__consumer_offsets`."""
    max_groups: int = 100_000
    """That the broker remembers, with members or with offsets."""


def random_id() -> str:
    """What makes a member id unique: `<client id>-<this>`."""
    return str(uuid4())


class Group:
    """One group. Its owner calls `handle`; what changes it otherwise is for transitions.py only."""

    def __init__(
        self,
        group_id: str,
        config: GroupConfig,
        state_since_ms: int,
        new_id: Callable[[], str] = random_id,
        budget: Budget | None = None,
    ) -> None:
        self.group_id = group_id
        self.config = config
        self.state = State.EMPTY
        self.state_since_ms = state_since_ms
        """When the group entered its state, by the wall's clock; -1 if not stored."""
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.subscribed_topics: frozenset[str] | None = None
        self.roster = Roster(budget)
        self.stored: StoredGroup | None = None
        """What the log was last told of this group."""
        self.unsynced: set[str] = set()
        """Members of this generation that have not asked for their assignment yet."""
        self.join_deadline_ms: int | None = None
        self.sync_deadline_ms: int | None = None
        self.grace_ms: int | None = None
        """How much longer a first rebalance may wait for newcomers; None in a later rebalance."""
        self.has_newcomers = False
        self._new_id = new_id
        self._effects: list[Effect] = []

    @classmethod
    def restore(
        cls,
        group_id: str,
        config: GroupConfig,
        stored: StoredGroup,
        now: Moment,
        new_id: Callable[[], str] = random_id,
        budget: Budget | None = None,
    ) -> "Group":
        """The group as it was last stored; its members have a session to be heard of again."""
        group = cls(group_id, config, stored.state_since_ms, new_id, budget)
        group.stored = stored
        group.generation = stored.generation
        group.protocol_type = stored.protocol_type
        group.protocol_name = stored.protocol_name
        for member in stored.members:
            group.roster.add(Member.restored(member, stored.protocol_name or "", now.monotonic_ms))
        if stored.leader in group.roster.members:
            group.roster.leader = stored.leader
        group.subscribed_topics = group._read_subscriptions()
        if group.roster:
            group.state = State.STABLE
        if len(group.roster) > config.max_size:
            group.prepare_rebalance(now)
        return group

    def handle(self, event: Event, now: Moment) -> list[Effect]:
        """Let an event happen; the effects are to be carried out in order."""
        TRANSITIONS[self.state, type(event)](self, event, now)
        effects, self._effects = self._effects, []
        return effects

    def next_deadline(self) -> int | None:
        """When the next Tick is due, by the clock that only goes forward; earlier ones change
        nothing.
        """
        deadlines = [member.deadline_ms for member in self.roster.members.values()]
        deadlines += [*self.roster.pending.values(), self.join_deadline_ms, self.sync_deadline_ms]
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    @property
    def leader(self) -> str | None:
        return self.roster.leader

    @property
    def is_vacant(self) -> bool:
        """Nothing ever came of this group: no reason to keep it."""
        return self.state is State.EMPTY and self.generation == 0 and not self.roster.pending

    def is_subscribed_to(self, topic: str) -> bool:
        """Is the topic read by the group? Yes, if it is a consumers' group and does not say."""
        if self.subscribed_topics is None:
            return self.protocol_type == CONSUMER_PROTOCOL_TYPE
        return topic in self.subscribed_topics

    def offset_delete_error(self, topic: str | None = None) -> ErrorCode:
        """May offsets be deleted, of this topic, or at all? Consumers keep what they subscribe to,
        other members everything.
        """
        if self.state is State.DEAD:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if self.state is not State.EMPTY and self.protocol_type != CONSUMER_PROTOCOL_TYPE:
            return ErrorCode.NON_EMPTY_GROUP
        if topic is not None and self.is_subscribed_to(topic):
            return ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        return ErrorCode.NONE

    def commit_error(
        self, generation: int, member_id: str, group_instance_id: str | None
    ) -> ErrorCode:
        """May offsets be committed? By a member until it has joined the next generation, so during
        a rebalance too; while the group has no members, by whoever claims no generation.
        """
        if self.state is State.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if self.state is State.EMPTY and generation < 0:
            return ErrorCode.NONE
        error = self.roster.check(member_id, group_instance_id)
        if not error and generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        if not error and self.state is State.COMPLETING_REBALANCE:
            # It knows the new generation, but not yet what it owns in it.
            return ErrorCode.REBALANCE_IN_PROGRESS
        return error

    def transactional_commit_error(
        self, generation: int, member_id: str, group_instance_id: str | None
    ) -> ErrorCode:
        """May offsets be committed in a transaction? Who says which member it is must be it still
        (KIP-447); producers from before say nothing. Unlike a plain commit, it is no heartbeat.
        """
        if self.state is State.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if generation < 0 and self.state is State.EMPTY:
            return ErrorCode.NONE
        if generation < 0 and not member_id and group_instance_id is None:
            return ErrorCode.NONE
        error = self.roster.check(member_id, group_instance_id)
        if not error and generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        return error

    def describe(self) -> GroupDescription:
        """The group as DescribeGroups and ListGroups show it."""
        name = (self.protocol_name or "") if self.state is State.STABLE else None
        members = tuple(
            MemberDescription.of(member, name) for member in self.roster.members.values()
        )
        return GroupDescription(
            self.group_id, self.state, self.protocol_type or "", name or "", members
        )

    def emit(self, effect: Effect) -> None:
        self._effects.append(effect)

    def become(self, state: State, now: Moment) -> None:
        self.state = state
        self.state_since_ms = now.wall_ms

    def die(self) -> None:
        """Nothing of it is to be left, once that is durable."""
        self.state = State.DEAD
        self.emit(Removed())

    def survive(self) -> None:
        """It could not be removed: it is empty as before, and since then."""
        self.state = State.EMPTY

    def new_member_id(self, join: Join) -> str:
        return f"{join.group_instance_id or join.client_id[:MAX_CLIENT_ID]}-{self._new_id()}"

    def add(self, join: Join, member_id: str, now: Moment) -> None:
        """A newcomer starts a rebalance, or takes part in the one that is going on."""
        if not self.roster:
            self.protocol_type = join.protocol_type
        timeout_ms = self.config.new_member_join_timeout_ms
        self.roster.add(Member.joining(join, member_id, now.monotonic_ms + timeout_ms))
        self.has_newcomers = True
        self.rebalance(now)

    def rejoin(self, member: Member, join: Join, now: Moment) -> None:
        """A known member takes part in a rebalance, which it starts if there is none."""
        if member.join_token is not None:
            self.emit(
                JoinReply(member.join_token, ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
            )
        self.roster.update(member, join)
        self.rebalance(now)

    def replace(self, old: Member, join: Join) -> Member:
        """A static member is back under a new id: who still waits under the old one is a double."""
        if old.join_token is not None:
            self.emit(JoinReply(old.join_token, ErrorCode.FENCED_INSTANCE_ID, old.member_id))
        if old.sync_token is not None:
            self.emit(SyncReply(old.sync_token, ErrorCode.FENCED_INSTANCE_ID))
        new = self.roster.replace(old, join, self.new_member_id(join))
        if old.member_id in self.unsynced:
            self.unsynced.remove(old.member_id)
            self.unsynced.add(new.member_id)
        return new

    def evict(self, member: Member) -> None:
        """Remove a member; if it waits for an answer after all, it is told to start over."""
        if member.join_token is not None:
            self.emit(JoinReply(member.join_token, ErrorCode.UNKNOWN_MEMBER_ID))
        if member.sync_token is not None:
            self.emit(SyncReply(member.sync_token, ErrorCode.UNKNOWN_MEMBER_ID))
        self.roster.remove(member.member_id)
        self.unsynced.discard(member.member_id)

    def rebalance(self, now: Moment) -> None:
        """Start a rebalance, or see whether the one that is going on can be completed."""
        if self.state is not State.PREPARING_REBALANCE:
            self.prepare_rebalance(now)
        elif self.grace_ms is None and self.roster.all_joined:
            self.complete_join(now)

    def prepare_rebalance(self, now: Moment) -> None:
        """Everybody has to join again. The first members are given time to find each other."""
        self._cancel_syncs(now)
        is_first = self.state is State.EMPTY
        self.become(State.PREPARING_REBALANCE, now)
        timeout_ms = self.roster.rebalance_timeout_ms
        self.join_deadline_ms = now.monotonic_ms + timeout_ms
        if is_first:
            delay_ms = self.config.initial_rebalance_delay_ms
            self.join_deadline_ms = now.monotonic_ms + delay_ms
            self.grace_ms = max(timeout_ms - delay_ms, 0)
            self.has_newcomers = False
        self.rebalance(now)
        self.join_timed_out(now)

    def join_timed_out(self, now: Moment) -> None:
        """If time is up, complete the join; a first rebalance waits on while more members come."""
        if self.join_deadline_ms is None or self.join_deadline_ms > now.monotonic_ms:
            return
        if self.grace_ms and self.has_newcomers:
            delay_ms = self.config.initial_rebalance_delay_ms
            self.has_newcomers = False
            self.join_deadline_ms = now.monotonic_ms + min(delay_ms, self.grace_ms)
            self.grace_ms = max(self.grace_ms - delay_ms, 0)
        else:
            self.complete_join(now)

    def complete_join(self, now: Moment) -> None:
        """Go on with those who joined, or wait on if only absent static members are left."""
        for member in list(self.roster.members.values()):
            if not member.has_joined and not member.is_static:
                self.evict(member)
        if self.roster and not self.roster.elect_leader():
            self.join_deadline_ms = now.monotonic_ms + max(
                self.roster.rebalance_timeout_ms, RETRY_MS
            )
            return
        self.join_deadline_ms = self.grace_ms = None
        self.generation += 1
        if self.roster:
            self._announce_generation(now)
        else:
            self._empty(now)

    def _announce_generation(self, now: Moment) -> None:
        self.protocol_name = self.roster.choose_protocol()
        self.subscribed_topics = self._read_subscriptions()
        self.become(State.COMPLETING_REBALANCE, now)
        self.unsynced = set(self.roster.members)
        self.sync_deadline_ms = now.monotonic_ms + self.roster.rebalance_timeout_ms
        for member in self.roster.members.values():
            member.is_new = False
            member.renew(now.monotonic_ms)
            token, member.join_token = member.join_token, None
            if token is not None:
                self.emit(self.joined(token, member))

    def _empty(self, now: Moment) -> None:
        self.protocol_name = None
        self.become(State.EMPTY, now)
        self.store()

    def joined(self, token: Token, member: Member) -> JoinReply:
        """The current generation, as this member is told of it: only the leader is told of all."""
        name = self.protocol_name or ""
        told = self.roster.members.values() if member.member_id == self.leader else ()
        return JoinReply(
            token=token,
            member_id=member.member_id,
            generation=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=self.leader or "",
            members=tuple(other.as_join_member(name) for other in told),
        )

    def assign(self, assignments: Mapping[str, bytes], now: Moment) -> None:
        """The leader has spoken: store it, then tell everybody who has asked."""
        self.roster.assign(assignments)
        self.become(State.STABLE, now)
        self.store()
        for member in self.roster.members.values():
            token, member.sync_token = member.sync_token, None
            if token is not None:
                member.renew(now.monotonic_ms)
                self.emit(self.synced(token, member))

    def synced(self, token: Token, member: Member) -> SyncReply:
        return SyncReply(
            token, ErrorCode.NONE, self.protocol_type, self.protocol_name, member.assignment
        )

    def _cancel_syncs(self, now: Moment) -> None:
        for member in self.roster.members.values():
            token, member.sync_token = member.sync_token, None
            if token is not None:
                member.renew(now.monotonic_ms)
                self.emit(SyncReply(token, ErrorCode.REBALANCE_IN_PROGRESS))
        self.unsynced.clear()
        self.sync_deadline_ms = None

    def mark_synced(self, member_id: str) -> None:
        """One less to wait for; the sync deadline stands until all have asked."""
        self.unsynced.discard(member_id)
        if not self.unsynced:
            self.sync_deadline_ms = None

    def store(self) -> None:
        """Have the group written down before anything that follows is said."""
        self.subscribed_topics = self._read_subscriptions()
        name = self.protocol_name or ""
        self.stored = StoredGroup(
            generation=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=self.leader,
            state_since_ms=self.state_since_ms,
            members=tuple(member.as_stored(name) for member in self.roster.members.values()),
        )
        self.emit(Store(self.stored))

    def _read_subscriptions(self) -> frozenset[str] | None:
        if self.protocol_type != CONSUMER_PROTOCOL_TYPE:
            return None
        name = self.protocol_name or ""
        return subscribed_topics(member.metadata(name) for member in self.roster.members.values())
