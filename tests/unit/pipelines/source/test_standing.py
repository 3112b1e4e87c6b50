"""Where a query stands: kept as JSON, and compared with where it stood."""

import json

from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.pipelines.source.standing import Standing
from kafkaesque.types import TopicPartition

A, B = TopicPartition("a", 0), TopicPartition("b", 0)
PLACES = st.builds(TopicPartition, st.sampled_from("ab"), st.integers(0, 12))
OFFSETS = st.dictionaries(PLACES, st.integers(0, 1 << 62), max_size=8)


@given(OFFSETS, st.none() | OFFSETS)
def test_it_is_the_same_after_spark_has_kept_it(
    offsets: dict[TopicPartition, int], begin: dict[TopicPartition, int] | None
) -> None:
    ids = {place.topic: f"id of {place.topic}" for place in offsets}
    standing = Standing(offsets, ids, begin)
    assert Standing.of(json.loads(json.dumps(standing.kept()))) == standing


def test_what_an_older_version_kept_has_offsets_alone() -> None:
    old = Standing.of({"a": {"0": 7}})
    assert old == Standing({A: 7})
    assert Standing({A: 9}, {"a": "1"}).start(old) == {A: 7}


def test_a_topic_that_was_made_anew_is_read_from_its_first_record() -> None:
    before = Standing({A: 7, B: 3}, {"a": "1", "b": "1"})
    now = Standing({A: 9, B: 4}, {"a": "2", "b": "1"})
    assert now.made_anew(before) == {"a"}
    assert now.start(before) == {B: 3}


def test_a_first_batch_that_is_run_again_begins_where_it_began() -> None:
    first = Standing({A: 9}, {}, begin={A: 5})
    assert first.start(Standing({A: 12})) == {A: 5}
    assert first.start(first) == {A: 9}, "a batch after it, of another source alone"
