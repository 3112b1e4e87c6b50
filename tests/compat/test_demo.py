"""`kafkaesque demo ticks` on Apache Kafka itself."""

import json
import subprocess

import pytest
from tests import foreign
from tests.broker_process import COMMAND
from tests.compat.apache_kafka import ApacheKafka

from kafkaesque.records.murmur2 import partition_for_key

pytestmark = pytest.mark.compat


def test_ticks_arrive_in_the_partitions_of_their_tickers(apache_kafka: ApacheKafka) -> None:
    topic = foreign.name("ticks")
    command = [str(COMMAND), "demo", "ticks", "-b", apache_kafka.bootstrap, "--topic", topic]
    done = subprocess.run(
        [*command, "-n", "500", "--rate", "2000"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"sent 500 ticks to {topic}" in done.stdout
    found = 0
    for partition in range(3):
        _, end = foreign.watermarks(apache_kafka.bootstrap, topic, partition)
        for message in foreign.read(apache_kafka.bootstrap, topic, end, partition=partition):
            key = message.key()
            assert isinstance(key, bytes)
            assert partition == partition_for_key(key, 3)
            assert json.loads(message.value() or b"")["ticker"] == key.decode()
            found += 1
    assert found == 500
