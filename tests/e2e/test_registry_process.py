"""The registry as a process: what it says about itself, how it starts, and how it ends."""

import re
import signal
import subprocess
from pathlib import Path

import httpx
import pytest
from tests.broker_process import COMMAND, BrokerProcess
from tests.registry_process import RegistryProcess

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs" / "reference"


def test_its_figures_are_those_of_the_reference(broker: BrokerProcess, tmp_path: Path) -> None:
    page = (DOCS / "metrics.md").read_text()
    section = page.partition("## The registry\n")[2].partition("\n## ")[0]
    documented = re.findall(r"^\| `(\w+)` \| (\w+) \|", section, re.MULTILINE)
    with RegistryProcess(broker.bootstrap, tmp_path / "log", "--timeout", "2") as registry:
        health = httpx.get(f"{registry.url}/health", timeout=60).json()
        assert health == {"status": "ok", "reasons": []}
        httpx.get(f"{registry.url}/subjects", timeout=60)
        figures = httpx.get(f"{registry.url}/metrics", timeout=60).text
        assert re.findall(r"^# TYPE (\w+) (\w+)$", figures, re.MULTILINE) == documented
        assert 'kafkaesque_registry_requests_total{method="GET",status="200"} 2' in figures
        broker.kill()
        answer = httpx.get(f"{registry.url}/health", timeout=60)
        assert (answer.status_code, answer.json()["status"]) == (503, "failing")
        # What it knows it still tells.
        assert httpx.get(f"{registry.url}/subjects", timeout=60).json() == []


def test_it_ends_at_once_and_quietly_when_told_twice(broker: BrokerProcess, tmp_path: Path) -> None:
    with RegistryProcess(broker.bootstrap, tmp_path / "log") as registry:
        registry.process.send_signal(signal.SIGINT)
        registry.process.send_signal(signal.SIGINT)
        assert registry.stop() == 0
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_a_topic_that_would_lose_schemas_is_refused(broker: BrokerProcess) -> None:
    for name, config, complaint in (
        ("two", ("-p", "2", "-c", "cleanup.policy=compact"), "has 2 partitions"),
        ("short", ("-c", "cleanup.policy=delete"), "is not compacted"),
    ):
        create = [COMMAND, "topic", "create", name, *config, "--brokers", broker.bootstrap]
        subprocess.run(create, check=True, capture_output=True, timeout=60)
        done = run("--brokers", broker.bootstrap, "--topic", name)
        assert done.returncode == 1
        assert f"the topic {name} {complaint}" in done.stderr


def test_without_a_cluster_it_does_not_start() -> None:
    done = run("--brokers", "127.0.0.1:1")
    assert done.returncode == 1
    assert done.stderr.startswith("kafkaesque: nothing answers at 127.0.0.1:1")


def run(*args: str) -> "subprocess.CompletedProcess[str]":
    command = [str(COMMAND), "registry", "--port", "0", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)
