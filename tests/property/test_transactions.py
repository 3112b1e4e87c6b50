"""Transactions on long random walks: producers old and new, crashes, late requests, lost answers.

The walk plays honest producers with dishonest luck. What they are told is checked against what a
read_committed reader finds in the partitions: each transaction is there wholly or not at all, and
as its producer was told.
"""

from dataclasses import dataclass, field, replace
from itertools import count

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.tiers import examples
from tests.unit.transactions.driver import CONFIG, TIMEOUT_MS
from tests.unit.transactions.world import ID, PARTITIONS, Data, World

from kafkaesque.errors import ErrorCode
from kafkaesque.transactions.events import Add, End, Init, Reply, State, Tick, Verify
from kafkaesque.transactions.partitions import Partitions
from kafkaesque.transactions.transaction import LAST_CLIENT_EPOCH, MAX_EPOCH, Identity
from kafkaesque.types import TopicPartition

NOBODY = (-1, -1)
EXPIRATION_MS = CONFIG.expiration_ms
EPOCHS = st.sampled_from([-1, 0, LAST_CLIENT_EPOCH - 3, LAST_CLIENT_EPOCH - 1])
BREAKS = st.sampled_from([*range(12), *[None] * 24])
SELDOM = st.sampled_from([False, False, False, True])
OFTEN = SELDOM.map(lambda seldom: not seldom)
WRITES = st.lists(st.tuples(st.sampled_from(PARTITIONS), OFTEN), max_size=3)


@dataclass(eq=False)
class Client:
    """What one producer knows of itself."""

    bumps: bool
    connection: int
    identity: Identity = NOBODY
    number: int | None = None
    added: set[TopicPartition] = field(default_factory=set)
    has_doubts: bool = False
    """Something it wrote may not be there: it can only abort."""
    ending: bool | None = None
    has_failed: bool = False

    def next_transaction(self) -> None:
        self.number = self.ending = None
        self.added.clear()
        self.has_doubts = False


class TransactionWalk(RuleBasedStateMachine):
    """Several producers want to be the one that the transactional id belongs to."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(lambda least, most: most)
        self.clients: list[Client] = []
        self.late: list[Init | Add | End] = []
        self.tokens = count(1)
        self.numbers = count(1)
        self.connections = count(1)
        self.owners: dict[Identity, Client] = {}
        self.written: dict[int, int] = {}
        self.committing: set[int] = set()
        self.told: dict[int, bool] = {}
        self.restarts = 0

    @initialize(epoch=EPOCHS, data=st.data())
    def transactional_id_is_known_or_not(self, epoch: int, data: st.DataObject) -> None:
        self.world = World(lambda least, most: data.draw(st.integers(least, most)), epoch)

    def ask(self, event: Init | Add | Verify | End, is_late: bool = False) -> Reply | None:
        """Send, and hear the answer, unless the request is late or the broker crashes."""
        if is_late and not isinstance(event, Verify):
            self.late.append(event)
            return None
        restarts = self.world.restarts
        reply = self.world.ask(event)
        if self.world.restarts == restarts:
            assert reply is not None
        return reply

    def hear(self, client: Client, reply: Reply | None) -> bool:
        """Did it succeed? No answer, or one that says so, means to come again."""
        if reply is None:
            client.connection = next(self.connections)
            return False
        if reply.error is ErrorCode.NONE:
            return True
        client.has_failed = reply.error is not ErrorCode.CONCURRENT_TRANSACTIONS
        return False

    def take_identity(self, client: Client, reply: Reply) -> None:
        identity = reply.producer_id, reply.producer_epoch
        assert 0 <= identity[1] < MAX_EPOCH
        assert all(identity >= known for known in self.owners), "an epoch went back"
        assert self.owners.setdefault(identity, client) is client, "an epoch was given out twice"
        client.identity = identity

    def pick(self, index: int) -> Client | None:
        alive = [client for client in self.clients if not client.has_failed]
        return alive[index % len(alive)] if alive else None

    def start(self, bumps: bool) -> Client:
        client = Client(bumps, next(self.connections))
        self.clients.append(client)
        return client

    def init(self, client: Client, is_late: bool = False) -> None:
        event = Init(next(self.tokens), TIMEOUT_MS, *client.identity, self.world.fresh_id())
        reply = self.ask(event, is_late)
        if self.hear(client, reply):
            assert reply is not None
            client.next_transaction()
            self.take_identity(client, reply)

    def may_write(self, client: Client, partition: TopicPartition, is_late: bool) -> bool:
        """One that bumps adds with each write; the others add once, and are then verified."""
        wanted = Partitions({partition})
        if client.bumps or partition not in client.added:
            connection = 0 if client.bumps else client.connection
            add = Add(next(self.tokens), *client.identity, wanted, connection)
            if not self.hear(client, self.ask(add, is_late)):
                return False
            client.added.add(partition)
        verify = Verify(next(self.tokens), *client.identity, wanted)
        return client.bumps or self.hear(client, self.ask(verify))

    def write(self, client: Client, partition: TopicPartition, is_acked: bool) -> None:
        if client.number is None:
            client.number = next(self.numbers)
        disk = self.world.partitions[partition]
        disk.append(Data(client.identity, client.number))
        if is_acked:
            disk.sync()
            self.written[client.number] = self.written.get(client.number, 0) + 1
        else:
            client.has_doubts = True

    def end(self, client: Client, commit: bool, is_late: bool) -> None:
        """What it has begun to end one way, it does not try to end the other way."""
        if client.ending is None:
            client.ending = commit and not client.has_doubts and client.number is not None
        if client.ending and client.number is not None:
            self.committing.add(client.number)
        identity = *client.identity, client.ending, client.bumps
        event = End(next(self.tokens), *identity, client.connection, self.world.fresh_id())
        reply = self.ask(event, is_late)
        if self.hear(client, reply):
            assert reply is not None
            if client.number is not None:
                self.told[client.number] = client.ending
            client.next_transaction()
            if client.bumps:
                self.take_identity(client, reply)

    @rule(
        index=st.integers(0, 3),
        bumps=st.booleans(),
        writes=WRITES,
        commit=st.none() | st.booleans(),
        breaks=BREAKS,
        is_offline=SELDOM,
        is_add_late=SELDOM,
        is_end_late=SELDOM,
    )
    def producer_works(
        self,
        index: int,
        bumps: bool,
        writes: list[tuple[TopicPartition, bool]],
        commit: bool | None,
        breaks: int | None,
        is_offline: bool,
        is_add_late: bool,
        is_end_late: bool,
    ) -> None:
        """Write this, and end the transaction or not. What is late gets stuck in the net."""
        self.world.break_after, self.world.is_offline = breaks, is_offline
        client = self.pick(index) or self.start(bumps)
        if client.identity == NOBODY:
            self.init(client)
        for partition, is_acked in writes:
            if client.identity == NOBODY or client.has_failed or client.ending is not None:
                break
            if self.may_write(client, partition, is_add_late):
                self.write(client, partition, is_acked)
        may_end = client.number is not None or client.bumps
        if commit is not None and client.identity != NOBODY and may_end and not client.has_failed:
            self.end(client, commit, is_end_late)

    @rule(bumps=st.booleans(), breaks=BREAKS)
    def another_producer_starts(self, bumps: bool, breaks: int | None) -> None:
        self.world.break_after, self.world.is_offline = breaks, False
        self.init(self.start(bumps))

    @rule(index=st.integers(0, 3), breaks=BREAKS, is_late=SELDOM)
    def producer_goes_on_with_a_new_epoch(
        self, index: int, breaks: int | None, is_late: bool
    ) -> None:
        self.world.break_after, self.world.is_offline = breaks, False
        if client := self.pick(index):
            self.init(client, is_late)

    @rule(index=st.integers(0, 9), breaks=BREAKS)
    def late_request_arrives(self, index: int, breaks: int | None) -> None:
        """Unless its connection has ended with the broker that it led to."""
        self.world.break_after, self.world.is_offline = breaks, False
        if self.world.restarts != self.restarts:
            self.restarts = self.world.restarts
            self.late.clear()
        if self.late:
            event = self.late.pop(index % len(self.late))
            if not isinstance(event, Add):
                event = replace(event, fresh_id=self.world.fresh_id())
            self.ask(event)

    @rule(breaks=BREAKS)
    def partitions_are_back(self, breaks: int | None) -> None:
        self.world.break_after, self.world.is_offline = breaks, False
        self.world.try_again()

    @rule(breaks=BREAKS, is_offline=SELDOM)
    def broker_crashes(self, breaks: int | None, is_offline: bool) -> None:
        self.world.break_after, self.world.is_offline = breaks, is_offline
        self.world.restart()

    @rule()
    def disk_catches_up(self) -> None:
        self.world.log.sync()

    @rule(
        after_ms=st.sampled_from([1, TIMEOUT_MS - 1, TIMEOUT_MS, TIMEOUT_MS, EXPIRATION_MS]),
        breaks=BREAKS,
    )
    def time_passes(self, after_ms: int, breaks: int | None) -> None:
        self.world.now += after_ms
        self.world.break_after, self.world.is_offline = breaks, False
        restarts = self.world.restarts
        self.world.ask(Tick())
        transaction = self.world.table.get(ID)
        if transaction is not None and self.world.restarts == restarts:
            assert not transaction.is_due(self.world.moment())

    @invariant()
    def a_transaction_is_there_wholly_or_not_at_all(self) -> None:
        verdicts: dict[int, set[bool]] = {}
        for number, commit in self.world.verdicts():
            if commit is not None:
                verdicts.setdefault(number, set()).add(commit)
        for number, both in verdicts.items():
            assert len(both) == 1, "torn"
            assert self.told.get(number, *both) in both, "not as its producer was told"
            assert both == {False} or number in self.committing, "nobody asked for it"

    @invariant()
    def what_is_prepared_has_been_stored_durably(self) -> None:
        transaction = self.world.table.get(ID)
        if transaction and transaction.state in (State.PREPARE_COMMIT, State.PREPARE_ABORT):
            assert self.world.log.synced == len(self.world.log.entries)

    def teardown(self) -> None:
        """In the end a producer starts, so all is ended: commits have all that was written."""
        self.world.break_after, self.world.is_offline = None, False
        self.world.try_again()
        self.world.restart()
        last = self.start(bumps=True)
        self.init(last)
        assert last.identity != NOBODY
        committed: dict[int, int] = {}
        for number, commit in self.world.verdicts():
            assert commit is not None, "open for ever"
            committed[number] = committed.get(number, 0) + commit
        for number, commit in self.told.items():
            assert committed.get(number, 0) == (self.written.get(number, 0) if commit else 0)
        self.a_transaction_is_there_wholly_or_not_at_all()


TransactionWalk.TestCase.settings = settings(
    max_examples=examples(200), stateful_step_count=40, deadline=None, print_blob=True
)
test_transactions_keep_their_promises_on_random_walks = TransactionWalk.TestCase
