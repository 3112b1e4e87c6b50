"""Whose clock stamps a record, which topic an id means, and that a repeated batch is written once.

Beside the numbered list of test_semantics.py, and like it with foreign clients.
"""

import json
import os
import signal
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, Message, Producer
from tests import foreign
from tests.compat.peer import Peer
from tests.in_process import InProcessBroker
from tests.kafka_python import KafkaAdminClient, KafkaProducer
from tests.wire.client import RawClient
from tests.wire.requests import batch, produce, produce_answer

from kafkaesque.broker.server import wall_clock
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafkaesque.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkaesque.protocol.messages.produce import ProduceResponse

pytestmark = pytest.mark.slow

TIMEOUT_S = foreign.TIMEOUT_S
HOUR_MS = 3_600_000


def test_create_time_is_kept_as_the_producer_gave_it(peer: Peer) -> None:
    topic = foreign.create_topic(peer.bootstrap)
    now = wall_clock()
    stamps = [now - HOUR_MS, now, now - 5, now - 2 * HOUR_MS]
    foreign.produce(peer.bootstrap, topic, ["v"] * 4, timestamps=stamps)
    messages = foreign.read(peer.bootstrap, topic, 4)
    expected = [(TIMESTAMP_CREATE_TIME, stamp) for stamp in stamps]
    assert [message.timestamp() for message in messages] == expected


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_log_append_time_is_the_brokers_whatever_the_producer_says(peer: Peer, codec: str) -> None:
    configs = {"message.timestamp.type": "LogAppendTime"}
    topic = foreign.create_topic(peer.bootstrap, configs=configs)
    before = wall_clock()
    values, stamps_given = ["v" * 100] * 3, [1, 2, 3]
    foreign.produce(peer.bootstrap, topic, values, timestamps=stamps_given, compression_type=codec)
    stamps = [message.timestamp() for message in foreign.read(peer.bootstrap, topic, 3)]
    assert {kind for kind, _ in stamps} == {TIMESTAMP_LOG_APPEND_TIME}
    assert before <= stamps[0][1] <= wall_clock()
    assert len({stamp for _, stamp in stamps}) == 1


def test_log_append_time_never_decreases_when_the_clock_jumps_back(tmp_path: Any) -> None:
    now = [1_800_000_000_000]
    configs = {"message.timestamp.type": "LogAppendTime"}
    with InProcessBroker(tmp_path / "data", clock=lambda: now[0]) as broker:
        topic = foreign.create_topic(broker.bootstrap, configs=configs)
        stamps = [_append_time(broker.bootstrap, topic, now, jump) for jump in (0, 50, -HOUR_MS)]
    with InProcessBroker(tmp_path / "data", clock=lambda: now[0]) as broker:
        stamps += [_append_time(broker.bootstrap, topic, now, jump) for jump in (-1, 2 * HOUR_MS)]
        messages = foreign.read(broker.bootstrap, topic, 5)
    start = 1_800_000_000_000
    assert stamps == [start, start + 50, start + 50, start + 50, start + HOUR_MS + 49]
    assert [message.timestamp()[1] for message in messages] == stamps


def test_a_topic_that_is_created_again_has_another_id(peer: Peer) -> None:
    topic = foreign.create_topic(peer.bootstrap)
    first = _topic_id(peer, topic)
    foreign.produce(peer.bootstrap, topic, ["old"])
    foreign.delete_topic(peer.bootstrap, topic)
    foreign.create_topic(peer.bootstrap, topic)
    second = _topic_id(peer, topic)
    assert first != second
    assert UUID(int=0) not in (first, second)
    assert _fetch_by_id(peer, first) == ErrorCode.UNKNOWN_TOPIC_ID
    assert _fetch_by_id(peer, second) == ErrorCode.NONE


def test_a_producer_that_repeats_what_was_written_gets_the_original_offsets(peer: Peer) -> None:
    """The broker stands still until the client gives up and asks again on a new connection: it then
    finds both requests.
    """
    topic = foreign.create_topic(peer.bootstrap)
    timeouts = [0]
    offsets: dict[bytes, int] = {}
    producer = Producer(
        {
            "bootstrap.servers": peer.bootstrap,
            "enable.idempotence": True,
            "linger.ms": 0,
            "request.timeout.ms": 300,
            "socket.timeout.ms": 300,
            "reconnect.backoff.ms": 10,
            "metadata.recovery.strategy": "none",
            "statistics.interval.ms": 50,
            "stats_cb": lambda stats: timeouts.append(_timeouts(stats)),
            "log_level": 0,
        }
    )

    def delivered(error: Any, message: Message) -> None:
        assert error is None
        offsets[message.value() or b""] = message.offset() or 0

    producer.produce(topic, b"first", partition=0, on_delivery=delivered)
    assert producer.flush(TIMEOUT_S) == 0
    os.kill(peer.pid, signal.SIGSTOP)
    try:
        for number in range(5):
            producer.produce(topic, b"%d" % number, partition=0, on_delivery=delivered)
        foreign.until(lambda: [producer.poll(0.05), max(timeouts)][1])
    finally:
        os.kill(peer.pid, signal.SIGCONT)
    assert producer.flush(TIMEOUT_S) == 0
    expected = [b"first", *(b"%d" % number for number in range(5))]
    assert foreign.values(foreign.read(peer.bootstrap, topic, 6)) == expected
    assert foreign.watermarks(peer.bootstrap, topic) == (0, 6)
    assert offsets == {value: offset for offset, value in enumerate(expected)}


def test_a_repeated_batch_is_answered_with_its_original_offset(peer: Peer) -> None:
    topic = foreign.create_topic(peer.bootstrap)
    with RawClient(peer.bootstrap) as client:
        producer_id = client.call(InitProducerIdRequest(), InitProducerIdResponse, 4).producer_id

        def send(sequence: int, epoch: int = 0) -> tuple[int, int]:
            producer = (producer_id, epoch, sequence)
            records = batch([b"a", b"b"], timestamp=wall_clock(), producer=producer)
            answer = produce_answer(client.call(produce(topic, 0, records), ProduceResponse, 9))
            return answer.error_code, answer.base_offset

        assert [send(sequence) for sequence in (0, 2, 4, 6, 8)] == [
            (0, offset) for offset in (0, 2, 4, 6, 8)
        ]
        assert [send(sequence) for sequence in (0, 4, 8)] == [(0, 0), (0, 4), (0, 8)]
        assert send(12) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
        assert send(10) == (0, 10)
        assert send(5, epoch=1) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
        assert send(0, epoch=1) == (0, 12)
        assert send(12, epoch=0) == (ErrorCode.INVALID_PRODUCER_EPOCH, -1)
    assert foreign.watermarks(peer.bootstrap, topic) == (0, 14)


def test_murmur2_partitioners_agree_on_where_a_key_goes(peer: Peer) -> None:
    topic = foreign.create_topic(peer.bootstrap, partitions=3)
    python = KafkaProducer(bootstrap_servers=peer.bootstrap)
    assert python.send(topic, key=b"key1", value=b"v").get(TIMEOUT_S).partition == 2
    python.close()
    placed: list[int | None] = []
    settings = {
        "bootstrap.servers": peer.bootstrap,
        "log_level": 0,
        "partitioner": "murmur2_random",
    }
    confluent = Producer(settings)
    confluent.produce(
        topic,
        key="key1",
        value="v",
        on_delivery=lambda _, message: placed.append(message.partition()),
    )
    confluent.flush(TIMEOUT_S)
    assert placed == [2]


def _append_time(bootstrap: str, topic: str, now: list[int], jump: int) -> int:
    """Let the clock jump, append a record, and say what the producer is told of its time."""
    now[0] += jump
    python = KafkaProducer(bootstrap_servers=bootstrap)
    timestamp: int = python.send(topic, b"v", partition=0).get(TIMEOUT_S).timestamp
    python.close()
    return timestamp


def _topic_id(peer: Peer, topic: str) -> UUID:
    python = KafkaAdminClient(bootstrap_servers=peer.bootstrap)
    (described,) = python.describe_topics([topic])
    python.close()
    return UUID(str(described["topic_id"]))


def _fetch_by_id(peer: Peer, topic_id: UUID) -> int:
    wanted = FetchTopic(topic_id=topic_id, partitions=[FetchPartition(partition_max_bytes=1000)])
    with RawClient(peer.bootstrap) as client:
        answer = client.call(FetchRequest(topics=[wanted]), FetchResponse, 13)
    return answer.responses[0].partitions[0].error_code


def _timeouts(stats: str) -> int:
    return sum(broker["req_timeouts"] for broker in json.loads(stats)["brokers"].values())
