"""kill -9 under load: idempotent producers go on through it, and no promise is broken.

Each round: load flows, the broker is killed, it starts again on the same directory and port, and
the whole log is read from the beginning and held against all that was ever acknowledged or read.
"""

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from tests.broker_process import BrokerProcess
from tests.crash.exactly_once import Contents, Message, Place, broken_promises, changed
from tests.crash.load import IMPATIENT, GroupReader, LoadProducer, message_of
from tests.wire.client import RawClient
from tests.wire.requests import create_topic

from kafkaesque.protocol.messages.create_topics import CreateTopicsResponse
from kafkaesque.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse

TOPIC = "killed"
GROUP = "survivors"
PARTITIONS = 4
PRODUCERS = 3
_NEW_PER_ROUND = 200

_SETTINGS = {
    # Small and often: rolls and checkpoints are under way when the kill comes.
    "log.segment.bytes": "65536",
    "log.flush.offset.checkpoint.interval.ms": "50",
}


@pytest.mark.timeout(120)
def test_five_kills_under_load_break_no_promise(tmp_path: Path) -> None:
    _run_rounds(tmp_path, rounds=5)


@pytest.mark.crash
@pytest.mark.timeout(3600)
def test_a_hundred_kills_under_load_break_no_promise(tmp_path: Path) -> None:
    _run_rounds(tmp_path, rounds=100)


def _run_rounds(tmp_path: Path, rounds: int) -> None:
    settings = [part for item in _SETTINGS.items() for part in ("--set", "=".join(item))]
    with BrokerProcess(tmp_path / "data", *settings) as broker:
        scene = _Scene(broker)
        for number in range(rounds):
            scene.play_round(random.Random(number))
        scene.finish()


class _Scene:
    """A broker, its clients, and what has been read so far."""

    def __init__(self, broker: BrokerProcess) -> None:
        self._broker = broker
        self._seen: Contents = {}
        with RawClient(broker.bootstrap) as client:
            client.call(create_topic(TOPIC, PARTITIONS), CreateTopicsResponse, 7)
        self._reader = GroupReader(broker.bootstrap, TOPIC, GROUP)
        self._producers = [
            LoadProducer(number, broker.bootstrap, TOPIC, PARTITIONS) for number in range(PRODUCERS)
        ]
        for thread in (self._reader, *self._producers):
            thread.start()

    def play_round(self, rng: random.Random) -> None:
        acknowledged, commits = len(self._acknowledged()), self._reader.acknowledged
        self._wait(lambda: len(self._acknowledged()) > acknowledged + _NEW_PER_ROUND)
        self._wait(lambda: self._reader.acknowledged > commits)
        time.sleep(rng.uniform(0, 0.3))
        self._broker.kill()
        known = self._acknowledged()
        self._broker.start()
        self._judge(known)

    def finish(self) -> None:
        for producer in self._producers:
            producer.finish()
        known = self._acknowledged()
        assert known.keys() == set().union(*(producer.sent for producer in self._producers))
        self._judge(known)
        self._reader.finish()

    def _judge(self, acknowledged: dict[Message, Place]) -> None:
        self._judge_commits()
        found = _read_all(self._broker.bootstrap)
        sent = set().union(*(producer.sent.copy() for producer in self._producers))
        undelivered = [line for producer in self._producers for line in producer.undelivered]
        problems = changed(self._seen, found) + broken_promises(sent, acknowledged, found)
        assert undelivered + problems[:20] == []
        assert "Traceback" not in self._broker.log
        self._seen = found

    def _judge_commits(self) -> None:
        with self._reader.paused, RawClient(self._broker.bootstrap) as client:
            request = OffsetFetchRequest(group_id=GROUP, topics=None)
            answer = client.call(request, OffsetFetchResponse, 5)
            found = {p.partition_index: p.committed_offset for p in answer.topics[0].partitions}
            assert self._reader.commits.broken_promises(found) == []

    def _acknowledged(self) -> dict[Message, Place]:
        return {
            m: at for producer in self._producers for m, at in producer.acknowledged.copy().items()
        }

    def _wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 30
        while not condition():
            for thread in (self._reader, *self._producers):
                thread.check()
            assert time.monotonic() < deadline, "the load does not go on"
            time.sleep(0.01)


def _read_all(bootstrap: str) -> dict[Place, Message]:
    """Every partition from its beginning to its end of the moment."""
    consumer = Consumer(
        {
            **IMPATIENT,
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(TOPIC, p, OFFSET_BEGINNING) for p in range(PARTITIONS)])
    found: dict[Place, Message] = {}
    ended: set[int] = set()
    deadline = time.monotonic() + 60
    while len(ended) < PARTITIONS:
        assert time.monotonic() < deadline, "the log cannot be read to its end"
        for message in consumer.consume(1000, timeout=0.2):
            if (error := message.error()) is None:
                place = Place(message.partition() or 0, message.offset() or 0)
                assert place not in found, f"{place} was delivered twice"
                found[place] = message_of(message.value() or b"")
            elif error.code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition() or 0)
            else:
                raise AssertionError(error)
    consumer.close()
    return found
