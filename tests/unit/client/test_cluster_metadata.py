"""What a Metadata response says about leaders and partitions, and about what cannot be told."""

from kafkaesque.client.cluster_metadata import ClusterMetadata, error_code
from kafkaesque.client.connection import Address
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafkaesque.types import TopicPartition


def topic(name: str, leaders: list[int], error: int = 0) -> MetadataResponseTopic:
    partitions = [
        MetadataResponsePartition(partition_index=number, leader_id=leader)
        for number, leader in enumerate(leaders)
    ]
    return MetadataResponseTopic(
        name=name,
        error_code=error,
        partitions=partitions,
        is_internal=name.startswith("__"),
    )


FOUND = ClusterMetadata.of(
    MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=7, host="a.example.org", port=9093)],
        topics=[
            topic("orders", [7, -1, 8]),
            topic("gone", [], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            topic("bad name", [], ErrorCode.INVALID_TOPIC_EXCEPTION),
            topic("secret", [], ErrorCode.TOPIC_AUTHORIZATION_FAILED),
            topic("__consumer_offsets", [7]),
        ],
    )
)


def error_of(name: str, partition: int = 0) -> ErrorCode:
    return FOUND.error_of(TopicPartition(name, partition))


def test_leaders_have_addresses() -> None:
    assert FOUND.nodes[FOUND.leaders[TopicPartition("orders", 0)]] == Address("a.example.org", 9093)
    assert FOUND.counts == {"orders": 3, "__consumer_offsets": 1}
    assert FOUND.internal == {"__consumer_offsets"}


def test_a_partition_without_a_leader_is_told_from_one_that_is_not_there() -> None:
    assert error_of("orders", 0) is ErrorCode.NONE
    assert error_of("orders", 1) is ErrorCode.LEADER_NOT_AVAILABLE
    assert error_of("orders", 2) is ErrorCode.LEADER_NOT_AVAILABLE  # broker 8 has just gone
    assert error_of("orders", 3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert error_of("gone") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert error_of("bad name") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert error_of("never asked for") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_refusal_is_passed_on() -> None:
    assert error_of("secret") is ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_a_code_of_a_newer_cluster_is_some_error() -> None:
    assert error_code(31_000) is ErrorCode.UNKNOWN_SERVER_ERROR
