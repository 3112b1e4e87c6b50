"""A pipeline as a user runs it: `kafkaesque pipeline run …`, in a session of its own, to be killed.

    kafkaesque ─► java ─┬─► pyspark.daemon, one for each kind of work ─► workers
                        └─► python_streaming_source_runner, a worker for each source

Processes are found by their session: the JVM and the daemons have process groups of their own. The
pipeline stays: what fails is started again, as often as it takes, and its log tells of each time.
"""

import os
import random
import signal
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from tests.broker_process import COMMAND

# A JVM that is not to grow old: it compiles quickly, and not well.
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_SETTINGS = ("spark.driver.memory=1g", f"spark.driver.extraJavaOptions={_JAVA}")
_SPARK = ("--master", "local[2]", *(f"--conf={each}" for each in _SETTINGS), "--stay")
_AGAIN = "it starts again in"
_DAEMON = b"pyspark.daemon"

TASKS = (b"pyspark.worker",)
COMMITS = (b"python_streaming_sink_runner", b"commit_data_source_write")
PLANS = (b"python_streaming_source_runner",)
"""What workers do: the modules that do it."""


class PipelineProcess:
    """Runs from `start` to `kill`, again and again; nothing of it is left after a `with`."""

    def __init__(self, log_path: Path, *words: str) -> None:
        """`words` are those after `kafkaesque pipeline run`."""
        self.log_path = log_path
        self._command = [str(COMMAND), "pipeline", "run", *words, *_SPARK]
        self._process: subprocess.Popen[bytes] | None = None
        self._orphaned: list[subprocess.Popen[bytes]] = []
        """Not waited for, so that nobody else gets the number of a session that is not over."""

    @property
    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    @property
    def failures(self) -> int:
        """How often queries had to be started again, in this process or one before it."""
        return self.log.count(_AGAIN)

    def start(self) -> None:
        """Unless it runs."""
        if self._process is None:
            with self.log_path.open("ab") as log:
                self._process = subprocess.Popen(
                    self._command, stdout=log, stderr=log, start_new_session=True
                )

    def require_running(self) -> None:
        assert self._process is not None
        assert self._process.poll() is None, f"the pipeline has ended:\n{self.log[-5000:]}"

    def kill_worker(self, modules: Sequence[bytes], chance: random.Random) -> None:
        """One that does such work, if there is one now."""
        assert self._process is not None
        found = _members(self._process.pid)
        daemons = {each.pid for each in found if _DAEMON in each.command}
        workers = [
            each
            for each in found
            if any(module in each.command for module in modules)
            # A daemon that no daemon has made is no worker.
            and (each.parent in daemons or _DAEMON not in each.command)
        ]
        _kill(chance.sample(workers, min(1, len(workers))))

    def kill(self) -> None:
        """Driver, JVM and workers at once."""
        process, self._process = self._process, None
        if process is not None:
            _end(process)

    def kill_driver(self) -> None:
        """The driver and its JVM alone: the workers go on until they notice."""
        process, self._process = self._process, None
        if process is not None:
            driver = process.pid
            _kill(each for each in _members(driver) if driver in (each.pid, each.parent))
            self._orphaned.append(process)

    def __enter__(self) -> "PipelineProcess":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()
        while self._orphaned:
            _end(self._orphaned.pop())


class _Member(NamedTuple):
    pid: int
    parent: int
    command: bytes


def _members(session: int) -> list[_Member]:
    """The leader first."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # It has ended meanwhile.
            state, parent, _, its, *_ = (path / "stat").read_text().rpartition(")")[2].split()
            if int(its) == session and state != "Z":
                command = (path / "cmdline").read_bytes()
                found.append(_Member(int(path.name), int(parent), command))
    return sorted(found, key=lambda each: each.pid != session)


def _kill(members: Iterable[_Member]) -> None:
    for each in members:
        with suppress(ProcessLookupError):
            os.kill(each.pid, signal.SIGKILL)


def _end(process: "subprocess.Popen[bytes]") -> None:
    # Until nobody is left: a daemon may have made another worker meanwhile.
    while found := _members(process.pid):
        _kill(found)
    process.wait()
