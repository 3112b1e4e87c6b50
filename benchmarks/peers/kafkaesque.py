"""Ours, as `kafkaesque broker` runs it: durable as it comes, and with `write.caching=true`.

It shows its metrics, for the delay of its event loop: at its own cost, a timer every 10 ms.
"""

import platform
from collections.abc import Mapping
from contextlib import closing
from http.client import HTTPConnection
from importlib.metadata import version
from pathlib import Path

from benchmarks.peers.loop_delay import LoopDelay
from benchmarks.peers.peer import Broker, Kind, Peer, Variant
from tests.broker_process import BrokerProcess, free_port

DURABLE = Variant(
    "durable", Kind.DEFAULT, "Kafkaesque as it comes: fdatasync before each acknowledgement"
)
CACHED = Variant(
    "caching",
    Kind.CACHED,
    "Kafkaesque with `write.caching=true`: acknowledges from the page cache, as Kafka does",
    {"write.caching": "true"},
)


class MeteredBroker(BrokerProcess):
    """With its page of metrics on a free port."""

    def __init__(self, data_dir: Path) -> None:
        self.metrics_port = free_port()
        super().__init__(data_dir, "--metrics-port", str(self.metrics_port))


def _loop_delay(broker: Broker) -> LoopDelay:
    assert isinstance(broker, MeteredBroker)
    with closing(HTTPConnection("127.0.0.1", broker.metrics_port, timeout=30)) as connection:
        connection.request("GET", "/metrics")
        return LoopDelay.parse(connection.getresponse().read().decode())


def _versions() -> Mapping[str, str]:
    return {
        "Kafkaesque": version("kafkaesque-broker"),
        "Python": platform.python_version(),
        "uvloop": version("uvloop"),
    }


KAFKAESQUE = Peer("Kafkaesque", MeteredBroker, _versions, (DURABLE, CACHED), _loop_delay)
