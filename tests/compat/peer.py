"""Which broker the compatibility tests run against: ours, or Apache Kafka when
KAFKAESQUE_COMPAT_PEER=apache.

The second answers "does the test itself hold on the original?". Both have the shape of Peer.
Settings are given by Kafka's names, which both brokers know. Above: conftest.py. Below:
apache_kafka.py, tests/broker_process.py.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tests.broker_process import BrokerProcess
from tests.compat.apache_kafka import ApacheKafka

PEER_VARIABLE = "KAFKAESQUE_COMPAT_PEER"


class Peer(Protocol):
    """A broker in a process of its own: stopped or killed, it starts again where it was."""

    @property
    def bootstrap(self) -> str: ...
    @property
    def data_dir(self) -> Path: ...
    @property
    def pid(self) -> int: ...
    def start(self) -> object: ...
    def stop(self) -> object: ...
    def kill(self) -> None: ...


def is_apache() -> bool:
    return os.environ.get(PEER_VARIABLE, "kafkaesque") == "apache"


@contextmanager
def running_peer(data_dir: Path, settings: Mapping[str, str] | None = None) -> Iterator[Peer]:
    """A started broker, stopped in the end unless the test has done so."""
    peer = new_peer(data_dir, settings or {})
    peer.start()
    try:
        yield peer
    finally:
        peer.stop()


def new_peer(data_dir: Path, settings: Mapping[str, str]) -> Peer:
    if is_apache():
        return ApacheKafka(data_dir, settings)
    flags = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    return BrokerProcess(data_dir, *flags)
