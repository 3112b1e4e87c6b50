"""Reading has a share of each turn of the loop, and then waits for the next."""

import pytest

from kafkaesque.broker import turn
from kafkaesque.broker.turn import Turn


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(turn, "monotonic", clock)
    return clock


def test_a_turn_is_spent_when_its_share_is_used_up_by_all_together(clock: Clock) -> None:
    shared = Turn()
    assert not shared.is_spent(1.0)
    clock.now += 0.004
    assert not shared.is_spent(1.0)
    clock.now += 0.002
    assert shared.is_spent(1.0)
    assert shared.is_spent(1.0)


def test_the_next_turn_begins_anew_however_long_the_last_one_was(clock: Clock) -> None:
    shared = Turn()
    shared.is_spent(1.0)
    clock.now += 60
    assert shared.is_spent(1.0)
    assert not shared.is_spent(1.05)
    assert not shared.is_spent(1.05)
