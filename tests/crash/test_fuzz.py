"""Bad input at a broker: it never dies, never grows, logs no bug of ours, and serves the others.

Mutants go to a broker process over real sockets. After every thousand, a good client makes a round
trip and what the mutants have created is cleared away. A traceback in the broker's log is our bug:
the failure shows it with the frames that caused it.
"""

import random
import socket
import time
import uuid
from collections import deque
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.broker_process import BrokerProcess
from tests.crash.fuzzer import Fuzzer, Mutant, decodes
from tests.crash.valid_requests import (
    CASES,
    COMPACTED,
    GROUPS,
    PLAIN,
    STAMPED,
    TRANSACTIONS,
    Surroundings,
    Transaction,
)
from tests.wire.client import RawClient
from tests.wire.requests import create_topic

from kafkaesque.broker.apis import APIS
from kafkaesque.protocol.messages.create_topics import CreateTopicsResponse
from kafkaesque.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kafkaesque.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kafkaesque.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkaesque.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from kafkaesque.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkaesque.protocol.messages.metadata import MetadataRequest, MetadataResponse

GOOD = "good-and-untouched"
_KEPT = {GOOD, PLAIN, COMPACTED, STAMPED, "__consumer_offsets", "__transaction_state"}
_BETWEEN_ROUND_TRIPS = 1000
_MAX_GROWTH_BYTES = 64 << 20
_PER_CONNECTION = 6
_LEFT_OPEN = 16

_SETTINGS = {
    # Members of mutants go soon, and groups of them stay small: what is left behind is bounded.
    "group.max.session.timeout.ms": "10000",
    "group.max.size": "20",
    "log.flush.offset.checkpoint.interval.ms": "500",
}


def test_there_are_valid_frames_of_every_api_and_version() -> None:
    fuzzer = Fuzzer(0, Surroundings())
    assert {key for key, _ in CASES} == APIS.keys()
    assert [case for case in CASES for _ in range(20) if not decodes(fuzzer.valid(*case))] == []


def test_mutants_are_of_every_kind() -> None:
    """Many are taken for requests and reach the APIs; many are not; produce batches do, too."""
    fuzzer = Fuzzer(1, Surroundings(producer_ids=[1]))
    mutants = [fuzzer.mutant() for _ in range(3000)]
    taken = [m for m in mutants if not m.ends_connection]
    assert 800 < len(taken) < 2200
    assert len({m.data[4:8] for m in taken}) > 0.9 * len(CASES)


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_twenty_thousand_mutants_change_nothing_for_others(tmp_path: Path) -> None:
    _attack(tmp_path, seed=20, mutants=20_000, warm_up=4_000)


@pytest.mark.fuzz
@pytest.mark.timeout(4 * 3600)
def test_a_million_mutants_change_nothing_for_others(tmp_path: Path) -> None:
    _attack(tmp_path, seed=int(time.time()), mutants=1_000_000, warm_up=20_000)


def _attack(tmp_path: Path, seed: int, mutants: int, warm_up: int) -> None:
    settings = [part for item in _SETTINGS.items() for part in ("--set", "=".join(item))]
    with BrokerProcess(tmp_path / "data", *settings) as broker:
        siege = _Siege(broker, seed)
        usual = 0
        for sent in range(0, mutants, _BETWEEN_ROUND_TRIPS):
            if sent == warm_up:
                usual = broker.rss_bytes
            siege.send(_BETWEEN_ROUND_TRIPS)
            siege.tidy_up()
            siege.good.round_trip()
            growth = broker.rss_bytes - usual
            assert not usual or growth < _MAX_GROWTH_BYTES, f"seed {seed}: grew by {growth} bytes"
        siege.close()
        assert siege.bugs == [], f"seed {seed}"
        broker.kill()
        broker.start()
        siege.good.round_trip()
        siege.good.close()
        assert "Traceback" not in broker.log


class _Siege:
    """Connections that send mutants, and the eye on what the broker's log says about them."""

    def __init__(self, broker: BrokerProcess, seed: int) -> None:
        self.bugs: list[str] = []
        self.good = _GoodClient(broker)
        self._broker = broker
        self._around = Surroundings()
        self._fuzzer = Fuzzer(seed, self._around)
        self._rng = random.Random(seed)
        self._lingering: deque[socket.socket] = deque()
        self._log = broker.log_path.open("rb")
        self.tidy_up()

    def send(self, count: int) -> None:
        while count:
            mutants: list[Mutant] = []
            while count and len(mutants) < _PER_CONNECTION:
                mutants.append(self._fuzzer.mutant())
                count -= 1
                if mutants[-1].ends_connection:
                    break
            self._connection(mutants)
            self._watch_log(mutants)

    def close(self) -> None:
        for left in self._lingering:
            left.close()
        self._log.close()

    def _connection(self, mutants: list[Mutant]) -> None:
        """Most connections hang up after their last byte, and read until the broker does, too."""
        peer = socket.create_connection(("127.0.0.1", self._broker.port), timeout=10)
        try:
            peer.sendall(b"".join(mutant.data for mutant in mutants))
            if self._rng.random() < 0.03:
                self._leave_open(peer)
                return
            with suppress(OSError):  # The broker may have hung up first.
                peer.shutdown(socket.SHUT_WR)
            while peer.recv(65536):
                pass
        except ConnectionError:
            pass
        peer.close()

    def _leave_open(self, peer: socket.socket) -> None:
        """Let its long polls and joins wait for a while."""
        self._lingering.append(peer)
        if len(self._lingering) > _LEFT_OPEN:
            self._lingering.popleft().close()

    def _watch_log(self, mutants: list[Mutant]) -> None:
        said = self._log.read()
        if b"Traceback" in said and len(self.bugs) < 10:
            frames = "\n".join(mutant.data.hex() for mutant in mutants)
            self.bugs.append(f"{said.decode(errors='replace')}\nafter:\n{frames}")

    def tidy_up(self) -> None:
        """Clear away what mutants have made, put back what they have deleted, learn the new ids."""
        with RawClient(self._broker.bootstrap, timeout_s=30) as client:
            self._delete_the_unknown(client)
            client.call(create_topic(PLAIN, 2), CreateTopicsResponse, 7)
            compacted = create_topic(COMPACTED, 1, cleanup_policy="compact")
            client.call(compacted, CreateTopicsResponse, 7)
            stamped = create_topic(STAMPED, 1, message_timestamp_type="LogAppendTime")
            client.call(stamped, CreateTopicsResponse, 7)
            answer = client.call(MetadataRequest(topics=None), MetadataResponse, 12)
            self._around.topic_ids = [
                topic.topic_id for topic in answer.topics if topic.name in self._around.topics
            ]
            self._around.member_ids = [_join(client, group) for group in GROUPS]
            found = client.call(InitProducerIdRequest(), InitProducerIdResponse, 4)
            self._around.producer_ids = [found.producer_id]
            self._around.transactions = [_transaction(client, name) for name in TRANSACTIONS]

    def _delete_the_unknown(self, client: RawClient) -> None:
        answer = client.call(MetadataRequest(topics=None), MetadataResponse, 12)
        unknown = [
            DeleteTopicState(name=topic.name) for topic in answer.topics if topic.name not in _KEPT
        ]
        client.call(DeleteTopicsRequest(topics=unknown), DeleteTopicsResponse, 6)
        groups = client.call(ListGroupsRequest(), ListGroupsResponse, 3).groups
        names = [group.group_id for group in groups]
        client.call(DeleteGroupsRequest(groups_names=names), DeleteGroupsResponse, 2)


def _transaction(client: RawClient, name: str) -> Transaction:
    """Who may write under this name from now on; what was open under it is aborted."""
    request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
    found = client.call(request, InitProducerIdResponse, 4)
    return Transaction(name, found.producer_id, found.producer_epoch)


def _join(client: RawClient, group: str) -> str:
    """A member id that the group knows, whether or not the join completes."""
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=6000,
        rebalance_timeout_ms=100,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    return client.call(request, JoinGroupResponse, 4).member_id


class _GoodClient:
    """A producer and a consumer that have nothing to do with all this."""

    def __init__(self, broker: BrokerProcess) -> None:
        quiet = {"bootstrap.servers": broker.bootstrap, "log_level": 0}
        with RawClient(broker.bootstrap) as client:
            client.call(create_topic(GOOD, 1), CreateTopicsResponse, 7)
        self._producer = Producer({**quiet, "acks": "all", "linger.ms": 0})
        self._consumer = Consumer({**quiet, "group.id": "good", "enable.auto.commit": False})
        self._consumer.assign([TopicPartition(GOOD, 0, 0)])

    def round_trip(self) -> None:
        value = uuid.uuid4().bytes
        self._producer.produce(GOOD, value)
        assert self._producer.flush(30) == 0
        message = self._consumer.poll(30)
        assert message is not None
        assert message.error() is None
        assert message.value() == value

    def close(self) -> None:
        self._consumer.close()
