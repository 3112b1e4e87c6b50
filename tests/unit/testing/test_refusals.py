"""What a refused request is answered: the error in each place, in every API, version and code."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.crash.valid_requests import CASES, COMPACTED, PLAIN, STAMPED, Surroundings, valid_request
from tests.unit.testing.surroundings import broker_with, context

from kafkaesque.broker.broker import Broker
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.codec import decode, encode
from kafkaesque.protocol.messages import MESSAGES
from kafkaesque.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kafkaesque.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkaesque.protocol.messages.join_group import JoinGroupRequest
from kafkaesque.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkaesque.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkaesque.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from kafkaesque.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkaesque.protocol.schema import Primitive, schema_of
from kafkaesque.testing.refusals import refusal, refuses_parts, says
from kafkaesque.testing.subjects import split

CODES = [code for code in ErrorCode if code is not ErrorCode.NONE]
LISTS = (
    "topic_data",
    "topics",
    "topic_names",
    "resources",
    "groups",
    "groups_names",
    "members",
    "v3_and_below_topics",
    "transactions",
    "markers",
    "transactional_ids",
    "creations",
    "filters",
    "dirs",
    "topic_partitions",
)
PARTITION_FIELDS = {
    "index",
    "partition",
    "partition_index",
    "partition_indexes",
    "AddPartitionsToTxnTopic.partitions",
    "TopicPartitions.partitions",
    "PartitionResult.partition_id",
    "AlterReplicaLogDirTopic.partitions",
}
INNER_LISTS = ("partition_data", "partitions", "partition_indexes", "topics")


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with broker_with(PLAIN, COMPACTED, STAMPED) as found:
        yield found


@pytest.mark.parametrize(("key", "version"), CASES)
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32), code=st.sampled_from(CODES))
def test_every_api_can_say_every_error_in_every_version(
    broker: Broker, key: int, version: int, seed: int, code: ErrorCode
) -> None:
    around = context(broker, key, version)
    request = valid_request(random.Random(seed), key, version, Surroundings())
    meant, _ = split(around, request, None)
    response = refusal(around, meant, code)
    sent = b"".join(encode(response, version))
    received: Any = decode(MESSAGES[key].response, version, sent)
    assert says(received, version, code) == says(response, version, code)
    if refuses_parts(around, code):
        assert says(received, version, code) or not _has_a_place(meant)
        assert _partitions(received) in ([], _partitions(meant))
    else:
        assert says(received, version, code) or not _has_a_top(key, version)


def test_a_refused_produce_names_each_partition(broker: Broker) -> None:
    data = [PartitionProduceData(index=index, records=b"x") for index in (0, 2)]
    request = ProduceRequest(acks=1, topic_data=[TopicProduceData(name="t", partition_data=data)])
    response = refusal(context(broker, 0, 9), request, ErrorCode.NOT_ENOUGH_REPLICAS)
    (topic,) = response.responses
    assert topic.name == "t"
    assert [(p.index, p.error_code, p.base_offset) for p in topic.partition_responses] == [
        (0, ErrorCode.NOT_ENOUGH_REPLICAS, -1),
        (2, ErrorCode.NOT_ENOUGH_REPLICAS, -1),
    ]


def test_a_refused_fetch_repeats_no_offset_of_the_request(broker: Broker) -> None:
    wanted = FetchPartition(partition=1, fetch_offset=7, log_start_offset=3, high_watermark=9)
    request = FetchRequest(topics=[FetchTopic(topic="t", partitions=[wanted])])
    response = refusal(context(broker, 1, 11), request, ErrorCode.OFFSET_OUT_OF_RANGE)
    (partition,) = response.responses[0].partitions
    assert (partition.partition_index, partition.error_code) == (1, ErrorCode.OFFSET_OUT_OF_RANGE)
    assert (partition.high_watermark, partition.log_start_offset) == (-1, -1)


def test_a_topic_that_is_known_by_its_id_is_refused_by_its_id(broker: Broker) -> None:
    topic_id = broker.topics.named(PLAIN).id
    request = FetchRequest(topics=[FetchTopic(topic_id=topic_id, partitions=[FetchPartition()])])
    response = refusal(context(broker, 1, 13), request, ErrorCode.UNKNOWN_TOPIC_ID)
    assert [topic.topic_id for topic in response.responses] == [topic_id]


def test_an_error_of_the_session_refuses_the_fetch_as_a_whole(broker: Broker) -> None:
    request = FetchRequest(topics=[FetchTopic(topic="t", partitions=[FetchPartition()])])
    code = ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    response = refusal(context(broker, 1, 11), request, code)
    assert (response.error_code, response.responses) == (code, [])


def test_refused_metadata_still_tells_where_the_broker_is(broker: Broker) -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    response = refusal(context(broker, 3, 9), request, ErrorCode.LEADER_NOT_AVAILABLE)
    assert [(b.host, b.port) for b in response.brokers] == [("127.0.0.1", 9092)]
    assert [(t.name, t.error_code) for t in response.topics] == [
        ("t", ErrorCode.LEADER_NOT_AVAILABLE)
    ]


def test_metadata_about_all_topics_is_refused_for_each_that_there_is(broker: Broker) -> None:
    around = context(broker, 3, 9)
    meant, _ = split(around, MetadataRequest(topics=None), None)
    response = refusal(around, meant, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert {topic.name for topic in response.topics} == {PLAIN, COMPACTED, STAMPED}


@pytest.mark.parametrize("version", [7, 8])
def test_a_group_or_its_partitions_are_refused_as_the_code_says(
    broker: Broker, version: int
) -> None:
    topics: list[Any] = [OffsetFetchRequestTopics(name="t", partition_indexes=[4])]
    groups = [OffsetFetchRequestGroup(group_id="g", topics=topics)]
    request = OffsetFetchRequest(group_id="g", topics=topics, groups=groups)
    around = context(broker, 9, version)
    whole = refusal(around, request, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    part = refusal(around, request, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    whole_group, part_group = (r.groups[0] if version == 8 else r for r in (whole, part))
    assert (whole_group.error_code, whole_group.topics) == (
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        [],
    )
    assert part_group.error_code == ErrorCode.NONE
    (offset,) = part_group.topics[0].partitions
    assert (offset.partition_index, offset.committed_offset) == (4, -1)
    assert offset.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_a_refused_move_to_other_directories_names_each_partition(broker: Broker) -> None:
    topics = [AlterReplicaLogDirTopic(name="t", partitions=[0, 2])]
    directories = [AlterReplicaLogDir(path=path, topics=topics) for path in ("a", "b")]
    request = AlterReplicaLogDirsRequest(dirs=directories)
    response = refusal(context(broker, 34, 2), request, ErrorCode.KAFKA_STORAGE_ERROR)
    told = [(r.topic_name, p.partition_index) for r in response.results for p in r.partitions]
    assert told == [("t", 0), ("t", 2)] * 2


def test_a_member_that_is_unknown_is_refused_by_itself(broker: Broker) -> None:
    request = LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="m")])
    response = refusal(context(broker, 13, 3), request, ErrorCode.UNKNOWN_MEMBER_ID)
    assert response.error_code == ErrorCode.NONE
    assert [(m.member_id, m.error_code) for m in response.members] == [
        ("m", ErrorCode.UNKNOWN_MEMBER_ID)
    ]


def test_a_refused_join_keeps_the_member_id(broker: Broker) -> None:
    request = JoinGroupRequest(group_id="g", member_id="m")
    response = refusal(context(broker, 11, 5), request, ErrorCode.REBALANCE_IN_PROGRESS)
    assert (response.member_id, response.error_code) == ("m", ErrorCode.REBALANCE_IN_PROGRESS)


def _has_a_top(key: int, version: int) -> bool:
    fields = schema_of(MESSAGES[key].response).fields
    return any(f.name in ("error_code", "results") and f.exists_in(version) for f in fields)


def _partitions(message: Any) -> list[int]:
    """The partitions that a message names, in order."""
    found: list[int] = []
    for field in schema_of(type(message)).fields:
        value = getattr(message, field.name)
        names = (field.name, f"{type(message).__name__}.{field.name}")
        if not PARTITION_FIELDS.isdisjoint(names):
            found += value if field.is_array else [value]
        elif not isinstance(field.type, Primitive):
            for part in (value if field.is_array else [value]) or ():
                found += _partitions(part) if part is not None else []
    return found


def _has_a_place(request: Any) -> bool:
    """Whether the request names anything, down to the partitions if it goes so far."""
    parts = [part for name in LISTS for part in getattr(request, name, None) or ()]
    return any(_is_whole(part) for part in parts)


def _is_whole(part: Any) -> bool:
    inner = [getattr(part, name) for name in INNER_LISTS if hasattr(part, name)]
    return all(value and all(map(_is_whole, value)) for value in inner)
