"""A group with a fake clock, and a notebook of what it answered.

Every request gets a token of its own; `answers` finds the reply again. An answer to a token that
was never asked, or to one that has its answer already, fails the test on the spot.
"""

import struct
from itertools import count
from typing import Any

from kafkaesque.errors import ErrorCode
from kafkaesque.groups.events import (
    CheckCommit,
    Delete,
    Effect,
    Event,
    Heartbeat,
    Join,
    JoinReply,
    Leave,
    LeaveReply,
    Leaving,
    Removed,
    Reply,
    State,
    Store,
    StoredGroup,
    Sync,
    SyncReply,
    Tick,
)
from kafkaesque.groups.group import Group, GroupConfig
from kafkaesque.types import Moment

SESSION_MS = 10_000
REBALANCE_MS = 60_000


def subscription(*topics: str, user_data: bytes = b"") -> bytes:
    """Protocol metadata as consumers write it, version 0."""
    names = b"".join(struct.pack(">h", len(name)) + name.encode() for name in topics)
    return (
        struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", len(user_data)) + user_data
    )


RANGE = (("range", subscription("orders")),)


class Driver:
    """Plays clients and coordinator at once."""

    def __init__(self, group: Group | None = None, **config: Any) -> None:
        self.now = 1_000_000
        self.wall_ms = self.now
        self._ids = count(1)
        self._tokens = count(1)
        settings = GroupConfig(**{"initial_rebalance_delay_ms": 0, **config})
        self.group = group or Group("g", settings, self.now, new_id=lambda: str(next(self._ids)))
        self.asked: set[int] = set()
        self.answers: dict[int, JoinReply | SyncReply | LeaveReply | Reply] = {}
        self.stored: list[StoredGroup] = []
        self.removed = False

    def handle(self, event: Event) -> list[Effect]:
        effects = self.group.handle(event, self.moment())
        for effect in effects:
            if isinstance(effect, Store):
                self.stored.append(effect.group)
            elif isinstance(effect, Removed):
                self.removed = True
            else:
                assert isinstance(effect.token, int)
                assert effect.token in self.asked
                assert effect.token not in self.answers
                self.answers[effect.token] = effect
        return effects

    def moment(self) -> Moment:
        return Moment(self.now, self.wall_ms)

    def state(self) -> State:
        return self.group.state

    def token(self) -> int:
        token = next(self._tokens)
        self.asked.add(token)
        return token

    def wait(self, duration_ms: int) -> None:
        """Let time pass in one leap, then tick."""
        self.now += duration_ms
        self.wall_ms += duration_ms
        self.handle(Tick())

    def send_join(self, member_id: str = "", **fields: Any) -> int:
        token = self.token()
        defaults: dict[str, Any] = {
            "group_instance_id": None,
            "client_id": "c",
            "client_host": "/127.0.0.1",
            "protocol_type": "consumer",
            "protocols": RANGE,
            "session_timeout_ms": SESSION_MS,
            "rebalance_timeout_ms": REBALANCE_MS,
        }
        self.handle(Join(token, member_id, **{**defaults, **fields}))
        return token

    def join(self, member_id: str = "", **fields: Any) -> JoinReply:
        return self.join_reply(self.send_join(member_id, **fields))

    def join_reply(self, token: int) -> JoinReply:
        reply = self.answers[token]
        assert isinstance(reply, JoinReply)
        return reply

    def send_sync(self, member_id: str, generation: int | None = None, **fields: Any) -> int:
        token = self.token()
        if generation is None:
            generation = self.group.generation
        self.handle(Sync(token, generation, member_id, **fields))
        return token

    def sync(self, member_id: str, generation: int | None = None, **fields: Any) -> SyncReply:
        return self.sync_reply(self.send_sync(member_id, generation, **fields))

    def sync_reply(self, token: int) -> SyncReply:
        reply = self.answers[token]
        assert isinstance(reply, SyncReply)
        return reply

    def heartbeat(
        self, member_id: str, generation: int | None = None, instance_id: str | None = None
    ) -> ErrorCode:
        token = self.token()
        if generation is None:
            generation = self.group.generation
        self.handle(Heartbeat(token, generation, member_id, instance_id))
        return self.answers[token].error

    def check_commit(
        self, member_id: str = "", generation: int = -1, instance_id: str | None = None
    ) -> ErrorCode:
        token = self.token()
        self.handle(CheckCommit(token, generation, member_id, instance_id))
        return self.answers[token].error

    def leave(self, *members: str | Leaving) -> list[ErrorCode]:
        token = self.token()
        leaving = tuple(Leaving(who) if isinstance(who, str) else who for who in members)
        self.handle(Leave(token, leaving))
        reply = self.answers[token]
        assert isinstance(reply, LeaveReply)
        return [member.error for member in reply.members]

    def delete(self) -> ErrorCode:
        token = self.token()
        self.handle(Delete(token))
        return self.answers[token].error

    def stable(self, *client_ids: str, **fields: Any) -> list[str]:
        """A stable group of these clients: their member ids, the leader first."""
        tokens = [self.send_join(client_id=name, **fields) for name in client_ids]
        first = self.join_reply(tokens[0])
        if len(tokens) > 1:
            tokens[0] = self.send_join(first.member_id, client_id=client_ids[0], **fields)
        ids = [self.join_reply(token).member_id for token in tokens]
        assignments = {member_id: member_id.encode() for member_id in ids}
        self.sync(ids[0], assignments=assignments)
        for member_id in ids[1:]:
            self.sync(member_id)
        return ids

    def static(self, *instance_ids: str, **fields: Any) -> list[str]:
        """A stable group of static members: their member ids, the leader first."""
        return [self._join_static(name, **fields) for name in instance_ids]

    def _join_static(self, instance_id: str, **fields: Any) -> str:
        before = list(self.group.roster.members.values())
        token = self.send_join(group_instance_id=instance_id, client_id=instance_id, **fields)
        for member in before:
            rejoining = {"group_instance_id": member.group_instance_id, **fields}
            self.send_join(member.member_id, **rejoining)
        member_ids = list(self.group.roster.members)
        leader = self.group.leader
        assert leader is not None
        self.sync(leader, assignments={name: name.encode() for name in member_ids})
        for member_id in member_ids:
            self.sync(member_id)
        return self.join_reply(token).member_id
