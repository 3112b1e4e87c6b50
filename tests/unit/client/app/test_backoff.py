"""Waits grow, up to a limit, and half of each is left to chance."""

from kafkaesque.client.app.backoff import Backoff


def test_the_wait_doubles_up_to_the_limit() -> None:
    backoff = Backoff(0.5, 3.0)
    assert [backoff.delay_s(attempt, 1.0) for attempt in range(1, 6)] == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_half_of_the_wait_is_left_to_chance() -> None:
    assert Backoff(1.0, 8.0).delay_s(3, 0.0) == 2.0
    waits = {Backoff(1.0, 8.0).delay_s(3) for _ in range(50)}
    assert len(waits) > 1
    assert all(2.0 <= wait <= 4.0 for wait in waits)


def test_after_many_attempts_it_is_still_the_limit() -> None:
    assert Backoff(0.5, 30.0).delay_s(100_000, 1.0) == 30.0
