"""Partitions are a set like any other."""

from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.transactions.partitions import Partitions
from kafkaesque.types import TopicPartition

NAMES = st.frozensets(st.builds(TopicPartition, st.sampled_from("abc"), st.integers(0, 3)))


@given(NAMES, NAMES)
def test_it_does_what_a_frozen_set_does(
    some: frozenset[TopicPartition], more: frozenset[TopicPartition]
) -> None:
    first, second = Partitions(some), Partitions(more)
    assert (len(first), frozenset(first), bool(first)) == (len(some), some, bool(some))
    assert [name in first for name in more] == [name in some for name in more]
    for other in (second, more):
        assert first | other == some | more
        assert first - other == some - more
        assert (first <= other) == (some <= more)
        assert (first == other) == (some == more)
    assert (hash(first) == hash(second)) >= (some == more)
    assert first == some
