"""An archive in a process of its own, with Spark's JVM and workers, all of which can be killed."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

DRIVER = Path(__file__).with_name("lake_driver.py")


class LakeProcess:
    def __init__(self, brokers: str, topic: str, place: Path, rows: int) -> None:
        self._command = [
            sys.executable,
            DRIVER,
            brokers,
            topic,
            place / "lake",
            place / "kept",
            rows,
        ]
        self.told: list[dict[str, Any]] = []
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> "LakeProcess":
        """Start, and return when it has a session."""
        self.told = []
        command = [str(each) for each in self._command]
        environ = {**os.environ, "PYTHONPATH": str(DRIVER.parents[1])}
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environ,
            start_new_session=True,
        )
        threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()
        self.until(lambda: bool(self.told), 300)
        return self

    def until(self, condition: Callable[[], object], timeout_s: float = 100) -> None:
        deadline_s = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < deadline_s, f"not within {timeout_s} s: {self.told[-3:]}"
            time.sleep(0.05)

    def batches(self) -> int:
        return sum("batch" in each for each in self.told)

    def kill(self) -> None:
        """Driver, JVM and workers at once."""
        process, self._process = self._process, None
        if process is None:
            return
        for pid in _of_session(process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        process.wait()

    def _listen(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                self.told.append(json.loads(line))

    def __enter__(self) -> "LakeProcess":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()


def _of_session(leader: int) -> list[int]:
    """The leader first: the JVM has a group of its own, but no session."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader:
            found.append(int(path.parent.name))
    return sorted(found, key=lambda pid: pid != leader)
