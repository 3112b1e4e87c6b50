"""Histories of transactions through pauses, kills, zombies and delayed ends: nothing is lost,
duplicated, aborted and yet read, or torn. And brokers that are broken on purpose are found out.
"""

from pathlib import Path

import pytest
from tests.broker_process import BrokerProcess
from tests.crash.broken_brokers import FAULTS, HASTY_OFFSETS, WHOLE, BrokenBroker, Fault
from tests.crash.copy_scene import copying_problems
from tests.crash.history import Kind
from tests.crash.nemeses import kill, pause
from tests.crash.play import Play

pytestmark = pytest.mark.slow

_SETTINGS = (
    # Checkpoints and rolls are under way when the kill comes.
    "log.segment.bytes=65536",
    "log.flush.offset.checkpoint.interval.ms=50",
)
_SHORT_S = 0.7
_ATTEMPTS = 20


@pytest.mark.timeout(300)
def test_pauses_kills_zombies_and_delays_break_no_transaction(tmp_path: Path) -> None:
    _play(tmp_path, seed=1, seconds=8)


@pytest.mark.crash
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(100, 110))
def test_a_minute_of_pauses_kills_zombies_and_delays_breaks_no_transaction(
    tmp_path: Path, seed: int
) -> None:
    _play(tmp_path, seed, seconds=60)


def _play(tmp_path: Path, seed: int, seconds: float) -> None:
    settings = [word for setting in _SETTINGS for word in ("--set", setting)]
    with BrokerProcess(tmp_path / "data", *settings) as broker:
        play = Play(broker.bootstrap, seed, ("retry", "zombie", "delayed", "outlived"))
        anomalies = play.run(seconds, broker, (kill, pause))
        assert anomalies[:10] == []
        assert "Traceback" not in broker.log


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_broker_that_is_broken_on_purpose_is_found_out(fault: Fault) -> None:
    found: set[Kind] = set()
    for _ in range(_ATTEMPTS):  # On a busy machine little happens in so short a time.
        with BrokenBroker(fault) as broker:
            play = Play(broker.bootstrap, scenes=fault.scenes)
            broker.break_topic(play.arena.topic)
            found |= {anomaly.kind for anomaly in play.run(_SHORT_S)}
        if found >= fault.shows:
            break
    assert found >= fault.shows


def test_the_same_broker_is_not_complained_about_when_it_is_whole() -> None:
    with BrokenBroker(WHOLE) as broker:
        assert Play(broker.bootstrap).run(_SHORT_S) == []


@pytest.mark.parametrize(
    ("fault", "is_exact"), [(HASTY_OFFSETS, False), (WHOLE, True)], ids=["hasty", "whole"]
)
def test_offsets_that_outlive_their_transaction_are_found_out(fault: Fault, is_exact: bool) -> None:
    """Their records are never copied: the transaction that did was aborted."""
    with BrokenBroker(fault) as broker:
        problems = copying_problems(broker.bootstrap)
    assert (problems == []) == is_exact
