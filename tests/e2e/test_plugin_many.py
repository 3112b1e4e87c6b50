"""Five hundred tests, each with a fresh broker: quick, and nothing is left of them.

They run in a pytest of their own, plainly and spread over two processes by xdist. When a process is
done, it writes down what it had after its first test and what it has now: its threads (Python's and
the system's), open descriptors and listening ports.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.inner_pytest import run_pytest

pytestmark = pytest.mark.slow

COUNT = 500

TESTS = f"""
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

@pytest.mark.parametrize("number", range({COUNT}))
def test_an_event_comes_back(kafka, number):
    reports = []
    producer = Producer({{"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 0}})
    producer.produce("t", str(number), on_delivery=lambda error, message: reports.append(error))
    assert producer.flush(60) == 0
    assert reports == [None]
    consumer = Consumer({{"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g"}})
    consumer.assign([TopicPartition("t", 0, 0)])
    message = consumer.poll(60)
    consumer.close()
    assert message.value() == str(number).encode()
    assert kafka.latest("t") == (0, str(number))
"""

CONFTEST = """
import gc, json, os, threading, time
from pathlib import Path

LISTENING = "0A"
records = []

def listening():
    sockets = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING:
                sockets.add(f"socket:[{fields[9]}]")
    return sockets

def opened():
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except FileNotFoundError:
            pass
    return found

def state():
    gc.collect()
    links = opened()
    return {
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "tasks": len(os.listdir("/proc/self/task")),
        "descriptors": len(links),
        "ports": sorted(set(links) & listening()),
    }

def pytest_runtest_logfinish():
    if not records:
        records.append(state())

def pytest_sessionfinish(session):
    if "PYTEST_XDIST_WORKER" in os.environ or not session.config.option.numprocesses:
        deadline = time.monotonic() + PATIENCE_S
        while state()["tasks"] > records[0]["tasks"] and time.monotonic() < deadline:
            time.sleep(0.01)
        records.append(state())
        Path(f"left-{os.getpid()}.json").write_text(json.dumps(records))
"""


FORGETFUL_TESTS = """
import pytest
from kafkaesque.testing import Kafka

left_open = []

@pytest.mark.parametrize("number", range(3))
def test_it(number):
    if number:
        broker = Kafka()
        broker.serve()
        left_open.append(broker)
"""


def run(
    directory: Path, tests: str, *arguments: str, patience_s: float = 60
) -> tuple[str, list[Any]]:
    """What pytest says, and what each process wrote down: librdkafka's threads end in their own
    time."""
    conftest = f"PATIENCE_S = {patience_s}\n{CONFTEST}"
    said = run_pytest(directory, {"conftest.py": conftest, "test_many.py": tests}, *arguments)
    return said, [json.loads(path.read_text()) for path in directory.glob("left-*.json")]


@pytest.mark.parametrize(("arguments", "processes"), [((), 1), (("-n", "2"), 2)])
def test_five_hundred_brokers_leave_nothing_behind(
    tmp_path: Path, arguments: tuple[str, ...], processes: int
) -> None:
    said, records = run(tmp_path, TESTS, *arguments)
    assert f"{COUNT} passed" in said, said
    assert len(records) == processes
    for after_the_first, at_the_end in records:
        assert at_the_end["ports"] == []
        assert at_the_end["threads"] == after_the_first["threads"]
        assert "kafkaesque" not in at_the_end["threads"]
        assert at_the_end["tasks"] <= after_the_first["tasks"]
        assert at_the_end["descriptors"] <= after_the_first["descriptors"]


def test_brokers_that_are_left_open_would_be_seen(tmp_path: Path) -> None:
    _, [(after_the_first, at_the_end)] = run(tmp_path, FORGETFUL_TESTS, patience_s=0.5)
    assert len(at_the_end["ports"]) == 2
    assert at_the_end["threads"].count("kafkaesque") == 2
    assert at_the_end["tasks"] > after_the_first["tasks"]
    assert at_the_end["descriptors"] > after_the_first["descriptors"]
