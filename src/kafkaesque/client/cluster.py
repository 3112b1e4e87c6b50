"""A cluster as a whole: its brokers, and whether every partition has its leader and its replicas.

All of it comes from one Metadata answer, so it is of one moment. Above: cli/cluster/.
Below: admin.py, answers.py.
"""

from dataclasses import dataclass
from typing import Any

from kafkaesque.client.admin import Admin
from kafkaesque.client.answers import metadata
from kafkaesque.client.topics import TopicSize
from kafkaesque.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Node:
    node_id: int
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class PartitionReplicas:
    """Where a partition lies; `leader` is -1 if nobody leads it."""

    place: TopicPartition
    leader: int
    replicas: frozenset[int]
    in_sync: frozenset[int]


@dataclass(frozen=True, slots=True)
class Cluster:
    cluster_id: str
    controller: int
    nodes: list[Node]
    partitions: list[PartitionReplicas]

    @property
    def topics(self) -> list[TopicSize]:
        replicas: dict[str, list[int]] = {}
        for partition in self.partitions:
            replicas.setdefault(partition.place.topic, []).append(len(partition.replicas))
        return [
            TopicSize(topic, len(counts), max(counts)) for topic, counts in sorted(replicas.items())
        ]


@dataclass(frozen=True, slots=True)
class Health:
    """What is wrong with a cluster; nothing, if there are no reasons."""

    controller: int
    nodes: list[int]
    nodes_down: list[int]
    leaderless: list[TopicPartition]
    under_replicated: list[TopicPartition]

    @property
    def reasons(self) -> list[str]:
        found = {
            "no_controller": self.controller < 0,
            "nodes_down": bool(self.nodes_down),
            "leaderless_partitions": bool(self.leaderless),
            "under_replicated_partitions": bool(self.under_replicated),
        }
        return [reason for reason, holds in found.items() if holds]


def cluster(admin: Admin) -> Cluster:
    told = metadata(admin.client, admin.connection)
    nodes = [Node(node.id, node.host, node.port) for node in told.brokers.values()]
    return Cluster(
        cluster_id=told.cluster_id or "",
        controller=told.controller_id,
        nodes=sorted(nodes, key=lambda node: node.node_id),
        partitions=[
            _replicas(topic.topic, partition)
            for topic in told.topics.values()
            for partition in topic.partitions.values()
        ],
    )


def health_of(found: Cluster) -> Health:
    nodes = {node.node_id for node in found.nodes}
    replicas = {replica for partition in found.partitions for replica in partition.replicas}
    return Health(
        controller=found.controller,
        nodes=sorted(nodes | replicas),
        nodes_down=sorted(replicas - nodes),
        leaderless=sorted(each.place for each in found.partitions if each.leader < 0),
        under_replicated=sorted(
            each.place for each in found.partitions if each.in_sync < each.replicas
        ),
    )


def _replicas(topic: str, partition: Any) -> PartitionReplicas:
    return PartitionReplicas(
        TopicPartition(topic, partition.id),
        partition.leader,
        frozenset(partition.replicas),
        frozenset(partition.isrs),
    )
