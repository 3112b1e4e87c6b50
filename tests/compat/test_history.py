"""The group checker finds what is wrong with broken histories, and nothing in good ones.

No clients and no broker: each history is written down, its events one tick apart.
"""

from tests.compat.history import (
    Assigned,
    Committed,
    Ended,
    Event,
    Happening,
    Processed,
    Withdrawn,
    commits_lost,
    owned_twice,
    rewound,
    unprocessed,
    went_back,
)


def history(*events: tuple[str, Happening]) -> list[Event]:
    return [Event(at, member, what) for at, (member, what) in enumerate(events)]


def assigned(generation: int, *partitions: int) -> Assigned:
    return Assigned(generation, frozenset(partitions))


def withdrawn(*partitions: int) -> Withdrawn:
    return Withdrawn(frozenset(partitions))


def processed(partition: int, *offsets: int, generation: int = 1) -> Processed:
    return Processed(generation, partition, offsets)


def test_a_record_that_nobody_processed_is_found() -> None:
    told = history(("a", processed(0, 0, 1)), ("b", processed(0, 3)))
    assert "[2]" in unprocessed(told, {0: {0, 1, 2, 3}})[0]


def test_a_record_of_a_partition_that_nobody_read_is_found() -> None:
    assert unprocessed([], {4: {0}})


def test_a_record_processed_twice_is_no_fault() -> None:
    told = history(("a", processed(0, 0, 1)), ("b", processed(0, 1)))
    assert unprocessed(told, {0: {0, 1}}) == []


def test_two_owners_in_one_generation_are_found() -> None:
    told = history(("a", assigned(3, 0, 1)), ("b", assigned(3, 1, 2)), ("a", withdrawn(0, 1)))
    (fault,) = owned_twice(told)
    assert "partition 1 in generation 3" in fault


def test_an_owner_that_never_gives_back_is_an_owner_to_the_end() -> None:
    told = history(("a", assigned(3, 1)), ("b", assigned(3, 1)), ("b", withdrawn(1)))
    assert owned_twice(told)


def test_two_owners_one_after_the_other_are_no_fault() -> None:
    told = history(("a", assigned(3, 1)), ("a", withdrawn(1)), ("b", assigned(3, 1)))
    assert owned_twice(told) == []


def test_a_member_that_has_not_noticed_the_new_generation_is_no_fault() -> None:
    told = history(("a", assigned(3, 1)), ("b", assigned(4, 1)), ("a", withdrawn(1)))
    assert owned_twice(told) == []


def test_a_cooperative_member_keeps_its_partitions_into_the_next_generation() -> None:
    told = history(("a", assigned(3, 1)), ("a", assigned(4)), ("b", assigned(4, 1)))
    assert owned_twice(told)


def test_a_member_that_processes_in_a_new_generation_claims_the_partition_there() -> None:
    told = history(
        ("a", assigned(3, 1)),
        ("b", assigned(4, 1)),
        ("a", processed(1, 7, generation=4)),
        ("b", withdrawn(1)),
    )
    assert owned_twice(told)


def test_a_dead_member_owns_nothing() -> None:
    told = history(("a", assigned(3, 1)), ("a", Ended()), ("a again", assigned(3, 1)))
    assert owned_twice(told) == []


def test_two_owners_are_found_whatever_the_order_in_which_the_histories_were_read() -> None:
    told = history(("a", assigned(3, 1)), ("b", assigned(3, 1)), ("a", Ended()), ("b", Ended()))
    assert owned_twice(reversed(told))


def test_a_new_owner_below_an_acknowledged_commit_is_found() -> None:
    told = history(
        ("a", assigned(1, 0)),
        ("a", Committed({0: 10})),
        ("b", assigned(2, 0)),
        ("b", processed(0, 9, 10)),
    )
    assert "started at 9, though 10" in rewound(told)[0]


def test_a_new_owner_at_the_acknowledged_commit_is_no_fault() -> None:
    told = history(("a", Committed({0: 10})), ("b", assigned(2, 0)), ("b", processed(0, 10)))
    assert rewound(told) == []


def test_a_commit_that_was_acknowledged_after_the_handover_binds_nobody() -> None:
    told = history(("b", assigned(2, 0)), ("a", Committed({0: 10})), ("b", processed(0, 0)))
    assert rewound(told) == []


def test_a_partition_that_a_cooperative_member_kept_goes_on_where_it_was() -> None:
    told = history(
        ("a", assigned(1, 0)),
        ("a", processed(0, 0, 1)),
        ("a", Committed({0: 2})),
        ("a", assigned(2, 1)),
        ("a", processed(0, 2)),
        ("a", processed(1, 0)),
    )
    assert rewound(told) == []


def test_a_lost_commit_is_found() -> None:
    told = history(("a", Committed({0: 10, 1: 5})), ("a", Committed({0: 12})))
    assert len(commits_lost(told, {0: 10})) == 2
    assert commits_lost(told, {0: 12, 1: 6}) == []


def test_a_generation_that_falls_is_found() -> None:
    told = history(("a", assigned(4)), ("b", assigned(3)), ("a", assigned(2)))
    (fault,) = went_back(told)
    assert "a went from generation 4 back to 2" in fault
