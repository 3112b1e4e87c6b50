"""`kafkaesque demo ticks` against the peer: Apache Kafka takes them as ours does."""

import json
import subprocess

import pytest
from tests import foreign
from tests.broker_process import COMMAND
from tests.compat.peer import Peer

from kafkaesque.records.murmur2 import partition_for_key

pytestmark = pytest.mark.compat


def test_ticks_arrive_in_the_partitions_of_their_tickers(peer: Peer) -> None:
    topic = foreign.name("ticks")
    command = [str(COMMAND), "demo", "ticks", "-b", peer.bootstrap, "--topic", topic]
    done = subprocess.run(
        [*command, "-n", "500", "--rate", "2000"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"sent 500 ticks to {topic}" in done.stdout
    found = 0
    for partition in range(3):
        _, end = foreign.watermarks(peer.bootstrap, topic, partition)
        for message in foreign.read(peer.bootstrap, topic, end, partition=partition):
            key = message.key()
            assert isinstance(key, bytes)
            assert partition == partition_for_key(key, 3)
            assert json.loads(message.value() or b"")["ticker"] == key.decode()
            found += 1
    assert found == 500
