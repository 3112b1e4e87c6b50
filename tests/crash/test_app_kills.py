"""`kafkaesque run` killed with -9 in the middle of its work: nothing is skipped, poison is kept."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker_process import BrokerProcess
from tests.crash.app_kills import play

pytestmark = pytest.mark.slow

SETTINGS = {"session.timeout.ms": 1000, "heartbeat.interval.ms": 300}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    impatient = ("--set", "group.min.session.timeout.ms=100")
    with BrokerProcess(tmp_path / "data", *impatient) as process:
        yield process


def test_a_killed_app_skips_nothing(broker: BrokerProcess, tmp_path: Path) -> None:
    play(broker.bootstrap, tmp_path, rounds=3, kind="batch", seed=7, settings=SETTINGS)


@pytest.mark.crash
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("kind", "rounds"), [("batch", 100), ("one", 20), ("ack", 20)])
def test_an_app_that_is_killed_again_and_again_skips_nothing(
    broker: BrokerProcess, tmp_path: Path, kind: str, rounds: int
) -> None:
    play(broker.bootstrap, tmp_path, rounds, kind, seed=rounds, settings=SETTINGS)
