"""Ours, as `kafkaesque broker` runs it: durable as it comes, and with `write.caching=true`."""

import platform
from collections.abc import Mapping
from importlib.metadata import version

from benchmarks.peers.peer import Kind, Peer, Variant
from tests.broker_process import BrokerProcess

DURABLE = Variant(
    "durable", Kind.DEFAULT, "Kafkaesque as it comes: fdatasync before each acknowledgement"
)
CACHED = Variant(
    "caching",
    Kind.CACHED,
    "Kafkaesque with `write.caching=true`: acknowledges from the page cache, as Kafka does",
    {"write.caching": "true"},
)


def _versions() -> Mapping[str, str]:
    return {
        "Kafkaesque": version("kafkaesque-broker"),
        "Python": platform.python_version(),
        "uvloop": version("uvloop"),
    }


KAFKAESQUE = Peer("Kafkaesque", BrokerProcess, _versions, (DURABLE, CACHED))
