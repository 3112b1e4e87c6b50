"""So many connections, and so many from one address; then none until one has gone."""

import logging
import resource

import pytest

from kafkaesque.broker.connection_limits import ConnectionLimits


def test_one_more_than_may_be_is_sent_away_until_another_has_gone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    limits = ConnectionLimits(2, 100)
    assert limits.enter("a")
    assert limits.enter("b")
    with caplog.at_level(logging.WARNING):
        assert not limits.enter("c")
    assert "max.connections" in caplog.text
    assert limits.refused == 1
    limits.leave("a")
    assert limits.enter("c")


def test_an_address_has_a_limit_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    limits = ConnectionLimits(100, 1)
    assert limits.enter("a")
    with caplog.at_level(logging.WARNING):
        assert not limits.enter("a")
    assert "a: it has 1 already (max.connections.per.ip)" in caplog.text
    assert limits.enter("b")
    limits.leave("a")
    assert limits.enter("a")


def test_half_of_the_files_that_may_be_open_are_left_to_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (200, 1000))
    limits = ConnectionLimits(1000, 1000)
    assert [limits.enter("a") for _ in range(101)] == [True] * 100 + [False]


def test_so_are_all_that_the_log_has_open_and_a_few_for_its_housekeeping(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (200, 1000))
    open_logs = 120
    limits = ConnectionLimits(1000, 1000, lambda: open_logs)
    assert [limits.enter("a") for _ in range(17)] == [True] * 16 + [False]
    open_logs = 110
    assert limits.enter("a")
    # Whoever is to mend that has to get in.
    open_logs = 200
    for _ in range(17):
        limits.leave("a")
    assert limits.enter("a")
    assert not limits.enter("a")
