"""Whatever happens, each subscription gets exactly what it asked for, or is told what it missed.

The world is tests/fanout_world.py. A million records with `make crash`, fewer here.
"""

from pathlib import Path

import pytest
from tests.broker_process import BrokerProcess
from tests.fanout_world import exact

pytestmark = pytest.mark.slow


@pytest.mark.timeout(300)
@pytest.mark.parametrize("partitioner", ["murmur2_random", "consistent_random"])
def test_everything_is_delivered_or_reported(tmp_path: Path, partitioner: str) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        exact(broker, tmp_path, 60_000, 24, partitioner, seed=7)
