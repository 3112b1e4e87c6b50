"""`Group` over every (state, event), and on long random walks of many clients.

The walk plays honest clients with dishonest luck: they restart, go silent, change their minds, send
things twice or too late. What they are told is checked against what they themselves know.
"""

from dataclasses import dataclass, field
from typing import Any, get_args

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.tiers import examples
from tests.unit.groups.driver import SESSION_MS, Driver, subscription

from kafkaesque.errors import ErrorCode
from kafkaesque.groups.events import (
    CheckCommit,
    Delete,
    Effect,
    Event,
    Expire,
    Heartbeat,
    Join,
    JoinReply,
    Leave,
    Leaving,
    State,
    Sync,
    SyncReply,
    Tick,
    Unstored,
)
from kafkaesque.groups.group import Group
from kafkaesque.groups.member import MEMBER_BYTES
from kafkaesque.groups.transitions import TRANSITIONS

RANGE = (("range", subscription("orders")),)
DELAYS = st.sampled_from([0, 0, 3_000])
JOIN_VERSIONS = st.sampled_from(
    [
        {"require_known_member_id": False},
        {"require_known_member_id": True},
        {"require_known_member_id": True, "supports_skipping_assignment": True},
    ]
)


def in_state(state: State) -> Driver:
    """A group that got into this state the usual way, with a member `m-1` where it has members."""
    driver = Driver()
    if state is State.DEAD:
        driver.delete()
    elif state is not State.EMPTY:
        driver.join(client_id="m")
        if state is not State.COMPLETING_REBALANCE:
            driver.sync("m-1")
        if state is State.PREPARING_REBALANCE:
            driver.send_join(client_id="n")
    assert driver.group.state is state
    return driver


def events(token: int, member_id: str, generation: int) -> dict[type, Event]:
    timeouts = (SESSION_MS, SESSION_MS)
    every: list[Event] = [
        Join(token, member_id, None, "c", "/h", "consumer", RANGE, *timeouts),
        Sync(token, generation, member_id),
        Heartbeat(token, generation, member_id),
        Leave(token, (Leaving(member_id),)),
        CheckCommit(token, generation, member_id),
        Delete(token),
        Expire(),
        Tick(),
        Unstored(),
    ]
    return {type(event): event for event in every}


def test_the_table_names_every_state_with_every_event_and_nothing_else() -> None:
    assert set(TRANSITIONS) == {(state, event) for state in State for event in get_args(Event)}


@pytest.mark.parametrize("event_type", get_args(Event))
@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("member_id", ["m-1", "stranger", ""])
@pytest.mark.parametrize("generation", [-1, 0, 1, 2])
def test_every_event_in_every_state_is_answered_or_waits(
    state: State, event_type: type, member_id: str, generation: int
) -> None:
    driver = in_state(state)
    token = driver.token()
    driver.handle(events(token, member_id, generation)[event_type])
    waiting = {
        waits
        for member in driver.group.roster.members.values()
        for waits in (member.join_token, member.sync_token)
    }
    if event_type not in (Expire, Tick, Unstored):
        assert (token in driver.answers) != (token in waiting)


@dataclass(eq=False)
class Client:
    """What one client knows: its id, its generation, and what it waits for."""

    name: str
    instance_id: str | None = None
    member_id: str = ""
    generation: int = -1
    leads: tuple[str, ...] = ()
    joining: int | None = None
    syncing: int | None = None
    synced: bool = False
    topics: int = 1

    def protocols(self) -> tuple[tuple[str, bytes], ...]:
        return (("range", subscription(*(f"t{number}" for number in range(self.topics)))),)

    def start_over(self) -> None:
        self.member_id = ""
        self.generation = -1
        self.leads = ()
        self.joining = self.syncing = None
        self.synced = False


@dataclass
class Announcement:
    """What was said of a generation; it has to be the same for all."""

    leader: str
    protocol: str | None
    assignments: dict[str, bytes] = field(default_factory=dict)


class GroupWalk(RuleBasedStateMachine):
    """Clients that come, go, sync, fall silent and come back."""

    @property
    def group(self) -> Group:
        return self.driver.group

    def __init__(self) -> None:
        super().__init__()
        self.driver = Driver()
        self.clients: list[Client] = []
        self.owners: dict[int, Client] = {}
        self.identity: dict[str, str] = {}
        self.heard: dict[str, int] = {}
        self.asked_as: dict[int, tuple[str, int]] = {}
        self.generations: dict[int, Announcement] = {}
        self.last_generation = 0

    def do(self, event: Event) -> list[Effect]:
        before = self.group.generation
        effects = self.driver.handle(event)
        assert self.group.generation - before in (0, 1)
        if self.group.generation != before:
            self.heard.update(dict.fromkeys(self.group.roster.members, self.driver.now))
        for effect in effects:
            if isinstance(effect, JoinReply):
                self.hear_join(effect)
            elif isinstance(effect, SyncReply):
                self.hear_sync(effect)
        return effects

    def hear_join(self, reply: JoinReply) -> None:
        assert isinstance(reply.token, int)
        client = self.owners[reply.token]
        if reply.error is ErrorCode.NONE:
            self.check_announcement(client, reply)
        if client.joining != reply.token:
            return
        client.joining = None
        if reply.error is ErrorCode.NONE:
            client.member_id = reply.member_id
            client.generation = reply.generation
            client.leads = tuple(member.member_id for member in reply.members)
            client.synced = False
        elif reply.error is ErrorCode.MEMBER_ID_REQUIRED:
            client.member_id = reply.member_id
        elif reply.error is not ErrorCode.REBALANCE_IN_PROGRESS:
            client.start_over()

    def check_announcement(self, client: Client, reply: JoinReply) -> None:
        assert reply.generation == self.group.generation
        assert reply.member_id in self.group.roster.members
        self.identity[reply.member_id] = client.name
        self.heard[reply.member_id] = self.driver.now
        leader = self.identity.get(reply.leader, reply.leader)
        known = self.generations.get(reply.generation)
        if known is None:
            self.generations[reply.generation] = Announcement(reply.leader, reply.protocol_name)
        else:
            assert leader == self.identity.get(known.leader, known.leader)
            assert reply.protocol_name == known.protocol

    def hear_sync(self, reply: SyncReply) -> None:
        assert isinstance(reply.token, int)
        client = self.owners[reply.token]
        member_id, generation = self.asked_as[reply.token]
        if reply.error is ErrorCode.NONE:
            assert generation == self.group.generation
            assert reply.assignment == f"{generation}:{client.name}".encode()
        if reply.error in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            self.heard[member_id] = self.driver.now
        if client.syncing != reply.token:
            return
        client.syncing = None
        client.synced = reply.error is ErrorCode.NONE
        if reply.error is ErrorCode.REBALANCE_IN_PROGRESS:
            client.generation = -1
        elif reply.error is not ErrorCode.NONE:
            client.start_over()

    def send_join(self, client: Client, **fields: Any) -> None:
        token = self.driver.token()
        self.owners[token] = client
        client.joining, client.syncing = token, None
        self.do(
            Join(
                token,
                client.member_id,
                client.instance_id,
                client.name,
                "/h",
                "consumer",
                client.protocols(),
                SESSION_MS,
                3 * SESSION_MS,
                **fields,
            )
        )

    def send_sync(self, client: Client) -> None:
        token = self.driver.token()
        self.owners[token] = client
        client.syncing = token
        self.asked_as[token] = client.member_id, client.generation
        assignments = {
            member_id: f"{client.generation}:{self.name_of(member_id)}".encode()
            for member_id in client.leads
        }
        self.do(
            Sync(
                token,
                client.generation,
                client.member_id,
                client.instance_id,
                assignments=assignments,
            )
        )

    def name_of(self, member_id: str) -> str:
        """Member ids begin with the client's name, or the instance id that serves as one."""
        return member_id.rsplit("-", 1)[0]

    def pick(self, data: st.DataObject) -> Client:
        return data.draw(st.sampled_from(self.clients))

    @initialize(statics=st.lists(st.booleans(), min_size=1, max_size=8), delay_ms=DELAYS)
    def group_is_new(self, statics: list[bool], delay_ms: int) -> None:
        self.driver = Driver(initial_rebalance_delay_ms=delay_ms)
        names = {f"c{number}": is_static for number, is_static in enumerate(statics)}
        self.clients = [Client(name, name if names[name] else None) for name in names]

    @rule(version=JOIN_VERSIONS, direction=st.sampled_from([1, -1]))
    def all_clients_take_a_step(self, version: dict[str, bool], direction: int) -> None:
        for client in self.clients[::direction]:
            self.step(client, version)

    @rule(data=st.data(), version=JOIN_VERSIONS)
    def client_takes_a_step(self, data: st.DataObject, version: dict[str, bool]) -> None:
        self.step(self.pick(data), version)

    def step(self, client: Client, version: dict[str, bool]) -> None:
        """What a client does next if all is well: join, sync, then heartbeats."""
        if client.joining is not None or client.syncing is not None:
            return
        if client.generation < 0:
            self.send_join(client, **version)
        elif not client.synced:
            self.send_sync(client)
        else:
            self.heartbeat(client)

    def heartbeat(self, client: Client) -> None:
        token = self.driver.token()
        self.do(Heartbeat(token, client.generation, client.member_id, client.instance_id))
        error = self.driver.answers[token].error
        if error in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            self.heard[client.member_id] = self.driver.now
        if error is ErrorCode.REBALANCE_IN_PROGRESS:
            client.generation = -1
        elif error is not ErrorCode.NONE:
            client.start_over()

    @rule(data=st.data())
    def client_restarts(self, data: st.DataObject) -> None:
        self.pick(data).start_over()

    @rule(data=st.data())
    def client_subscribes_to_more(self, data: st.DataObject) -> None:
        client = self.pick(data)
        client.topics += 1
        if client.member_id and client.joining is None and client.generation >= 0:
            self.send_join(client)

    @rule(data=st.data())
    def client_repeats_itself(self, data: st.DataObject) -> None:
        client = self.pick(data)
        if client.joining is not None and client.member_id:
            self.send_join(client)
        elif client.syncing is not None:
            self.send_sync(client)

    @rule(data=st.data())
    def client_commits(self, data: st.DataObject) -> None:
        client = self.pick(data)
        token = self.driver.token()
        self.do(CheckCommit(token, client.generation, client.member_id, client.instance_id))
        is_member = client.member_id in self.group.roster.members
        if self.driver.answers[token].error is ErrorCode.NONE and is_member:
            assert client.generation == self.group.generation
            self.heard[client.member_id] = self.driver.now

    @rule(data=st.data(), count=st.integers(1, 3))
    def clients_leave(self, data: st.DataObject, count: int) -> None:
        leaving = {id(client): client for client in (self.pick(data) for _ in range(count))}
        members = tuple(Leaving(c.member_id, c.instance_id) for c in leaving.values())
        self.do(Leave(self.driver.token(), members))
        assert not {member.member_id for member in members} & set(self.group.roster.members)
        for client in leaving.values():
            client.start_over()

    @rule(duration_ms=st.sampled_from([1, 100, SESSION_MS // 2, SESSION_MS - 1, SESSION_MS * 2]))
    def time_passes(self, duration_ms: int) -> None:
        self.driver.now += duration_ms
        self.do(Tick())
        deadline = self.group.next_deadline()
        assert deadline is None or deadline > self.driver.now
        for member in self.group.roster.members.values():
            waits = member.join_token is not None or member.sync_token is not None
            assert waits or self.heard[member.member_id] + SESSION_MS > self.driver.now

    @rule()
    def somebody_asks_to_delete_the_group(self) -> None:
        if self.group.state is not State.EMPTY:
            assert self.driver.delete() is ErrorCode.NON_EMPTY_GROUP

    @invariant()
    def generations_grow(self) -> None:
        assert self.group.generation >= self.last_generation
        self.last_generation = self.group.generation

    @invariant()
    def only_a_group_without_members_is_empty(self) -> None:
        if self.group.state is State.EMPTY:
            assert not self.group.roster.members
        elif self.group.state is not State.PREPARING_REBALANCE:
            assert self.group.leader in self.group.roster.members

    @invariant()
    def in_a_stable_group_all_have_assignments_of_this_generation(self) -> None:
        if self.group.state is State.STABLE:
            for member in self.group.roster.members.values():
                name = self.name_of(member.member_id)
                assert member.assignment == f"{self.group.generation}:{name}".encode()

    @invariant()
    def what_is_kept_is_counted(self) -> None:
        roster = self.group.roster
        members = roster.members.values()
        pending_bytes = MEMBER_BYTES * len(roster.pending)
        kept_bytes = sum(member.kept_bytes for member in members)
        assert roster.budget.used_bytes == kept_bytes + pending_bytes
        assert roster.stored_bytes == sum(member.stored_bytes for member in members)

    @invariant()
    def what_was_stored_is_what_a_restart_finds(self) -> None:
        settled = self.group.state in (State.STABLE, State.EMPTY) and self.group.generation > 0
        if settled:
            stored = self.driver.stored[-1]
            again = Group.restore("g", self.group.config, stored, self.driver.moment())
            assert again.describe() == self.group.describe()
            assert again.generation == self.group.generation
            assert again.subscribed_topics == self.group.subscribed_topics

    def teardown(self) -> None:
        """Left alone, the group answers everybody and empties itself."""
        for _ in range(200):
            deadline = self.group.next_deadline()
            if deadline is None:
                break
            self.driver.now = deadline
            self.do(Tick())
        assert self.group.state is State.EMPTY
        assert self.driver.asked == set(self.driver.answers)


GroupWalk.TestCase.settings = settings(
    max_examples=examples(60), stateful_step_count=60, deadline=None, print_blob=True
)
test_a_group_keeps_its_promises_on_random_walks = GroupWalk.TestCase
