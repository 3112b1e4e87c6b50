"""Transactional copies by Java's client and by confluent-kafka; copiers and broker are killed.

With KAFKAESQUE_COMPAT_PEER=apache the same copies are made on Apache Kafka, and are exact there.
"""

import sys
from pathlib import Path

import pytest
from tests.compat.java_programs import java_program
from tests.compat.peer import running_peer
from tests.crash.copy_scene import CopyScene

ROUNDS = 3


@pytest.mark.compat
@pytest.mark.timeout(600)
def test_kills_of_java_copiers_and_broker_leave_an_exact_copy(tmp_path: Path) -> None:
    command = java_program("TransactionalCopier", tmp_path / "classes")
    with running_peer(tmp_path / "data") as peer, CopyScene(peer, command, tmp_path) as scene:
        scene.run(ROUNDS)


@pytest.mark.compat
@pytest.mark.timeout(600)
def test_kills_of_python_copiers_and_broker_leave_an_exact_copy(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.crash.copier"]
    with running_peer(tmp_path / "data") as peer, CopyScene(peer, command, tmp_path) as scene:
        scene.run(ROUNDS)
