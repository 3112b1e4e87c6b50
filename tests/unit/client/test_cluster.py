"""When a cluster is healthy, and what is said to be wrong with it if not."""

from kafkaesque.client.cluster import Cluster, Node, PartitionReplicas, health_of
from kafkaesque.client.topics import TopicSize
from kafkaesque.types import TopicPartition

ORDERS = TopicPartition("orders", 0)
PRICES = TopicPartition("prices", 1)


def partition(
    place: TopicPartition, leader: int, replicas: set[int], in_sync: set[int]
) -> PartitionReplicas:
    return PartitionReplicas(place, leader, frozenset(replicas), frozenset(in_sync))


def cluster(*partitions: PartitionReplicas, nodes: int = 3, controller: int = 0) -> Cluster:
    return Cluster(
        "some-id", controller, [Node(n, "127.0.0.1", 9092 + n) for n in range(nodes)], [*partitions]
    )


def test_a_cluster_whose_replicas_all_keep_up_is_healthy() -> None:
    health = health_of(cluster(partition(ORDERS, 0, {0, 1}, {1, 0})))
    assert health.reasons == []
    assert (health.controller, health.nodes, health.nodes_down) == (0, [0, 1, 2], [])


def test_a_partition_that_nobody_leads_is_leaderless() -> None:
    found = cluster(partition(PRICES, 0, {0}, {0}), partition(ORDERS, -1, {0, 1}, {0, 1}))
    health = health_of(found)
    assert health.leaderless == [ORDERS]
    assert health.reasons == ["leaderless_partitions"]


def test_a_replica_that_does_not_keep_up_is_under_replication() -> None:
    health = health_of(cluster(partition(ORDERS, 0, {0, 1}, {0})))
    assert health.under_replicated == [ORDERS]
    assert health.reasons == ["under_replicated_partitions"]


def test_a_broker_that_should_hold_a_replica_and_is_away_is_down() -> None:
    health = health_of(cluster(partition(ORDERS, 0, {0, 7}, {0, 7})))
    assert (health.nodes, health.nodes_down) == ([0, 1, 2, 7], [7])
    assert health.reasons == ["nodes_down"]


def test_a_cluster_without_a_controller_is_not_healthy() -> None:
    assert health_of(cluster(controller=-1)).reasons == ["no_controller"]


def test_topics_are_counted_from_their_partitions() -> None:
    found = cluster(
        partition(PRICES, 0, {0}, {0}),
        partition(ORDERS, 0, {0, 1}, {0, 1}),
        partition(TopicPartition("orders", 1), 0, {0}, {0}),
    )
    assert found.topics == [TopicSize("orders", 2, 2), TopicSize("prices", 1, 1)]
