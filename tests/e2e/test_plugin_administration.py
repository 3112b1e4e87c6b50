"""Each injected fault, as confluent-kafka tells it to an administrator: its documented error."""

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)
from tests import foreign
from tests.foreign import TIMEOUT_S

from kafkaesque.errors import ErrorCode
from kafkaesque.testing import Kafka

pytestmark = pytest.mark.slow

FOREVER_S = 3600
QUICK = {"retry.backoff.ms": 10, "reconnect.backoff.ms": 10, "log_level": 0}
TOPIC = "t"
RESOURCE = ConfigResource(ResourceType.TOPIC, TOPIC)
PLACE = TopicPartition(TOPIC, 0, 0)


def _alter(client: AdminClient) -> Any:
    entry = ConfigEntry("retention.ms", "1", incremental_operation=AlterConfigOpType.SET)
    changed = ConfigResource(ResourceType.TOPIC, TOPIC, incremental_configs=[entry])
    return client.incremental_alter_configs([changed])[changed]


ADMINISTRATION: dict[tuple[str, str], Callable[[AdminClient], Any]] = {
    ("CreateTopics", "POLICY_VIOLATION"): lambda client: client.create_topics(
        [NewTopic("new", 1, 1)]
    )["new"],
    ("DeleteTopics", "TOPIC_DELETION_DISABLED"): lambda client: client.delete_topics([TOPIC])[
        TOPIC
    ],
    ("CreatePartitions", "INVALID_PARTITIONS"): lambda client: client.create_partitions(
        [NewPartitions(TOPIC, 2)]
    )[TOPIC],
    ("DescribeConfigs", "TOPIC_AUTHORIZATION_FAILED"): lambda client: client.describe_configs(
        [RESOURCE]
    )[RESOURCE],
    ("IncrementalAlterConfigs", "INVALID_CONFIG"): _alter,
    ("DeleteRecords", "OFFSET_OUT_OF_RANGE"): lambda client: client.delete_records([PLACE])[PLACE],
    ("ListOffsets", "TOPIC_AUTHORIZATION_FAILED"): lambda client: client.list_offsets(
        {PLACE: OffsetSpec.latest()}
    )[PLACE],
    ("DescribeGroups", "GROUP_AUTHORIZATION_FAILED"): lambda client: (
        client.describe_consumer_groups(["g"])["g"]
    ),
    ("DeleteGroups", "NON_EMPTY_GROUP"): lambda client: client.delete_consumer_groups(["g"])["g"],
    ("OffsetFetch", "GROUP_AUTHORIZATION_FAILED"): lambda client: (
        client.list_consumer_group_offsets([ConsumerGroupTopicPartitions("g")])["g"]
    ),
}


@pytest.fixture
def admin(kafka: Kafka) -> AdminClient:
    kafka.create(TOPIC)
    return AdminClient({"bootstrap.servers": kafka.bootstrap_servers, **QUICK})


@pytest.mark.parametrize(
    "error", ["UNKNOWN_TOPIC_OR_PARTITION", "LEADER_NOT_AVAILABLE", "TOPIC_AUTHORIZATION_FAILED"]
)
def test_metadata_tells_the_error_of_a_topic(kafka: Kafka, admin: AdminClient, error: str) -> None:
    with kafka.faults.error("Metadata", error, topic=TOPIC):
        told = admin.list_topics(TOPIC, TIMEOUT_S).topics[TOPIC].error
        assert told is not None
        assert told.code() == ErrorCode[error]
    assert admin.list_topics(TOPIC, TIMEOUT_S).topics[TOPIC].error is None


def test_metadata_that_does_not_come_times_out(kafka: Kafka, admin: AdminClient) -> None:
    with kafka.faults.delay("Metadata", seconds=FOREVER_S):
        assert foreign.refusal(admin.list_topics, timeout=0.3) in (
            KafkaError._TRANSPORT,
            KafkaError._TIMED_OUT,
        )
    assert TOPIC in admin.list_topics(timeout=TIMEOUT_S).topics


@pytest.mark.parametrize(("api", "error"), ADMINISTRATION)
def test_an_administrator_is_told_the_error(
    kafka: Kafka, admin: AdminClient, api: str, error: str
) -> None:
    before = repr(kafka)
    with kafka.faults.error(api, error) as fault:
        code = foreign.refusal(ADMINISTRATION[api, error](admin).result, TIMEOUT_S)
        assert code == ErrorCode[error]
        assert fault.count == 1
    assert repr(kafka) == before


def test_groups_that_cannot_be_listed_are_told(kafka: Kafka, admin: AdminClient) -> None:
    kafka.faults.error("ListGroups", "COORDINATOR_NOT_AVAILABLE")
    listed = admin.list_consumer_groups(request_timeout=TIMEOUT_S).result(TIMEOUT_S)
    (error,) = listed.errors
    assert error.code() == KafkaError.COORDINATOR_NOT_AVAILABLE


def test_an_administrator_who_waits_in_vain_is_told_so(kafka: Kafka, admin: AdminClient) -> None:
    kafka.faults.delay("CreateTopics", seconds=FOREVER_S)
    asked = admin.create_topics([NewTopic("new", 1, 1)], request_timeout=0.3)
    assert foreign.refusal(asked["new"].result, TIMEOUT_S) == KafkaError._TIMED_OUT
