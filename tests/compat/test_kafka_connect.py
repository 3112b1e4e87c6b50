"""Kafka Connect: a standalone worker that copies a file, and a distributed one with an exactly-once
source, worker and broker killed between.

The connector (clients/java/NumbersConnector.java) writes numbers and keeps in its source offsets
which is next: read committed, each must be there once and in order.
"""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests import foreign
from tests.broker_process import free_port
from tests.compat.committed import CommittedReader
from tests.compat.connect_process import ConnectProcess
from tests.compat.java_programs import ecosystem_program
from tests.compat.peer import Peer

pytestmark = [pytest.mark.compat, pytest.mark.timeout(400)]

PATIENCE_S = 120.0
COUNT = 3000
STRINGS = {
    f"{part}.converter": "org.apache.kafka.connect.storage.StringConverter"
    for part in ("key", "value")
}


class Worker:
    """One worker and its REST interface."""

    def __init__(self, bootstrap: str, place: Path) -> None:
        classes = place / "classes"
        ecosystem_program("NumbersConnector", classes)
        self._url = f"http://127.0.0.1:{free_port()}"
        settings = {
            "group.id": "workers",
            "listeners": self._url,
            "exactly.once.source.support": "enabled",
            **STRINGS,
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "1000",
        }
        settings["bootstrap.servers"] = bootstrap
        for what in ("config", "offset", "status"):
            settings[f"{what}.storage.topic"] = f"connect-{what}"
            settings[f"{what}.storage.replication.factor"] = "1"
        main_class = "org.apache.kafka.connect.cli.ConnectDistributed"
        self.process = ConnectProcess(main_class, place, settings, classes=classes)

    def create(self, name: str, settings: dict[str, str]) -> None:
        """As soon as the worker takes it."""
        foreign.until(lambda: self._put(f"/connectors/{name}/config", settings), PATIENCE_S)

    def _put(self, path: str, content: Any) -> bool:
        self.process.check()
        request = urllib.request.Request(self._url + path, json.dumps(content).encode())
        request.method = "PUT"
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return bool(answer.status == 201)
        except OSError:
            return False


@pytest.fixture
def worker(peer: Peer, tmp_path: Path) -> Iterator[Worker]:
    worker = Worker(peer.bootstrap, tmp_path)
    yield worker
    worker.process.kill()


def test_a_sources_numbers_are_exact_when_worker_and_broker_are_killed(
    peer: Peer, worker: Worker
) -> None:
    topic = foreign.create_topic(peer.bootstrap)
    worker.process.start()
    settings = {"connector.class": "NumbersConnector", "tasks.max": "1"}
    settings |= {"topic": topic, "count": str(COUNT), "transaction.boundary": "poll"}
    worker.create("numbers", settings)
    reader = CommittedReader(peer.bootstrap, topic, 1)
    reader.read_until(COUNT // 4, worker.process.check)
    worker.process.kill()
    worker.process.start()
    reader.read_until(COUNT // 2, worker.process.check)
    peer.kill()
    peer.start()
    reader.read_until(COUNT, worker.process.check)
    reader.rest()
    reader.close()
    assert [value for _, value in reader.records] == [b"%d" % number for number in range(COUNT)]


def test_a_standalone_worker_copies_a_file_over_a_topic(peer: Peer, tmp_path: Path) -> None:
    topic = foreign.create_topic(peer.bootstrap)
    source, sink = tmp_path / "source.txt", tmp_path / "sink.txt"
    source.write_text("".join(f"line {number}\n" for number in range(COUNT)))
    worker = {"bootstrap.servers": peer.bootstrap, **STRINGS}
    worker |= {"listeners": f"http://127.0.0.1:{free_port()}"}
    worker |= {"offset.storage.file.filename": str(tmp_path / "offsets")}
    reads = {"name": "reads", "connector.class": "FileStreamSource", "topic": topic}
    writes = {"name": "writes", "connector.class": "FileStreamSink", "topics": topic}
    reads["file"], writes["file"] = str(source), str(sink)
    main_class = "org.apache.kafka.connect.cli.ConnectStandalone"
    process = ConnectProcess(main_class, tmp_path, worker, reads, writes)
    process.start()
    try:
        foreign.until(lambda: _copied(process, source, sink), PATIENCE_S)
    finally:
        process.kill()


def _copied(process: ConnectProcess, source: Path, sink: Path) -> bool:
    process.check()
    return sink.exists() and sink.read_text() == source.read_text()
