"""The source with executors in processes of their own, as on a cluster."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests import foreign
from tests.broker_process import BrokerProcess

DRIVER = Path(__file__).parents[1] / "spark_cluster_driver.py"


@pytest.mark.timeout(300)
def test_executors_read_plain_and_typed(broker: BrokerProcess, tmp_path: Path) -> None:
    topic = foreign.create_topic(broker.bootstrap, partitions=2)
    values = [b'{"n": %d}' % each for each in range(100)]
    foreign.produce(broker.bootstrap, topic, [*values, b"?"])
    foreign.produce(broker.bootstrap, topic, values, partition=1)
    # From elsewhere: nothing is importable because it happens to lie in the directory.
    done = subprocess.run(
        [sys.executable, str(DRIVER), "local-cluster[2,1,1024]", broker.bootstrap, topic],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == {"raw": [201, 100], "decoded": [1, 9900], "executors": 2}
