"""Driver and broker killed with -9 while Spark writes to a topic: each row is there once."""

from pathlib import Path

import pytest
from tests.broker_process import BrokerProcess
from tests.crash.sink_kills import play


@pytest.mark.timeout(600)
def test_a_killed_driver_writes_nothing_twice(broker: BrokerProcess, tmp_path: Path) -> None:
    play(broker, tmp_path, rounds=1, seed=3)


@pytest.mark.crash
@pytest.mark.timeout(1800)
def test_driver_and_broker_killed_again_and_again_write_each_row_once(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    play(broker, tmp_path, rounds=30, seed=11)
