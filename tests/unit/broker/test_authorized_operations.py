"""Without an authorizer a client may do everything, and is told so where it asks (KIP-430)."""

import asyncio
from collections.abc import Iterator
from uuid import UUID

import pytest
from tests.unit.testing.surroundings import broker_with, context

from kafkaesque.broker.apis.describe_cluster import describe_cluster
from kafkaesque.broker.apis.describe_topic_partitions import describe_topic_partitions
from kafkaesque.broker.apis.metadata import metadata
from kafkaesque.broker.broker import Broker
from kafkaesque.protocol.messages.describe_cluster import DescribeClusterRequest
from kafkaesque.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from kafkaesque.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

NOT_ASKED = -(2**31)
OF_TOPIC = 0b1101_1111_1000
OF_CLUSTER = 0b1_1111_1010_0000
"""As Apache Kafka 4.3 says them: tests/compat/test_answers.py."""


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with broker_with("t") as found:
        yield found


@pytest.mark.parametrize(("asked", "expected"), [(True, OF_CLUSTER), (False, NOT_ASKED)])
def test_those_of_the_cluster(broker: Broker, asked: bool, expected: int) -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=asked)
    answer = describe_cluster(context(broker, 60, 2), request)
    assert answer.cluster_authorized_operations == expected


@pytest.mark.parametrize("wanted", [None, [MetadataRequestTopic(name="t")]])
@pytest.mark.parametrize("asked", [True, False])
def test_those_in_metadata(
    broker: Broker, asked: bool, wanted: list[MetadataRequestTopic] | None
) -> None:
    request = MetadataRequest(
        topics=wanted,
        include_cluster_authorized_operations=asked,
        include_topic_authorized_operations=asked,
    )
    answer = asyncio.run(metadata(context(broker, 3, 9), request))
    assert answer.cluster_authorized_operations == (OF_CLUSTER if asked else NOT_ASKED)
    (topic,) = answer.topics
    assert topic.topic_authorized_operations == (OF_TOPIC if asked else NOT_ASKED)


def test_those_of_a_topic_that_is_not_there(broker: Broker) -> None:
    wanted = [
        MetadataRequestTopic(name="missing"),
        MetadataRequestTopic(name=None, topic_id=UUID(int=7)),
    ]
    request = MetadataRequest(
        topics=wanted, allow_auto_topic_creation=False, include_topic_authorized_operations=True
    )
    answer = asyncio.run(metadata(context(broker, 3, 12), request))
    told = [topic.topic_authorized_operations for topic in answer.topics]
    assert told == [OF_TOPIC, NOT_ASKED]


def test_those_of_described_partitions_are_told_unasked(broker: Broker) -> None:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name="t"), TopicRequest(name="missing")]
    )
    answer = asyncio.run(describe_topic_partitions(context(broker, 75, 0), request))
    assert [topic.topic_authorized_operations for topic in answer.topics] == [OF_TOPIC] * 2
