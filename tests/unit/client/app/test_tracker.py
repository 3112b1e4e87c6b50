"""What may be committed, with events done out of order."""

import pytest

from kafkaesque.client.app.tracker import Tracker


def begun(*offsets: int) -> Tracker:
    tracker = Tracker()
    for offset in offsets:
        tracker.begin(offset)
    return tracker


def test_nothing_may_be_committed_before_the_first_event() -> None:
    assert Tracker().position is None


def test_the_position_is_the_first_event_that_is_not_done() -> None:
    tracker = begun(4, 5, 6, 7, 8)
    assert tracker.position == 4
    for offset, position in [(5, 4), (7, 4), (4, 6), (8, 6), (6, 9)]:
        tracker.finish(offset)
        assert tracker.position == position
    assert (tracker.unfinished, tracker.finished) == (0, 5)


def test_offsets_that_are_not_there_are_passed_over() -> None:
    tracker = begun(3, 10, 20)
    tracker.finish(3)
    assert tracker.position == 10
    tracker.finish(10)
    assert tracker.position == 20


def test_finishing_twice_or_something_unknown_changes_nothing() -> None:
    tracker = begun(0, 1)
    for offset in (0, 0, 17):
        tracker.finish(offset)
    assert (tracker.position, tracker.finished) == (1, 1)
    assert not tracker.is_open(0)
    assert tracker.is_open(1)


def test_offsets_that_go_back_are_refused() -> None:
    with pytest.raises(ValueError, match="offset 2 comes after 2"):
        begun(1, 2, 2)
