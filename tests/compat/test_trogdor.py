"""Trogdor, Kafka's own framework of tests: its agent sends records round, and counts them."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker_process import free_port
from tests.compat import tools
from tests.compat.peer import Peer

pytestmark = [pytest.mark.compat, pytest.mark.timeout(200)]

COUNT = 2000
TIMEOUT_S = 120


def test_every_record_comes_round(peer: Peer, tmp_path: Path) -> None:
    ports = {"trogdor.agent.port": free_port(), "trogdor.coordinator.port": free_port()}
    platform = "org.apache.kafka.trogdor.basic.BasicPlatform"
    node = {"hostname": "localhost", **ports}
    (tmp_path / "agent.json").write_text(json.dumps({"platform": platform, "nodes": {"n": node}}))
    task = {
        "class": "org.apache.kafka.trogdor.workload.RoundTripWorkloadSpec",
        "startMs": 0,
        "durationMs": TIMEOUT_S * 1000,
        "clientNode": "n",
        "bootstrapServers": peer.bootstrap,
        "targetMessagesPerSec": 1000,
        "maxMessages": COUNT,
        "activeTopics": {"round[1-2]": {"numPartitions": 2, "replicationFactor": 1}},
    }
    (tmp_path / "task.json").write_text(json.dumps(task))
    path = ":".join(map(str, tools.ecosystem_jars()))
    command = ["java", "-Xmx256m", "-cp", path, "org.apache.kafka.trogdor.agent.Agent"]
    command += ["--agent.config", str(tmp_path / "agent.json"), "--node-name", "n"]
    command += ["--exec", str(tmp_path / "task.json")]
    with (tmp_path / "stderr").open("w+") as stderr:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
        with process:
            output = "".join(_until_its_end(process))
            # On a busy machine its shutdown hook may wait for ever for its own web server.
            process.kill()
        stderr.seek(0)
        assert "Task succeeded" in output, stderr.read()[-2000:]
    (status,) = output.split("Task succeeded with status ")[1:]
    counts, _ = json.JSONDecoder().raw_decode(status)
    assert counts == {"totalUniqueSent": COUNT, "totalReceived": COUNT}


def _until_its_end(process: "subprocess.Popen[str]") -> Iterator[str]:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("Running agent shutdown hook"):
            return
        yield line
