"""How many bytes of disk each partition takes: DescribeLogDirs, which confluent-kafka cannot ask.

Version 2, which every Kafka since 2.4 knows, and the first in which a Kafkaesque broker can also
say how far it has compacted a partition. With several replicas the largest counts.
Above: console/, cli/topic/describe.py. Below: cluster.py, wire.py.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from kafkaesque.client.admin import Admin
from kafkaesque.client.cluster import cluster
from kafkaesque.client.connection import Address, ClusterError, Connection
from kafkaesque.client.topics import PartitionState, Topic
from kafkaesque.client.wire import Wire
from kafkaesque.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from kafkaesque.types import TopicPartition

_VERSION = 2


class OnDisk(NamedTuple):
    """What a broker tells of a partition; `cleaned_to` is None where it does not say."""

    size: int
    cleaned_to: int | None


def partition_sizes(
    brokers: Iterable[Address], connection: Connection
) -> dict[TopicPartition, int]:
    """The size of every partition on these brokers. Raises ClusterError if one does not answer."""
    found = _largest(brokers, DescribeLogDirsRequest(topics=None), connection)
    return {name: on_disk.size for name, on_disk in found.items()}


def with_sizes(admin: Admin, topics: Sequence[Topic]) -> list[Topic]:
    """The topics with what their partitions take on disk, or without: unknown is no trouble."""
    try:
        found = _on_disk(admin, topics)
    except ClusterError:
        return list(topics)
    return [
        replace(
            topic,
            partitions=[
                _with_size(each, found.get(TopicPartition(topic.name, each.partition)))
                for each in topic.partitions
            ],
        )
        for topic in topics
    ]


def _with_size(partition: PartitionState, found: OnDisk | None) -> PartitionState:
    if found is None:
        return partition
    return replace(partition, size=found.size, cleaned_to=found.cleaned_to)


def _on_disk(admin: Admin, topics: Iterable[Topic]) -> dict[TopicPartition, OnDisk]:
    brokers = [Address(node.host, node.port) for node in cluster(admin).nodes]
    wanted = [
        DescribableLogDirTopic(
            topic=topic.name, partitions=[each.partition for each in topic.partitions]
        )
        for topic in topics
    ]
    return _largest(brokers, DescribeLogDirsRequest(topics=wanted), admin.connection)


def _largest(
    brokers: Iterable[Address], request: DescribeLogDirsRequest, connection: Connection
) -> dict[TopicPartition, OnDisk]:
    largest: dict[TopicPartition, OnDisk] = {}
    for broker in brokers:
        for name, found in _found_on(broker, request, connection).items():
            if name not in largest or found.size > largest[name].size:
                largest[name] = found
    return largest


def _found_on(
    broker: Address, request: DescribeLogDirsRequest, connection: Connection
) -> dict[TopicPartition, OnDisk]:
    with Wire(broker, connection) as wire:
        answer = wire.ask(request, DescribeLogDirsResponse, _VERSION)
    return {
        TopicPartition(topic.name, partition.partition_index): OnDisk(
            partition.partition_size, partition.cleaned_to if partition.cleaned_to >= 0 else None
        )
        for directory in answer.results
        for topic in directory.topics
        for partition in topic.partitions
    }
