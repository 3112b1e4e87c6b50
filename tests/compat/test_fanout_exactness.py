"""What tests/e2e/test_fanout_exactness.py asks of the fan-out on our broker, on Apache Kafka."""

from pathlib import Path

import pytest
from tests.compat.apache_kafka import ApacheKafka
from tests.fanout_world import exact

pytestmark = pytest.mark.compat

# Who was killed may come back only when nobody believes any more that it is there.
QUICK_RETURN = {"broker.session.timeout.ms": "1000", "broker.heartbeat.interval.ms": "200"}


@pytest.mark.timeout(300)
def test_everything_is_delivered_or_reported(tmp_path: Path) -> None:
    kafka = ApacheKafka(tmp_path / "data", QUICK_RETURN)
    kafka.start()
    try:
        exact(kafka, tmp_path, 60_000, 24, "murmur2_random", seed=3)
    finally:
        kafka.stop()
