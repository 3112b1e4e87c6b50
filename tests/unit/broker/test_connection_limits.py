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
    monkeypatch.setattr(resource, "getrlimit", lambda which: (6, 100))
    limits = ConnectionLimits(100, 100)
    assert [limits.enter("a") for _ in range(4)] == [True, True, True, False]
