"""A pipeline as a user runs it: `kafkaesque pipeline run …`, in a session of its own, to be killed.

    kafkaesque ─┬─► java, which asks for the processes below
                └─► forking.server ─┬─► pyspark.daemon, one for each kind of work ─► workers
                                    └─► python_streaming_source_runner, a worker for each source

Processes are found by their session: the JVM and the daemons have process groups of their own. What
the server has forked is told apart by its name, of which Linux keeps 15 letters. The pipeline
stays: what fails is started again, as often as it takes, and its log tells of each time.
"""

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from tests.broker_process import COMMAND
from tests.processes import Process, kill, running

# A JVM that is not to grow old: it compiles quickly, and not well.
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_SETTINGS = ("spark.driver.memory=1g", f"spark.driver.extraJavaOptions={_JAVA}")
_SPARK = ("--master", "local[2]", *(f"--conf={each}" for each in _SETTINGS), "--stay")
_AGAIN = "it starts again in"
WAIT_S = 240.0

TASKS = ("worker",)
COMMITS = ("streaming_sink_", "commit_data_sou")
PLANS = ("streaming_sourc",)
"""What workers do: the names of those that do it."""


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
    def failures(self) -> list[str]:
        """A line for each time that queries had to be started again, here or in one before it."""
        return [line for line in self.log.splitlines() if _AGAIN in line]

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

    def kill_worker(self, names: Sequence[str]) -> None:
        """One that does such work, as soon as one does."""
        before: dict[int, int] = {}
        give_up_s = time.monotonic() + WAIT_S
        while not (at_work := self._at_work(names, before)):
            self.require_running()
            assert time.monotonic() < give_up_s, f"nobody works as {names}:\n{self.log[-5000:]}"
        kill(at_work[:1])

    def _at_work(self, names: Sequence[str], before: dict[int, int]) -> list[Process]:
        """Workers that have worked since `before`, which is told how long each has by now."""
        assert self._process is not None
        found = _of_session(self._process.pid)
        servers = {each.pid for each in found if each.parent == self._process.pid}
        at_work = []
        for each in found:
            # Of these the server forks daemons.
            is_worker = each.parent not in servers or names == PLANS
            if is_worker and each.name in names:
                worked_ns = each.worked_ns
                if worked_ns > before.get(each.pid, worked_ns):
                    at_work.append(each)
                before[each.pid] = worked_ns
        return at_work

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
            kill(each for each in _of_session(driver) if driver in (each.pid, each.parent))
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


def _of_session(leader: int) -> list[Process]:
    """The leader first."""
    found = [each for each in running() if each.session == leader]
    return sorted(found, key=lambda each: each.pid != leader)


def _end(process: "subprocess.Popen[bytes]") -> None:
    # Until nobody is left: a daemon may have made another worker meanwhile.
    while found := _of_session(process.pid):
        kill(found)
    process.wait()
