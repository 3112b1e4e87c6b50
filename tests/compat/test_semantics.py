"""Semantics that brokers get wrong: each point of the list is a named test with a foreign client.

The numbers are those of the list. Where a client hides what really comes over the wire, a raw
request beside it looks. With KAFKAESQUE_COMPAT_PEER=apache the same tests run against Apache Kafka,
and hold there too, but for 11 with producers from before KIP-890.
"""

import asyncio
import os
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioTopicPartition
from confluent_kafka import (
    OFFSET_END,
    OFFSET_INVALID,
    KafkaError,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import ConfigSource, OffsetSpec, ResourceType
from tests import foreign, group_state
from tests.compat.apache_kafka import ApacheKafka
from tests.compat.cooperative_member import CooperativeMember
from tests.compat.peer import Peer, running_peer
from tests.e2e.test_transactions import committed, read, send, transactional
from tests.kafka_python import KafkaConsumer, KafkaProducer, OffsetAndMetadata
from tests.kafka_python import TopicPartition as PythonTopicPartition
from tests.steady_writer import SteadyWriter
from tests.wire.client import RawClient
from tests.wire.requests import batch, fetch, produce
from tests.wire.transactional import (
    NEW,
    OLD,
    RawProducer,
    Versions,
    find_coordinator,
    patiently,
)

from kafkaesque.broker.server import wall_clock
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.fetch import FetchResponse
from kafkaesque.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kafkaesque.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkaesque.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from kafkaesque.protocol.messages.produce import ProduceResponse
from kafkaesque.records.batch import batches

TIMEOUT_S = foreign.TIMEOUT_S


@pytest.mark.slow
def test_01_a_consumer_that_seeks_into_a_batch_gets_exactly_the_right_record(peer: Peer) -> None:
    topic = foreign.create_topic(peer.bootstrap)
    assert foreign.produce(peer.bootstrap, topic, [f"{i}" for i in range(10)]) == [*range(10)]
    confluent = foreign.read(peer.bootstrap, topic, 5, offset=5)
    assert [message.offset() for message in confluent] == [5, 6, 7, 8, 9]
    assert foreign.values(confluent) == [b"5", b"6", b"7", b"8", b"9"]
    assert _seek_with_kafka_python(peer, topic, 7) == (7, b"7")
    assert asyncio.run(_seek_with_aiokafka(peer, topic, 9)) == (9, b"9")


def test_01_a_fetch_in_the_middle_of_a_batch_returns_the_whole_batch(peer: Peer) -> None:
    topic = foreign.create_topic(peer.bootstrap)
    foreign.produce(peer.bootstrap, topic, [f"{i}" for i in range(10)])
    with RawClient(peer.bootstrap) as client:
        response = client.call(fetch(topic, 0, 5), FetchResponse, 11)
    records = response.responses[0].partitions[0].records or b""
    assert [(header.base_offset, header.count) for _, header in batches(records)] == [(0, 10)]


def test_02_a_consumer_with_tiny_limits_still_gets_every_record(peer: Peer) -> None:
    topic = foreign.create_topic(peer.bootstrap, partitions=2)
    large = [os.urandom(100_000) for _ in range(3)]
    for partition in (0, 1):
        for value in large:
            foreign.produce(peer.bootstrap, topic, [value], partition)
    messages = foreign.read(
        peer.bootstrap,
        topic,
        3,
        fetch_message_max_bytes=1,
        fetch_max_bytes=1000,
        message_max_bytes=1000,
    )
    assert foreign.values(messages) == large
    assert _read_both_partitions_one_byte_at_a_time(peer, topic, 6) == {0: large, 1: large}


def test_02_only_the_first_batch_of_a_fetch_may_exceed_its_limit(peer: Peer) -> None:
    topic = foreign.create_topic(peer.bootstrap, partitions=2)
    for partition in (0, 1):
        for _ in range(2):
            foreign.produce(peer.bootstrap, topic, [b"x" * 5000], partition)
    request = fetch(topic, 0, 0)
    request.topics[0].partitions += fetch(topic, 1, 0).topics[0].partitions
    request.max_bytes = 1
    with RawClient(peer.bootstrap) as client:
        (answered,) = client.call(request, FetchResponse, 11).responses
    contents = [partition.records or b"" for partition in answered.partitions]
    found = [[header.count for _, header in batches(records)] for records in contents]
    assert sorted(found) == [[], [1]]


def test_03_offset_fetch_of_an_unknown_group_is_minus_one_without_error(peer: Peer) -> None:
    topic = foreign.create_topic(peer.bootstrap)
    found = foreign.committed(peer.bootstrap, foreign.name("unknown"), topic)
    assert (found.offset, found.error) == (OFFSET_INVALID, None)
    reader = KafkaConsumer(bootstrap_servers=peer.bootstrap, group_id=foreign.name("unknown"))
    assert reader.committed(PythonTopicPartition(topic, 0)) is None
    reader.close()
    assert group_state.commits(peer.bootstrap, foreign.name("unknown")) == {}


@pytest.mark.parametrize("version", range(1, 10))
def test_03_offset_fetch_of_an_unknown_group_in_every_version(peer: Peer, version: int) -> None:
    topic = foreign.create_topic(peer.bootstrap)
    with RawClient(peer.bootstrap) as client:
        request = _offset_fetch("no-such-group", topic, version)
        response = client.call(request, OffsetFetchResponse, version)
    group: Any = response.groups[0] if version >= 8 else response
    (partition,) = group.topics[0].partitions
    assert (group.error_code, partition.error_code) == (0, 0)
    assert (partition.committed_offset, partition.metadata) == (-1, "")


@pytest.mark.slow
def test_04_committed_readers_stop_at_the_first_open_transaction(peer: Peer) -> None:
    topic = foreign.create_topic(peer.bootstrap)
    foreign.produce(peer.bootstrap, topic, ["plain"])
    first, second = (transactional(peer.bootstrap, foreign.name("txn")) for _ in range(2))
    for producer, value in ((first, "aborted"), (second, "committed")):
        producer.begin_transaction()
        send(producer, topic, [value])
    second.commit_transaction(foreign.TIMEOUT_S)
    foreign.until(lambda: committed(peer.bootstrap, topic) == ["plain"])
    first.abort_transaction(foreign.TIMEOUT_S)
    foreign.until(lambda: committed(peer.bootstrap, topic) == ["plain", "committed"])
    everything = read(peer.bootstrap, topic, "read_uncommitted")
    assert everything == ["plain", "aborted", "committed"]


@pytest.mark.slow
@pytest.mark.parametrize("versions", [OLD, NEW], ids=["old", "new"])
def test_11_a_delayed_end_does_not_touch_the_next_transaction(
    peer: Peer, versions: Versions
) -> None:
    """It arrives over the connection that its producer has long given up."""
    if versions is OLD and isinstance(peer, ApacheKafka):
        pytest.skip("NOT HELD by Apache Kafka for producers from before KIP-890")
    topic = foreign.create_topic(peer.bootstrap)
    foreign.produce(peer.bootstrap, topic, ["plain"])
    with RawClient(peer.bootstrap) as lost, RawClient(peer.bootstrap) as current:
        producer = RawProducer(current, foreign.name("txn"), versions)
        find_coordinator(current, producer.transactional_id)
        assert patiently(producer.init) is ErrorCode.NONE
        delayed = producer.over(lost)
        for value in (b"first", b"second"):
            if versions is OLD:
                assert patiently(lambda: producer.add(topic, 0)) is ErrorCode.NONE
            assert patiently(partial(_sent, producer, topic, value)) is ErrorCode.NONE
            if value == b"first":
                assert patiently(lambda: producer.end(commit=True)) is ErrorCode.NONE
        assert delayed.end(commit=True) is not ErrorCode.NONE or versions is NEW
        assert committed(peer.bootstrap, topic) == ["plain", "first"]
        assert patiently(lambda: producer.end(commit=False)) is ErrorCode.NONE
    assert committed(peer.bootstrap, topic) == ["plain", "first"]


def _sent(producer: RawProducer, topic: str, value: bytes) -> ErrorCode:
    return ErrorCode(producer.send(topic, 0, [value]).error_code)


@pytest.mark.slow
@pytest.mark.parametrize("together", [True, False], ids=["one batch", "a batch each"])
@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_05_list_offsets_finds_the_first_record_at_or_after_a_time(
    peer: Peer, together: bool, codec: str
) -> None:
    start = wall_clock() - 100_000
    topic = foreign.create_topic(peer.bootstrap)
    stamps = [start + after for after in (1000, 3000, 2000, 5000, 4000)]
    for part in [stamps] if together else [[stamp] for stamp in stamps]:
        values = ["v"] * len(part)
        foreign.produce(peer.bootstrap, topic, values, timestamps=part, compression_type=codec)
    asked = [0, start, start + 1000, start + 1001, start + 2000, start + 3001, start + 5000]
    found = [foreign.offset_at(peer.bootstrap, topic, stamp) for stamp in asked]
    assert found == [0, 0, 0, 1, 1, 3, 3]
    assert foreign.offset_at(peer.bootstrap, topic, start + 5001) == OFFSET_END
    place = TopicPartition(topic, 0)
    asked_for = {place: OffsetSpec.max_timestamp()}
    latest = foreign.admin(peer.bootstrap).list_offsets(asked_for)[place].result(TIMEOUT_S)
    assert (latest.offset, latest.timestamp) == (3, start + 5000)


@pytest.mark.slow
def test_05_list_offsets_by_time_of_an_empty_partition(peer: Peer) -> None:
    topic = foreign.create_topic(peer.bootstrap)
    assert foreign.offset_at(peer.bootstrap, topic, 0) == OFFSET_END
    place = TopicPartition(topic, 0)
    asked_for = {place: OffsetSpec.max_timestamp()}
    latest = foreign.admin(peer.bootstrap).list_offsets(asked_for)[place].result(TIMEOUT_S)
    assert (latest.offset, latest.timestamp) == (-1, -1)


def test_06_the_metadata_of_a_commit_comes_back(peer: Peer) -> None:
    topic, group = foreign.create_topic(peer.bootstrap, partitions=2), foreign.name("group")
    noted = TopicPartition(topic, 0, 7, metadata="wo ich wär")
    foreign.commit(peer.bootstrap, group, noted, TopicPartition(topic, 1, 9))
    found = foreign.committed(peer.bootstrap, group, topic)
    assert (found.offset, found.metadata) == (7, "wo ich wär")
    assert foreign.committed(peer.bootstrap, group, topic, 1).metadata in (None, "")
    reader = KafkaConsumer(bootstrap_servers=peer.bootstrap, group_id=group)
    place = PythonTopicPartition(topic, 0)
    reader.commit({place: OffsetAndMetadata(8, "and now here", -1)})
    assert reader.committed(place, metadata=True).metadata == "and now here"
    reader.close()
    # Not by confluent-kafka: it reads on to the next zero byte, which it writes itself, and others
    # do not.
    commits = group_state.commits(peer.bootstrap, group)
    notes = {place.partition: each.metadata for place, each in commits.items()}
    assert notes[0] == "and now here"


def test_06_a_commit_is_seen_by_whoever_asks_after_it_on_the_same_connection(peer: Peer) -> None:
    topic, group = foreign.create_topic(peer.bootstrap), foreign.name("group")
    reader = foreign.consumer(peer.bootstrap, group)
    place = TopicPartition(topic, 0)
    reader.committed([place], TIMEOUT_S)
    for offset in range(1, 30):
        reader.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=True)
        assert reader.committed([place], TIMEOUT_S)[0].offset == offset
    reader.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retention.ms", "soon"),
        ("cleanup.policy", "shred"),
        ("segment.bytes", "-1"),
        ("min.insync.replicas", "0"),
        ("no.such.setting", "1"),
    ],
)
def test_07_a_topic_with_a_bad_config_is_refused(peer: Peer, name: str, value: str) -> None:
    topic = foreign.name("refused")
    code = foreign.refusal(foreign.create_topic, peer.bootstrap, topic, configs={name: value})
    assert code == KafkaError.INVALID_CONFIG
    assert topic not in foreign.admin(peer.bootstrap).list_topics(timeout=TIMEOUT_S).topics


@pytest.mark.parametrize("topic", [".", "..", "a b", "a/b", "ä", "a,b", "a" * 250, "a\nb"])
def test_08_an_invalid_topic_name_is_refused(peer: Peer, topic: str) -> None:
    code = foreign.refusal(foreign.create_topic, peer.bootstrap, topic)
    assert code == KafkaError.TOPIC_EXCEPTION
    if "\n" not in topic:
        listed = foreign.admin(peer.bootstrap).list_topics(topic, timeout=TIMEOUT_S).topics[topic]
        assert listed.error is not None
        assert listed.error.code() == KafkaError.TOPIC_EXCEPTION


def test_08_the_longest_name_and_every_legal_character_are_accepted(peer: Peer) -> None:
    for topic in ("a" * 249, foreign.name("Az09._-")):
        assert foreign.create_topic(peer.bootstrap, topic) == topic
    collides = foreign.name("a.b")
    foreign.create_topic(peer.bootstrap, collides)
    code = foreign.refusal(foreign.create_topic, peer.bootstrap, collides.replace(".", "_"))
    assert code == KafkaError.TOPIC_EXCEPTION


@pytest.mark.slow
def test_09_cooperative_rebalancing_moves_only_what_has_to_move(peer: Peer) -> None:
    topic, group = foreign.create_topic(peer.bootstrap, partitions=6), foreign.name("group")
    with CooperativeMember(peer.bootstrap, topic, group) as first:
        foreign.until(lambda: len(first.owned) == 6)
        with CooperativeMember(peer.bootstrap, topic, group) as second:
            foreign.until(lambda: len(first.owned) == 3 and len(second.owned) == 3)
            moved = set(second.owned)
            assert first.owned | moved == set(range(6))
            assert first.history == [("assigned", set(range(6))), ("revoked", moved)]
            assert second.history == [("assigned", moved)]
        foreign.until(lambda: len(first.owned) == 6)
        assert first.history[2:] == [("assigned", moved)]


@pytest.mark.slow
def test_09_the_partitions_that_stay_are_read_while_the_others_move(peer: Peer) -> None:
    topic, group = foreign.create_topic(peer.bootstrap, partitions=2), foreign.name("group")
    with CooperativeMember(peer.bootstrap, topic, group) as first:
        foreign.until(lambda: len(first.owned) == 2)
        with CooperativeMember(peer.bootstrap, topic, group) as second:
            while not second.owned:
                foreign.produce(peer.bootstrap, topic, ["x"], 0)
                foreign.produce(peer.bootstrap, topic, ["x"], 1)
            (stayed,) = first.owned
            written = foreign.watermarks(peer.bootstrap, topic, stayed)[1]
            foreign.until(lambda: first.read.get(stayed) == written)
            assert stayed not in second.read


def test_10_deleting_a_topic_deletes_its_committed_offsets(peer: Peer) -> None:
    topic, other = foreign.create_topic(peer.bootstrap), foreign.create_topic(peer.bootstrap)
    group = foreign.name("group")
    foreign.produce(peer.bootstrap, topic, ["a", "b", "c"])
    foreign.commit(peer.bootstrap, group, TopicPartition(topic, 0, 2), TopicPartition(other, 0, 5))
    foreign.delete_topic(peer.bootstrap, topic)
    foreign.create_topic(peer.bootstrap, topic)
    assert foreign.committed(peer.bootstrap, group, topic).offset == OFFSET_INVALID
    assert foreign.committed(peer.bootstrap, group, other).offset == 5
    assert foreign.watermarks(peer.bootstrap, topic) == (0, 0)


@pytest.mark.slow
def test_12_nothing_acknowledged_is_lost_and_no_offset_changes_under_pause_and_kill(
    tmp_path: Path,
) -> None:
    with running_peer(tmp_path / "data") as peer:
        topic = foreign.create_topic(peer.bootstrap)
        with SteadyWriter(peer.bootstrap, topic) as writer:
            for _ in range(2):
                writer.wait_for(300)
                os.kill(peer.pid, signal.SIGSTOP)
                time.sleep(0.5)
                os.kill(peer.pid, signal.SIGCONT)
                writer.wait_for(300)
                seen = foreign.read(peer.bootstrap, topic, 300)
                peer.kill()
                peer.start()
                before = [(message.offset(), message.value()) for message in seen]
                again = foreign.read(peer.bootstrap, topic, 300)
                assert [(message.offset(), message.value()) for message in again] == before
        acknowledged = writer.acknowledged
        there = foreign.values(foreign.read(peer.bootstrap, topic, len(acknowledged)))
        assert foreign.watermarks(peer.bootstrap, topic) == (0, len(there))
        assert {offset: there[offset] for offset in acknowledged} == acknowledged
        assert there == [b"%d" % i for i in range(len(there))]


def test_13_a_producer_with_acks_0_and_metadata_requests_on_one_connection(peer: Peer) -> None:
    topic = foreign.create_topic(peer.bootstrap)
    producer = Producer(
        {"bootstrap.servers": peer.bootstrap, "log_level": 0, "acks": 0, "linger.ms": 0}
    )
    for i in range(200):
        producer.produce(topic, b"%d" % i)
        if i % 10 == 0:
            producer.poll(0)
            assert topic in producer.list_topics(timeout=TIMEOUT_S).topics
    assert producer.flush(TIMEOUT_S) == 0
    expected = [b"%d" % i for i in range(200)]
    assert foreign.values(foreign.read(peer.bootstrap, topic, 200)) == expected
    python = KafkaProducer(
        bootstrap_servers=peer.bootstrap, acks=0, enable_idempotence=False, retries=0
    )
    python.send(topic, b"and one of kafka-python").get(TIMEOUT_S)
    assert python.partitions_for(topic) == {0}
    python.close()
    (last,) = foreign.read(peer.bootstrap, topic, 1, offset=200)
    assert last.value() == b"and one of kafka-python"


def test_13_acks_0_gets_no_response_and_keeps_the_order_of_the_others(peer: Peer) -> None:
    topic = foreign.create_topic(peer.bootstrap)
    listed = ListOffsetsRequest(
        topics=[
            ListOffsetsTopic(
                name=topic, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-2)]
            )
        ]
    )
    unanswered = produce(topic, 0, batch([b"quiet"], timestamp=wall_clock()), acks=0)
    acknowledged = produce(topic, 0, batch([b"loud"], timestamp=wall_clock()))
    with RawClient(peer.bootstrap) as client:
        for _ in range(5):
            client.send(unanswered, 9)
            client.send(MetadataRequest(topics=None), 9)
            client.send(acknowledged, 9)
            client.send(unanswered, 9)
            client.send(listed, 5)
        answered = [type(client.receive()) for _ in range(15)]
    assert answered == [MetadataResponse, ProduceResponse, ListOffsetsResponse] * 5
    expected = [b"quiet", b"loud", b"quiet"] * 5
    assert foreign.values(foreign.read(peer.bootstrap, topic, 15)) == expected


def test_14_describe_configs_tells_the_real_values_and_where_they_come_from(peer: Peer) -> None:
    overrides = {"cleanup.policy": "compact", "retention.ms": "1234567", "segment.bytes": "1048577"}
    topic = foreign.create_topic(peer.bootstrap, configs=overrides)
    found = foreign.topic_configs(peer.bootstrap, topic)
    for name, value in overrides.items():
        assert found[name].value == value
        assert ConfigSource(found[name].source) is ConfigSource.DYNAMIC_TOPIC_CONFIG
    plain = foreign.topic_configs(peer.bootstrap, foreign.create_topic(peer.bootstrap))
    assert (plain["cleanup.policy"].value, plain["cleanup.policy"].is_default) == ("delete", True)
    assert plain["max.message.bytes"].value == "1048588"
    assert plain["compression.type"].value == "producer"
    assert plain["min.insync.replicas"].value == "1"
    assert plain["message.timestamp.type"].value == "CreateTime"
    offsets = foreign.topic_configs(peer.bootstrap, "__consumer_offsets")
    assert offsets["cleanup.policy"].value == "compact"
    (node_id,) = foreign.admin(peer.bootstrap).list_topics(timeout=20).brokers
    node = foreign.configs(peer.bootstrap, ResourceType.BROKER, str(node_id))
    assert node["log.retention.bytes"].value == "-1"


def _seek_with_kafka_python(peer: Peer, topic: str, offset: int) -> tuple[int, bytes]:
    reader = KafkaConsumer(bootstrap_servers=peer.bootstrap, consumer_timeout_ms=20_000)
    place = PythonTopicPartition(topic, 0)
    reader.assign([place])
    reader.seek(place, offset)
    record = next(reader)
    reader.close()
    return record.offset, record.value


async def _seek_with_aiokafka(peer: Peer, topic: str, offset: int) -> tuple[int, bytes]:
    async with AIOKafkaConsumer(bootstrap_servers=peer.bootstrap) as reader:
        place = AioTopicPartition(topic, 0)
        reader.assign([place])
        reader.seek(place, offset)
        record = await asyncio.wait_for(reader.getone(), TIMEOUT_S)
        return record.offset, record.value


def _read_both_partitions_one_byte_at_a_time(
    peer: Peer, topic: str, count: int
) -> dict[int, list[bytes]]:
    reader = KafkaConsumer(
        bootstrap_servers=peer.bootstrap,
        auto_offset_reset="earliest",
        fetch_max_bytes=1,
        max_partition_fetch_bytes=1,
        consumer_timeout_ms=20_000,
    )
    reader.assign([PythonTopicPartition(topic, 0), PythonTopicPartition(topic, 1)])
    found: dict[int, list[bytes]] = {0: [], 1: []}
    for _ in range(count):
        record = next(reader)
        found[record.partition].append(record.value)
    reader.close()
    return found


def _offset_fetch(group: str, topic: str, version: int) -> OffsetFetchRequest:
    if version >= 8:
        topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=[0])]
        return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)])
    return OffsetFetchRequest(
        group_id=group, topics=[OffsetFetchRequestTopic(name=topic, partition_indexes=[0])]
    )
