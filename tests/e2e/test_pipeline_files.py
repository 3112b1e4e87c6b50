"""A pipeline of a user's own by the command line: new, check, run, kill, run on, stop."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests import foreign
from tests.broker_process import COMMAND, BrokerProcess

pytestmark = pytest.mark.slow

SOON_S = 100
"""Spark starts in seconds, on a machine that has nothing else to do."""
MINUTE = "2026-11-16T02:0{minute}:{second:02d}.000000"


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with BrokerProcess(tmp_path_factory.mktemp("files") / "data") as process:
        yield process.bootstrap


class Directory:
    """Where a user works: commands run in it."""

    def __init__(self, place: Path, brokers: str) -> None:
        self.place = place
        self.brokers = brokers

    def pipeline(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND, "pipeline", *words], cwd=self.place, capture_output=True, text=True
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [str(COMMAND), "pipeline", "run", *words, "--brokers", self.brokers]
        return subprocess.Popen(command, cwd=self.place, stderr=subprocess.PIPE, text=True)

    def status(self, name: str) -> dict[str, Any]:
        done = self.pipeline("status", name, "--brokers", self.brokers, "--format", "json")
        found = json.loads(done.stdout) if done.returncode == 0 else [{"state": "unknown"}]
        return dict(found[0])


def ticks(first: int, stop: int, minute: int = 1) -> list[bytes]:
    return [
        json.dumps(
            {
                "event_time": MINUTE.format(minute=minute, second=each % 60),
                "ticker": "AMZN",
                "price": float(each),
            }
        ).encode()
        for each in range(first, stop)
    ]


def results(brokers: str) -> list[dict[str, Any]]:
    found = foreign.values(foreign.read_all(brokers, "prices_result"))
    return [json.loads(value or b"") for value in found]


def rows_in(status: dict[str, Any]) -> dict[str, int]:
    """By sink."""
    return {query["sink"]: query["rows_in"] for query in status.get("queries", [])}


@pytest.mark.timeout(600)
def test_new_check_run_kill_resume_stop(tmp_path: Path, brokers: str) -> None:
    user = Directory(tmp_path, brokers)
    topic = foreign.create_topic(brokers)
    foreign.create_topic(brokers, "prices_result")
    foreign.produce(brokers, topic, ticks(0, 30))

    assert user.pipeline("new", "prices", "--topic", topic).returncode == 0
    again = user.pipeline("new", "prices")
    assert again.returncode == 1
    assert "is there already" in again.stderr

    checked = user.pipeline("check", "prices.py", "--brokers", brokers)
    assert checked.returncode == 0, checked.stderr
    assert "average: double" in checked.stdout
    assert "Physical Plan" in checked.stdout
    assert not results(brokers)

    with user.start("prices.py") as process:
        foreign.until(lambda: [each["ticks"] for each in results(brokers)] == [30], SOON_S)
        process.kill()
    assert user.status("prices")["state"] in ("running", "lost")

    foreign.produce(brokers, topic, ticks(30, 45))
    with user.start("prices.py") as process:
        foreign.until(lambda: results(brokers)[-1]["ticks"] == 45, SOON_S)
        assert results(brokers)[-1]["average"] == 22.0
        # It tells of a batch after its rows are written.
        foreign.until(lambda: rows_in(user.status("prices")) == {"prices_result": 15})
        assert user.status("prices")["state"] == "running"
        stopped = user.pipeline("stop", "prices", "--brokers", brokers)
        assert stopped.returncode == 0, stopped.stderr
        assert process.wait(SOON_S) == 0
    assert user.status("prices")["state"] == "finished"
    assert [each["ticks"] for each in results(brokers)] == [30, 45]


def test_a_mistake_is_told_before_anything_runs(tmp_path: Path, brokers: str) -> None:
    user = Directory(tmp_path, brokers)
    topic = foreign.create_topic(brokers)
    user.pipeline("new", "wrong", "--topic", topic)
    file = tmp_path / "wrong.py"
    file.write_text(file.read_text().replace('avg("price")', 'avg("prize")'))
    checked = user.pipeline("check", "wrong.py", "--brokers", brokers)
    assert checked.returncode == 1
    assert "wrong: " in checked.stderr
    assert "`prize` cannot be resolved" in checked.stderr
    assert "Traceback" not in checked.stderr
