"""Topics and groups as administrators see them, with confluent-kafka and kafka-python.

Settings are in test_settings.py, what survives a restart in test_metadata.py.
"""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import NewPartitions, NewTopic
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.kafka_python import KafkaAdminClient, OffsetAndMetadata
from tests.kafka_python import TopicPartition as PythonTopicPartition
from tests.wire.client import RawClient

from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

TIMEOUT_S = foreign.TIMEOUT_S


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    data_dir = tmp_path_factory.mktemp("admin") / "data"
    with BrokerProcess(data_dir, "--set", "num.partitions=2") as process:
        yield process


@pytest.fixture
def python(broker: BrokerProcess) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    yield client
    client.close()


def test_topics_are_created_described_and_deleted_with_confluent(broker: BrokerProcess) -> None:
    topic = foreign.create_topic(broker.bootstrap, partitions=3)
    admin = foreign.admin(broker.bootstrap)
    described = admin.describe_topics(TopicCollection([topic]))[topic].result(TIMEOUT_S)
    assert [partition.id for partition in described.partitions] == [0, 1, 2]
    assert {partition.leader.id for partition in described.partitions} == {0}
    assert [node.id for node in described.partitions[0].isr] == [0]
    assert not described.is_internal
    assert foreign.refusal(foreign.create_topic, broker.bootstrap, topic) == (
        KafkaError.TOPIC_ALREADY_EXISTS
    )
    foreign.delete_topic(broker.bootstrap, topic)
    assert topic not in admin.list_topics(timeout=TIMEOUT_S).topics
    assert not list(broker.data_dir.glob(f"{topic}-*"))
    assert foreign.refusal(foreign.delete_topic, broker.bootstrap, topic) == (
        KafkaError.UNKNOWN_TOPIC_OR_PART
    )


def test_topics_are_created_described_and_deleted_with_kafka_python(
    broker: BrokerProcess, python: KafkaAdminClient
) -> None:
    topic, other = foreign.name("topic"), foreign.name("topic")
    created = python.create_topics({topic: {"num_partitions": 3, "replication_factor": 1}})
    assert created["topics"][0]["num_partitions"] == 3
    assert created["topics"][0]["configs"]["cleanup.policy"]["value"] == "delete"
    python.create_topics([other])
    by_name = {each["name"]: each for each in python.describe_topics([topic, other])}
    assert len(by_name[topic]["partitions"]) == 3
    assert len(by_name[other]["partitions"]) == 2
    assert {topic, other} <= set(python.list_topics())
    (described,) = python.describe_topic_partitions([topic])["topics"]
    assert [each["partition_index"] for each in described["partitions"]] == [0, 1, 2]
    python.delete_topics([topic, UUID(str(by_name[other]["topic_id"]))])
    assert {topic, other}.isdisjoint(python.list_topics())


def test_what_is_only_validated_is_not_created(broker: BrokerProcess) -> None:
    admin, topic = foreign.admin(broker.bootstrap), foreign.name("topic")
    asked = admin.create_topics([NewTopic(topic, 1, 1)], validate_only=True)
    assert asked[topic].result(TIMEOUT_S) is None
    bad = NewTopic(topic, 1, 1, config={"retention.ms": "soon"})
    asked = admin.create_topics([bad], validate_only=True)
    assert foreign.refusal(asked[topic].result, TIMEOUT_S) == KafkaError.INVALID_CONFIG
    assert topic not in admin.list_topics(timeout=TIMEOUT_S).topics


def test_a_replication_factor_above_one_is_taken_as_one(broker: BrokerProcess) -> None:
    admin, topic = foreign.admin(broker.bootstrap), foreign.name("topic")
    admin.create_topics([NewTopic(topic, 1, 3)])[topic].result(TIMEOUT_S)
    partition = admin.list_topics(topic, TIMEOUT_S).topics[topic].partitions[0]
    assert partition.replicas == [0]


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (CreatableTopic(name="t", num_partitions=0, replication_factor=1), "INVALID_PARTITIONS"),
        (CreatableTopic(name="t", num_partitions=-2, replication_factor=1), "INVALID_PARTITIONS"),
        (
            CreatableTopic(name="t", num_partitions=1, replication_factor=0),
            "INVALID_REPLICATION_FACTOR",
        ),
        (
            CreatableTopic(
                name="t",
                num_partitions=-1,
                replication_factor=-1,
                assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=[9])],
            ),
            "INVALID_REPLICA_ASSIGNMENT",
        ),
        (
            CreatableTopic(
                name="t",
                num_partitions=1,
                replication_factor=1,
                assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=[0])],
            ),
            "INVALID_REQUEST",
        ),
        (
            CreatableTopic(name="__consumer_offsets", num_partitions=1, replication_factor=1),
            "TOPIC_ALREADY_EXISTS",
        ),
    ],
)
def test_a_topic_that_cannot_be_is_refused(
    broker: BrokerProcess, wanted: CreatableTopic, code: str
) -> None:
    with RawClient(broker.bootstrap) as client:
        request = CreateTopicsRequest(topics=[wanted], timeout_ms=5000)
        (answer,) = client.call(request, CreateTopicsResponse, 7).topics
    assert ErrorCode(answer.error_code).name == code


def test_partitions_are_added_and_never_taken_away(
    broker: BrokerProcess, python: KafkaAdminClient
) -> None:
    topic, admin = foreign.create_topic(broker.bootstrap), foreign.admin(broker.bootstrap)
    foreign.produce(broker.bootstrap, topic, ["before"])
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(TIMEOUT_S)
    assert foreign.produce(broker.bootstrap, topic, ["after"], partition=2) == [0]
    python.create_partitions({topic: 4})
    assert len(admin.list_topics(topic, TIMEOUT_S).topics[topic].partitions) == 4
    for count in (4, 2):
        grow = admin.create_partitions([NewPartitions(topic, count)])[topic]
        assert foreign.refusal(grow.result, TIMEOUT_S) == KafkaError.INVALID_PARTITIONS
    assert foreign.values(foreign.read(broker.bootstrap, topic, 1)) == [b"before"]


def test_records_are_deleted_up_to_an_offset(
    broker: BrokerProcess, python: KafkaAdminClient
) -> None:
    topic, admin = foreign.create_topic(broker.bootstrap), foreign.admin(broker.bootstrap)
    foreign.produce(broker.bootstrap, topic, [f"{number}" for number in range(10)])
    place = TopicPartition(topic, 0, 4)
    deleted = admin.delete_records([place])[place].result(TIMEOUT_S)
    assert deleted.low_watermark == 4
    assert foreign.watermarks(broker.bootstrap, topic) == (4, 10)
    assert foreign.read(broker.bootstrap, topic, 1, offset=4)[0].value() == b"4"
    python_place = PythonTopicPartition(topic, 0)
    assert python.delete_records({python_place: -1})[python_place]["low_watermark"] == 10
    assert foreign.watermarks(broker.bootstrap, topic) == (10, 10)
    beyond = TopicPartition(topic, 0, 11)
    refused = admin.delete_records([beyond])[beyond]
    assert foreign.refusal(refused.result, TIMEOUT_S) == KafkaError.OFFSET_OUT_OF_RANGE


def test_groups_are_listed_described_and_deleted(
    broker: BrokerProcess, python: KafkaAdminClient
) -> None:
    topic, group = foreign.create_topic(broker.bootstrap), foreign.name("group")
    admin = foreign.admin(broker.bootstrap)
    member = foreign.consumer(broker.bootstrap, group, client_id="the one member")
    member.subscribe([topic])
    foreign.until(lambda: member.poll(0.1) or member.assignment())
    described = admin.describe_consumer_groups([group])[group].result(TIMEOUT_S)
    assert described.state == ConsumerGroupState.STABLE
    (only,) = described.members
    assert only.client_id == "the one member"
    assert [place.topic for place in only.assignment.topic_partitions] == [topic]
    refused = admin.delete_consumer_groups([group])[group]
    assert foreign.refusal(refused.result, TIMEOUT_S) == KafkaError.NON_EMPTY_GROUP
    assert group in {each["group_id"] for each in python.list_groups(states_filter=["Stable"])}
    member.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
    member.close()
    foreign.until(lambda: python.describe_groups([group])[group]["group_state"] == "Empty")
    assert group not in {each["group_id"] for each in python.list_groups(states_filter=["Stable"])}
    admin.delete_consumer_groups([group])[group].result(TIMEOUT_S)
    listed = admin.list_consumer_groups().result(TIMEOUT_S)
    assert group not in {each.group_id for each in listed.valid}
    gone = admin.delete_consumer_groups([group])[group]
    assert foreign.refusal(gone.result, TIMEOUT_S) == KafkaError.GROUP_ID_NOT_FOUND


def test_the_offsets_of_a_group_are_set_listed_and_deleted(
    broker: BrokerProcess, python: KafkaAdminClient
) -> None:
    topic, group = foreign.create_topic(broker.bootstrap, partitions=3), foreign.name("group")
    admin = foreign.admin(broker.bootstrap)
    wanted = [TopicPartition(topic, partition, 10 + partition) for partition in range(2)]
    altered = admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, wanted)])
    altered[group].result(TIMEOUT_S)
    place = PythonTopicPartition(topic, 2)
    python.alter_group_offsets(group, {place: OffsetAndMetadata(12, "noted", -1)})
    assert _offsets(broker, group) == {0: 10, 1: 11, 2: 12}
    assert python.list_group_offsets(group)[group][place].metadata == "noted"
    python.delete_group_offsets(group, [PythonTopicPartition(topic, 1)])
    assert _offsets(broker, group) == {0: 10, 2: 12}


def test_offsets_of_a_topic_that_is_being_read_are_neither_set_nor_deleted(
    broker: BrokerProcess, python: KafkaAdminClient
) -> None:
    topic, group = foreign.create_topic(broker.bootstrap), foreign.name("group")
    member = foreign.consumer(broker.bootstrap, group)
    member.subscribe([topic])
    foreign.until(lambda: member.poll(0.1) or member.assignment())
    member.commit(offsets=[TopicPartition(topic, 0, 5)], asynchronous=False)
    place = PythonTopicPartition(topic, 0)
    (refused,) = python.delete_group_offsets(group, [place]).values()
    assert refused.__name__ == "GroupSubscribedToTopicError"
    wanted = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 1)])
    altered = foreign.admin(broker.bootstrap).alter_consumer_group_offsets([wanted])
    assert foreign.refusal(_raise_partition_errors, altered[group].result(TIMEOUT_S)) == (
        KafkaError.UNKNOWN_MEMBER_ID
    )
    member.close()
    assert _offsets(broker, group) == {0: 5}


def test_the_cluster_is_one_node_with_an_id_that_stays(
    broker: BrokerProcess, python: KafkaAdminClient
) -> None:
    described = foreign.admin(broker.bootstrap).describe_cluster().result(TIMEOUT_S)
    (node,) = described.nodes
    assert (node.id, f"{node.host}:{node.port}") == (0, broker.bootstrap)
    assert described.controller.id == 0
    assert python.describe_cluster()["cluster_id"] == described.cluster_id
    meta = (broker.data_dir / "meta.properties").read_text()
    assert f"cluster.id={described.cluster_id}" in meta


def test_log_directories_tell_how_large_a_partition_is(
    broker: BrokerProcess, python: KafkaAdminClient
) -> None:
    topic = foreign.create_topic(broker.bootstrap, partitions=2)
    foreign.produce(broker.bootstrap, topic, ["x" * 10_000], partition=1)
    ((directory,),) = (each["log_dirs"] for each in python.describe_log_dirs([topic]))
    assert directory["log_dir"] == str(broker.data_dir)
    assert directory["total_bytes"] > directory["usable_bytes"] > 0
    (described,) = (each for each in directory["topics"] if each["name"] == topic)
    sizes = {each["partition_index"]: each["partition_size"] for each in described["partitions"]}
    segment = broker.data_dir / f"{topic}-1" / "00000000000000000000.log"
    assert sizes == {0: 0, 1: segment.stat().st_size}


def test_a_topic_is_created_on_first_use(broker: BrokerProcess) -> None:
    topic = foreign.name("auto")
    assert foreign.produce(broker.bootstrap, topic, ["v"], partition=1) == [0]
    assert len(foreign.admin(broker.bootstrap).list_topics(topic).topics[topic].partitions) == 2


def test_a_topic_is_not_created_on_first_use_where_that_is_off(tmp_path: Path) -> None:
    off = ("--set", "auto.create.topics.enable=false")
    with BrokerProcess(tmp_path / "data", *off) as strict:
        topic = foreign.name("auto")
        code = foreign.refusal(
            foreign.produce,
            strict.bootstrap,
            topic,
            ["v"],
            linger_ms=0,
            message_timeout_ms=60_000,
            topic_metadata_propagation_max_ms=100,
        )
        assert code in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)
        assert topic not in foreign.admin(strict.bootstrap).list_topics(timeout=TIMEOUT_S).topics


def _offsets(broker: BrokerProcess, group: str) -> dict[int, int]:
    wanted = ConsumerGroupTopicPartitions(group)
    listed = foreign.admin(broker.bootstrap).list_consumer_group_offsets([wanted])
    found = listed[group].result(TIMEOUT_S).topic_partitions or []
    return {each.partition: each.offset for each in found}


def _raise_partition_errors(altered: ConsumerGroupTopicPartitions) -> None:
    for each in altered.topic_partitions or []:
        if each.error is not None:
            raise KafkaException(each.error)
