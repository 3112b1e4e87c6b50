"""Offsets of the Spark source: as JSON, shared out of a limit, cut into pieces."""

import json

from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.pipelines.source.offsets import Range, kept, offsets_of, pieces, shares
from kafkaesque.types import TopicPartition

PLACES = st.builds(TopicPartition, st.sampled_from("ab"), st.integers(0, 12))
BEHIND = st.dictionaries(PLACES, st.integers(0, 10_000), max_size=8)


def test_offsets_are_kept_in_one_order_so_that_equal_ones_are_equal_text() -> None:
    offsets = {TopicPartition("b", 0): 1, TopicPartition("a", 10): 2, TopicPartition("a", 9): 3}
    assert json.dumps(kept(offsets)) == '{"a": {"9": 3, "10": 2}, "b": {"0": 1}}'
    assert offsets_of(kept(offsets)) == offsets


@given(BEHIND, st.integers(1, 30_000))
def test_shares_use_the_limit_up_and_nobody_gets_more_than_there_is(
    behind: dict[TopicPartition, int], limit: int
) -> None:
    given = shares(behind, limit)
    assert given.keys() == behind.keys()
    assert all(0 <= given[place] <= behind[place] for place in behind)
    assert sum(given.values()) == min(limit, sum(behind.values()))
    waiting = [place for place in behind if behind[place]]
    if limit >= len(waiting):
        assert all(given[place] for place in waiting)


def test_who_is_further_behind_gets_more() -> None:
    near, far = TopicPartition("a", 0), TopicPartition("a", 1)
    given = shares({near: 100, far: 900}, 100)
    assert given[near] in range(9, 13)
    assert given[near] + given[far] == 100
    assert shares({near: 3, far: 9}, 1) == {near: 0, far: 1}


@given(BEHIND, st.integers(1, 40))
def test_pieces_are_the_ranges_again_and_enough_of_them(
    sizes: dict[TopicPartition, int], least: int
) -> None:
    whole = [Range(place, 5, 5 + size) for place, size in sizes.items()]
    cut = pieces(whole, least)
    assert all(len(piece) for piece in cut)
    assert len(cut) >= min(least, sum(sizes.values()))
    for place, size in sizes.items():
        mine = [piece for piece in cut if piece.place == place]
        covered = [offset for piece in mine for offset in range(piece.start, piece.end)]
        assert covered == list(range(5, 5 + size))
