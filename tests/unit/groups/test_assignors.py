"""The range assignor, beside aiokafka's."""

from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.groups.assignors import range_assignment
from kafkaesque.types import TopicPartition

TOPICS = st.sampled_from(["a", "b", "orders", "orders.late", "z"])
MEMBERS = st.sampled_from(["c-1", "c-10", "c-2", "c-3", "aio", "rdkafka"])
SUBSCRIPTIONS = st.dictionaries(MEMBERS, st.frozensets(TOPICS))
LAYOUTS = st.dictionaries(TOPICS, st.integers(1, 12))


class Cluster:
    """As much of a cluster as an assignor asks for."""

    def __init__(self, layout: dict[str, int]) -> None:
        self._layout = layout

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return set(range(self._layout[topic])) if topic in self._layout else None


@given(SUBSCRIPTIONS, LAYOUTS)
def test_it_shares_out_as_aiokafka_does(
    wanted: dict[str, frozenset[str]], layout: dict[str, int]
) -> None:
    theirs = RangePartitionAssignor.assign(
        Cluster(layout), {m: RangePartitionAssignor.metadata(t) for m, t in wanted.items()}
    )
    ours = range_assignment(wanted, layout)
    assert ours.keys() == theirs.keys()
    for member, share in ours.items():
        assert sorted(share) == sorted(map(tuple, theirs[member].partitions()))


@given(SUBSCRIPTIONS, LAYOUTS)
def test_each_wanted_partition_goes_to_one_member_and_sizes_differ_by_one_at_most(
    wanted: dict[str, frozenset[str]], layout: dict[str, int]
) -> None:
    shares = range_assignment(wanted, layout)
    given_out = sorted(name for share in shares.values() for name in share)
    topics = frozenset().union(*wanted.values()) & layout.keys()
    assert given_out == sorted(TopicPartition(t, i) for t in topics for i in range(layout[t]))
    for topic in topics:
        sizes = [
            sum(name.topic == topic for name in shares[member])
            for member in wanted
            if topic in wanted[member]
        ]
        assert max(sizes) - min(sizes) <= 1


def test_a_member_that_wants_nothing_gets_nothing() -> None:
    shares = range_assignment({"c": frozenset(), "d": frozenset({"a"})}, {"a": 2, "b": 1})
    assert shares == {"c": [], "d": [TopicPartition("a", 0), TopicPartition("a", 1)]}
