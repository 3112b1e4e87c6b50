"""The processes of a fan-out: they share a port, answer for each other, and are started again."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
from tests.foreign import TIMEOUT_S, until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


class Workers:
    """`python -m tests.fanout_workers N`, and what its pages say."""

    def __init__(self, process: "subprocess.Popen[str]", directory: Path) -> None:
        self.process = process
        self._directory = directory
        assert process.stdout is not None
        self.ports = [int(port) for port in process.stdout.readline().split()]

    @property
    def log(self) -> str:
        return (self._directory / "log").read_text()

    @property
    def sockets(self) -> list[Path]:
        """The directory of their Unix sockets."""
        return list(self._directory.glob("kafkaesque-*"))

    def page(self, path: str, port: int | None = None) -> str:
        url = f"http://127.0.0.1:{port or self.ports[0]}{path}"
        with urlopen(url, timeout=TIMEOUT_S) as answer:
            text: str = answer.read().decode()
            return text

    def stats(self) -> dict[str, Any]:
        stats: dict[str, Any] = json.loads(self.page("/stats"))
        return stats

    def pids(self) -> dict[int, int]:
        return {row["worker"]: row["pid"] for row in self.stats()["workers"]}

    def metric(self, name: str) -> float:
        found = re.search(rf"^kafkaesque_fanout_{name} (\S+)$", self.page("/metrics"), re.MULTILINE)
        assert found
        return float(found[1])


@contextmanager
def workers(count: int) -> Iterator[Workers]:
    # Not tmp_path: a Unix socket has a short name.
    with TemporaryDirectory() as directory, (Path(directory) / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.fanout_workers", str(count)],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": directory},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        with process:
            try:
                yield Workers(process, Path(directory))
            finally:
                if process.poll() is None:
                    process.terminate()
                process.wait(TIMEOUT_S)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def answers(running: Workers, path: str) -> bool:
    """A worker that has just died may have taken the connection with it."""
    try:
        running.page(path)
    except (HTTPError, URLError, ConnectionError):
        return False
    return True


def test_whoever_is_asked_answers_for_all() -> None:
    with workers(3) as running:
        served = {running.page("/pid", port) for _ in range(30) for port in running.ports}
        assert len(served) > 1
        assert served <= {str(pid) for pid in running.pids().values()}
        asked = running.stats()["delivered"]
        assert [running.metric("delivered_total") for _ in range(5)] == [
            asked + n for n in range(1, 6)
        ]
        assert running.metric("workers_answering") == 3
        assert json.loads(running.page("/health"))["status"] == "ok"
        assert [place.stat().st_mode & 0o777 for place in running.sockets] == [0o700]


def test_a_killed_worker_is_started_again() -> None:
    with workers(3) as running:
        before = running.pids()
        os.kill(before[1], signal.SIGKILL)
        until(lambda: answers(running, "/health") and "serves again" in running.log)
        after = running.pids()
        assert (after[0], after[2]) == (before[0], before[2])
        assert after[1] != before[1]
        assert 'worker_restarts_total{worker="1"} 1\n' in running.page("/metrics")
        assert "worker 1 has ended (by SIGKILL)" in running.log
        assert running.page("/pid", running.ports[1])


def test_a_worker_that_hangs_is_reported_and_delays_nobody_for_long() -> None:
    with workers(2) as running:
        pids = running.pids()
        os.kill(pids[1], signal.SIGSTOP)
        try:
            # The kernel still gives it connections; those that worker 0 gets are answered.
            answers = (health(running) for _ in range(20))
            answer = next(filter(None, answers))
            assert answer == (503, ["worker 1 does not answer"], 2, 1)
        finally:
            os.kill(pids[1], signal.SIGCONT)


def health(running: Workers) -> tuple[int, list[str], int, int] | None:
    """Status, reasons, workers and those that answer; None if nothing comes."""
    try:
        answer = urlopen(f"http://127.0.0.1:{running.ports[0]}/health", timeout=3)
    except HTTPError as refusal:
        answer = refusal
    except OSError:
        return None
    with answer:
        said = json.loads(answer.read())
    return answer.status, said["reasons"], said["workers"], said["workers_answering"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_all(number: signal.Signals) -> None:
    with workers(2) as running:
        pids = [running.process.pid, *running.pids().values()]
        running.process.send_signal(number)
        assert running.process.wait(TIMEOUT_S) == 0
        assert [pid for pid in pids if is_running(pid)] == []
        assert running.sockets == []
        assert "Traceback" not in running.log


def test_workers_end_with_their_parent() -> None:
    with workers(2) as running:
        pids = running.pids().values()
        running.process.kill()
        until(lambda: not any(map(is_running, pids)))


def test_hanging_up_reaches_every_worker() -> None:
    with workers(2) as running:
        running.process.send_signal(signal.SIGHUP)
        until(lambda: running.metric("refused_total") == 2)


def test_one_worker_is_this_process() -> None:
    with workers(1) as running:
        assert running.page("/pid") == str(running.process.pid)
        assert running.metric("workers_answering") == 1
        running.process.send_signal(signal.SIGHUP)
        until(lambda: running.metric("refused_total") == 1)
        running.process.terminate()
        assert running.process.wait(TIMEOUT_S) == 0


@pytest.mark.parametrize("count", [1, 2])
def test_a_start_that_fails_is_reported_and_leaves_nothing(count: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fanout_workers", str(count), "refuse"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 1
    assert f"no start with {count} workers\n" in done.stderr
    assert "Traceback" not in done.stderr
