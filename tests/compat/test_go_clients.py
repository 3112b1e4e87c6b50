"""Sarama and segmentio's kafka-go beyond the table of test_matrix.py: idempotence, rebalances,
transactions. Every count is exact, or, where the client only promises once or more, complete.
"""

from collections import Counter

import pytest
from tests import foreign
from tests.compat import reference
from tests.compat.drivers import KAFKA_GO, SARAMA, ForeignClient, Line
from tests.compat.peer import Peer

pytestmark = [pytest.mark.compat, pytest.mark.timeout(300)]

PARTITIONS = 4
COUNT = 2000


@pytest.fixture
def topic(peer: Peer) -> str:
    """A topic with `COUNT` records, shared out evenly."""
    name = foreign.create_topic(peer.bootstrap, partitions=PARTITIONS)
    for partition in range(PARTITIONS):
        values = [f"{partition} {number}" for number in range(COUNT // PARTITIONS)]
        foreign.produce(peer.bootstrap, name, values, partition)
    return name


def test_saramas_idempotent_producer_writes_everything_once(peer: Peer) -> None:
    topic = foreign.create_topic(peer.bootstrap, partitions=PARTITIONS)
    sent = SARAMA.run(peer.bootstrap, "idempotent", topic=topic, count=COUNT)
    written = {(line["partition"], line["offset"]): b"%d" % n for n, line in enumerate(sent)}
    records = [foreign.read_all(peer.bootstrap, topic, number) for number in range(PARTITIONS)]
    assert sum(map(len, records)) == COUNT
    assert {(m.partition(), m.offset()): m.value() for part in records for m in part} == written


def test_saramas_members_take_over_and_read_everything_once(peer: Peer, topic: str) -> None:
    read = _rebalance(SARAMA, peer, topic)
    assert set(Counter((line["partition"], line["offset"]) for line in read).values()) == {1}


def test_kafka_gos_members_take_over_and_miss_nothing(peer: Peer, topic: str) -> None:
    _rebalance(KAFKA_GO, peer, topic)


def _rebalance(client: ForeignClient, peer: Peer, topic: str) -> list[Line]:
    group = foreign.name("group")
    read = client.run(peer.bootstrap, "rebalance", topic=topic, group=group, count=COUNT)
    values = {line["value"] for line in read}
    each = COUNT // PARTITIONS
    assert values == {f"{partition} {n}" for partition in range(PARTITIONS) for n in range(each)}
    assert {line["member"] for line in read} == {"first", "second"}
    ends = dict.fromkeys(range(PARTITIONS), each)
    assert reference.committed(peer.bootstrap, group, topic) == ends
    return read


def test_saramas_transactions_are_seen_whole_or_not_at_all(peer: Peer, topic: str) -> None:
    target, group = foreign.create_topic(peer.bootstrap), foreign.name("group")
    arguments = {"topic": topic, "target": target, "group": group, "count": 100}
    SARAMA.run(peer.bootstrap, "transactions", **arguments)
    committed = foreign.values(foreign.read_all(peer.bootstrap, target))
    assert committed == [b"%d true" % number for number in range(100)]
    assert foreign.watermarks(peer.bootstrap, target)[1] == 100 + 100 + 20
    assert reference.committed(peer.bootstrap, group, topic) == {0: 100}
