"""Compacted topics as clients see them: the values of a dict, whatever happens to broker and child.

The cleaner is real here, with its child process; only its patience is shorter.
"""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from tests import foreign, kafka_python
from tests.broker_process import BrokerProcess
from tests.in_process import InProcessBroker

from kafkaesque.records.batch import Record, assemble, new_batch, read_header

pytestmark = pytest.mark.slow

IMPATIENT = {
    "log.cleaner.backoff.ms": "200",
    "log.cleaner.niceness": "0",
    "log.flush.offset.checkpoint.interval.ms": "200",
}
COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1"}
Values = dict[bytes, bytes]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    settings = [f"--set={name}={value}" for name, value in IMPATIENT.items()]
    with BrokerProcess(tmp_path / "data", *settings) as process:
        yield process


def fill(bootstrap: str, topic: str, count: int, keys: int, values: Values) -> None:
    """Records of random keys, one in ten a tombstone; `values` is brought up to date."""
    random = Random(len(values))
    producer = Producer(
        {"bootstrap.servers": bootstrap, "log_level": 0, "linger.ms": 5, "compression.type": "lz4"}
    )
    for number in range(count):
        key = b"key-%d" % random.randrange(keys)
        value = b"value-%d" % number if random.random() < 0.9 else None
        while True:
            try:
                producer.produce(topic, value, key, partition=0)
                break
            except BufferError:
                producer.poll(0.05)
        if value is None:
            values.pop(key, None)
        else:
            values[key] = value
    assert producer.flush(60) == 0


def read(bootstrap: str, topic: str) -> tuple[Values, int]:
    """What a consumer holds after it has read all there is, and how many records that were."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "log_level": 0,
            "group.id": "reader",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    values, count = Values(), 0
    while True:
        for message in consumer.consume(10_000, 0.5):
            if message.error():
                consumer.close()
                return values, count
            count += 1
            key, value = message.key() or b"", message.value()
            if value is None:
                values.pop(key, None)
            else:
                values[key] = value


def is_compacted(broker: BrokerProcess, topic: str, size: int) -> bool:
    """Whether no more than so many bytes are left in its sealed segments."""
    try:
        return sum(path.stat().st_size for path in broker.segments(topic)[:-1]) < size
    except FileNotFoundError:
        return False


def test_three_hundred_thousand_records_come_to_the_values_of_a_dict(
    broker: BrokerProcess,
) -> None:
    config = {**COMPACTED, "segment.bytes": str(1 << 18)}
    topic = foreign.create_topic(broker.bootstrap, configs=config)
    expected: Values = {}
    fill(broker.bootstrap, topic, 300_000, 3000, expected)
    foreign.until(lambda: is_compacted(broker, topic, 200_000))
    values, count = read(broker.bootstrap, topic)
    assert values == expected
    assert count < 60_000
    assert foreign.watermarks(broker.bootstrap, topic) == (0, 300_000)
    broker.kill()
    broker.start()
    assert read(broker.bootstrap, topic)[0] == expected


def test_a_kill_during_compaction_takes_the_child_along_and_loses_nothing(
    broker: BrokerProcess,
) -> None:
    config = {**COMPACTED, "min.cleanable.dirty.ratio": "0", "segment.bytes": str(1 << 16)}
    topic = foreign.create_topic(broker.bootstrap, configs=config)
    expected: Values = {}
    for _ in range(3):
        child = None
        while child is None:
            fill(broker.bootstrap, topic, 20_000, 900, expected)
            child = _child_within(1.0, broker.pid)
        broker.kill()
        foreign.until(partial(_has_ended, child))
        broker.start()
        assert read(broker.bootstrap, topic)[0] == expected
    foreign.until(lambda: is_compacted(broker, topic, 100_000))
    assert read(broker.bootstrap, topic)[0] == expected


def _child_within(seconds: float, pid: int) -> int | None:
    """The process that compacts, should there be one so soon."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            return int(children[0])
    return None


def _has_ended(pid: int) -> bool:
    """Nobody may have taken its exit code yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("store", ["disk", "memory"])
def test_a_broker_in_a_thread_compacts_too(tmp_path: Path, store: str) -> None:
    data_dir = tmp_path / "data" if store == "disk" else None
    with InProcessBroker(data_dir, IMPATIENT) as broker:
        config = {**COMPACTED, "segment.bytes": str(1 << 16)}
        topic = foreign.create_topic(broker.bootstrap, configs=config)
        expected: Values = {}
        fill(broker.bootstrap, topic, 20_000, 300, expected)
        foreign.until(lambda: broker.server.broker.storage.cleaned_offsets)
        values, count = read(broker.bootstrap, topic)
        assert values == expected
        assert count < 20_000


def test_readers_step_over_batches_without_records(tmp_path: Path) -> None:
    """Compaction leaves them behind, and a fetch may get nothing else."""
    with InProcessBroker(tmp_path / "data") as broker:
        topic = foreign.create_topic(broker.bootstrap)
        partition = broker.server.broker.topics.named(topic).partition(0)

        async def append(count: int, is_empty: bool) -> None:
            base = partition.log.end_offset
            batch = new_batch(
                [Record(base + i, 1000, b"%d" % (base + i), b"v") for i in range(count)],
                base_offset=base,
            )
            if is_empty:
                batch = assemble(read_header(batch)._replace(count=0), b"")
            partition.log.roll()
            partition.log.append(batch, read_header(batch), 1000)
            if waiting := partition.flushed(partition.log.end_offset):
                await waiting

        for count, is_empty in ((3, False), (5, True), (5, True), (2, False), (4, True)):
            broker.call(append, count, is_empty)
        keys = [b"0", b"1", b"2", b"13", b"14"]
        values, _ = read(broker.bootstrap, topic)
        assert list(values) == keys
        consumer = kafka_python.KafkaConsumer(
            bootstrap_servers=broker.bootstrap, consumer_timeout_ms=20_000
        )
        name = kafka_python.TopicPartition(topic, 0)
        consumer.assign([name])
        consumer.seek_to_beginning(name)
        assert [next(consumer).key for _ in keys] == keys
        foreign.until(lambda: consumer.poll(100) or consumer.position(name) == 19)
        consumer.close()
