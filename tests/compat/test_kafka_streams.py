"""Kafka Streams with exactly_once_v2: two instances, and the broker and an instance killed between.

Each value's counts must come as 1, 2, 3 …, none twice and none left out. With
KAFKAESQUE_COMPAT_PEER=apache the same runs on Apache Kafka.
"""

import struct
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests import foreign
from tests.compat.committed import CommittedReader
from tests.compat.java_programs import ecosystem_program
from tests.compat.peer import Peer
from tests.crash.copy_scene import CopierProcess

pytestmark = [pytest.mark.compat, pytest.mark.timeout(400)]

PARTITIONS = 4
VALUES = 10
PER_ROUND = 800
FLAGS = ("-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class Instances:
    """Two instances of the application; whichever has ended is started again when asked for."""

    def __init__(self, peer: Peer, place: Path) -> None:
        self.input = foreign.create_topic(peer.bootstrap, partitions=PARTITIONS)
        self.output = foreign.create_topic(peer.bootstrap, partitions=PARTITIONS)
        command = ecosystem_program("StreamsCounter", place / "classes", flags=FLAGS)
        command += [peer.bootstrap, self.input, self.output, "counter"]
        self.both = [
            CopierProcess([*command, str(place / f"state-{n}")], place / f"instance-{n}.err")
            for n in range(2)
        ]

    def ensure(self) -> None:
        for instance in self.both:
            instance.ensure()

    def end(self) -> None:
        for instance in self.both:
            instance.end()


@pytest.fixture
def instances(peer: Peer, tmp_path: Path) -> Iterator[Instances]:
    both = Instances(peer, tmp_path)
    yield both
    both.end()


def test_counts_are_exact_when_broker_and_instance_are_killed(
    peer: Peer, instances: Instances
) -> None:
    settings = {"enable.idempotence": True, "log_level": 0}
    producer = Producer({"bootstrap.servers": peer.bootstrap, **settings})
    reader = CommittedReader(peer.bootstrap, instances.output, PARTITIONS)
    strokes = (peer.kill, instances.both[0].kill, peer.kill, instances.both[1].kill)
    for number, strike in enumerate(strokes):
        _feed(producer, instances.input)
        reader.read_until(number * PER_ROUND + PER_ROUND // 3, instances.ensure)
        strike()
        if strike == peer.kill:
            peer.start()
    assert producer.flush(60) == 0
    reader.read_until(len(strokes) * PER_ROUND, instances.ensure)
    reader.rest()
    reader.close()
    counts = defaultdict(list)
    for value, count in reader.records:
        counts[value].append(struct.unpack(">q", count or b"")[0])
    expected = [*range(1, len(strokes) * PER_ROUND // VALUES + 1)]
    assert dict(counts) == {b"%d" % number: expected for number in range(VALUES)}


def _feed(producer: Producer, topic: str) -> None:
    for number in range(PER_ROUND):
        producer.produce(topic, key=f"{number}", value=f"{number % VALUES}")
    producer.poll(0)
