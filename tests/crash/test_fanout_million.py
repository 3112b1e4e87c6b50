"""Whatever happens, over a million records: see tests/e2e/test_fanout_exactness.py."""

from pathlib import Path

import pytest
from tests.broker_process import BrokerProcess
from tests.fanout_world import exact


@pytest.mark.crash
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", [1, 2])
def test_everything_of_a_million_is_delivered_or_reported(tmp_path: Path, seed: int) -> None:
    partitioner = "murmur2_random" if seed % 2 else "consistent_random"
    with BrokerProcess(tmp_path / "data") as broker:
        exact(broker, tmp_path, 1_000_000, 60, partitioner, seed)
