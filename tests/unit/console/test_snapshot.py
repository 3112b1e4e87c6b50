"""What one look saw, and the rates that several looks tell."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.client.cluster import Cluster, Node, PartitionReplicas
from kafkaesque.client.groups import Group, Lag
from kafkaesque.client.transaction import Transaction
from kafkaesque.console.snapshot import (
    HISTORY,
    History,
    LagHistory,
    Partition,
    Snapshot,
    Topic,
    by_topic,
    total,
    written,
)
from kafkaesque.types import TopicPartition

ORDERS = TopicPartition("orders", 0)
PRICES = TopicPartition("prices", 0)


def group(name: str, *lags: tuple[str, int | None, int]) -> Group:
    return Group(
        name,
        "Stable",
        0,
        "range",
        [],
        [Lag(name, topic, 0, committed, latest, None) for topic, committed, latest in lags],
    )


def snapshot(cluster: Cluster | None = None, groups: list[Group] | None = None) -> Snapshot:
    topics = {
        "orders": Topic("orders", (Partition(0, 0, start=2, end=12, size=100), Partition(1, 0))),
        "__internal": Topic("__internal", (Partition(0, 0, start=0, end=0),)),
    }
    return Snapshot(
        at_s=1.0,
        cluster=cluster or Cluster("id", 0, [], []),
        topics=topics,
        groups={each.name: each for each in groups or []},
    )


def test_a_topic_counts_what_its_partitions_can_tell() -> None:
    orders = snapshot().topics["orders"]
    assert (orders.events, orders.size, orders.internal) == (10, 100, False)
    assert Topic("empty", (Partition(0, -1),)).events is None
    assert snapshot().topics["__internal"].internal


def test_the_ends_are_those_that_are_known() -> None:
    assert snapshot().ends == {ORDERS: 12, TopicPartition("__internal", 0): 0}


def test_lag_on_a_topic_is_told_by_group_and_in_sum() -> None:
    seen = snapshot(groups=[group("a", ("orders", 5, 12), ("prices", 1, 2)), group("b")])
    assert [(reader.name, lag) for reader, lag in seen.lags_on("orders")] == [("a", 7)]
    assert seen.lag_by_topic() == {"orders": 7, "prices": 1}


def test_a_group_that_has_committed_nothing_reads_a_topic_with_unknown_lag() -> None:
    seen = snapshot(groups=[group("new", ("orders", None, 12))])
    assert [lag for _, lag in seen.lags_on("orders")] == [None]
    assert seen.lag_by_topic() == {}


def test_a_healthy_cluster_has_no_troubles_and_a_broken_one_says_which() -> None:
    whole = PartitionReplicas(ORDERS, 0, frozenset({0}), frozenset({0}))
    lost = PartitionReplicas(PRICES, -1, frozenset({0, 1}), frozenset())
    nodes = [Node(0, "127.0.0.1", 9092)]
    assert snapshot(Cluster("id", 0, nodes, [whole])).troubles == []
    assert snapshot(Cluster("id", 0, nodes, [whole, lost])).troubles == [
        "1 broker away",
        "1 partition without a leader",
        "1 partition with replicas out of sync",
    ]


def test_the_age_of_a_transaction_is_that_at_the_look() -> None:
    def opened(started_ms: int | None) -> Transaction:
        return Transaction("copier", 0, 4000, 0, "Ongoing", 60_000, started_ms, (ORDERS,))

    seen = replace(snapshot(), at_ms=10_000, transactions=(opened(4000), opened(9000)))
    assert [seen.age_ms(each) for each in seen.transactions] == [6000, 1000]
    assert seen.oldest_ms == 6000
    assert seen.age_ms(opened(None)) is None
    assert snapshot().oldest_ms is None


def test_a_rate_is_what_was_written_over_the_time_it_took() -> None:
    history = History()
    history.add(10.0, {ORDERS: 100, PRICES: 5})
    assert history.rates() == {}
    history.add(12.0, {ORDERS: 130, PRICES: 5})
    assert history.rates() == {ORDERS: 15.0, PRICES: 0.0}
    assert history.series(["orders", "prices"]) == {"orders": [15.0], "prices": [0.0]}


def test_a_rate_forgets_what_is_older_than_five_seconds() -> None:
    history = History()
    for second in range(20):
        history.add(float(second), {ORDERS: min(second, 10) * 100})
    assert history.rates() == {ORDERS: 0.0}
    assert history.series(["orders"])["orders"] == [100.0] * 10 + [0.0] * 9


def test_a_topic_made_anew_does_not_run_backwards() -> None:
    assert written({ORDERS: 500}, {ORDERS: 3, PRICES: 9}) == {ORDERS: 0}


def test_after_a_gap_rates_begin_anew() -> None:
    history = History()
    history.add(1.0, {ORDERS: 0})
    history.clear()
    history.add(2.0, {ORDERS: 1_000_000})
    assert history.rates() == {}


@given(st.lists(st.tuples(st.floats(0.1, 3), st.integers(0, 10_000)), min_size=1, max_size=80))
def test_rates_lie_between_the_slowest_and_the_fastest_step(
    steps: list[tuple[float, int]],
) -> None:
    history, at_s, end = History(), 0.0, 0
    history.add(at_s, {ORDERS: end})
    for took_s, count in steps:
        at_s, end = at_s + took_s, end + count
        history.add(at_s, {ORDERS: end})
    series = history.series(["orders"])["orders"]
    assert len(series) == min(len(steps), HISTORY)
    rate = history.rates()[ORDERS]
    assert min(series) - 1e-6 <= rate <= max(series) + 1e-6


@given(st.dictionaries(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), st.floats(0, 1e6)))
def test_the_rate_of_a_topic_is_the_sum_of_its_partitions(
    rates: dict[tuple[str, int], float],
) -> None:
    places = {TopicPartition(*place): rate for place, rate in rates.items()}
    assert sum(by_topic(places).values()) == pytest.approx(sum(places.values()))


def test_the_lag_of_a_group_is_remembered_as_long_as_it_is_there() -> None:
    history = LagHistory()
    assert history.series() == {}
    history.add({"a": group("a", ("orders", 0, 5)), "b": group("b")})
    history.add({"a": group("a", ("orders", 3, 5)), "new": group("new", ("orders", 0, 1))})
    assert history.series() == {"a": [5, 2], "new": [1]}
    for _ in range(HISTORY):
        history.add({"a": group("a")})
    assert history.series() == {"a": [0] * HISTORY}


def test_a_total_of_nothing_known_is_not_zero() -> None:
    assert total([None, None]) is None
    assert total([None, 0]) == 0
