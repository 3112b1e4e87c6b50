"""When events are due, with a clock that the test turns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.demo.pace import SLICE_S, Pace

START_S = 1000.0


def sent_within(rate: float, seconds: float, wakes_late_by_s: float = 0.0) -> int:
    """How many a sender sends that takes all that is due, and then waits as it is told."""
    pace, now_s, sent = Pace(rate, START_S), START_S, 0
    while now_s < START_S + seconds:
        due = pace.due(now_s)
        pace.take(due)
        sent += due
        now_s += pace.wait_s(now_s) + wakes_late_by_s
    return sent


def test_the_first_is_due_at_once_and_the_second_when_its_time_has_come() -> None:
    pace = Pace(10.0, START_S)
    assert pace.due(START_S) == 1
    pace.take(1)
    assert pace.due(START_S) == 0
    assert pace.wait_s(START_S) == pytest.approx(0.1)
    assert pace.due(START_S + 0.101) == 1


@given(
    st.floats(min_value=0.5, max_value=100_000.0),
    st.floats(min_value=0.0, max_value=0.05),
)
def test_the_rate_holds_even_if_every_wait_is_too_long(rate: float, late_s: float) -> None:
    seconds = 10.0
    expected = rate * seconds
    slice_of_them = rate * (SLICE_S + late_s) + 2
    assert abs(sent_within(rate, seconds, late_s) - expected) <= slice_of_them


def test_a_high_rate_is_sent_in_slices() -> None:
    pace = Pace(50_000.0, START_S)
    pace.take(pace.due(START_S))
    assert pace.wait_s(START_S) == SLICE_S
    assert pace.due(START_S + SLICE_S) == pytest.approx(250, abs=1)


def test_what_was_missed_is_caught_up_with_by_one_second_at_most() -> None:
    pace = Pace(100.0, START_S)
    pace.take(pace.due(START_S))
    assert pace.due(START_S + 60.0) == 100
    pace.take(100)
    assert pace.due(START_S + 60.0) == 0
    assert pace.due(START_S + 60.505) == 50


def test_what_could_not_be_taken_stays_due() -> None:
    pace = Pace(100.0, START_S)
    due = pace.due(START_S + 0.5)
    pace.take(due - 10)
    assert pace.due(START_S + 0.5) == 10
