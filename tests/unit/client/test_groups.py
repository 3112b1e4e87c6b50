"""What a group's numbers mean: its lag, by partition and in all."""

import pytest

from kafkaesque.client.groups import Group, Lag


def lag(committed: int | None, latest: int | None) -> Lag:
    return Lag("billing", "orders", 0, committed, latest, None)


@pytest.mark.parametrize(
    ("committed", "latest", "behind"),
    [
        (3, 5, 2),
        (5, 5, 0),
        (None, 5, None),
        (3, None, None),
        # A topic that was deleted and made anew is shorter than the commit.
        (7, 5, 0),
    ],
)
def test_lag_is_what_lies_between_the_commit_and_the_end(
    committed: int | None, latest: int | None, behind: int | None
) -> None:
    assert lag(committed, latest).lag == behind


def test_the_lag_of_a_group_is_the_sum_of_what_is_known() -> None:
    lags = [lag(3, 5), lag(None, 9), lag(0, 4)]
    assert Group("billing", "Stable", 0, "range", [], lags).lag == 6
    assert Group("billing", "Empty", 0, "", [], []).lag == 0
