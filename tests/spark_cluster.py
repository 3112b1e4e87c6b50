"""A Spark cluster of a test's own: a master and two workers, each a JVM, on this machine.

Started as Spark's own scripts start them, on free ports, with their files in a directory of the
test's. Executors find the Python and the Java that the driver names, as on a cluster where both are
installed at the same place.
"""

import re
import subprocess
from functools import partial
from pathlib import Path
from types import TracebackType

from tests import foreign

from kafkaesque.pipelines.starting.command import environment, spark_home
from kafkaesque.pipelines.starting.java import find_java

MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"


class SparkCluster:
    """`url` is what --master takes."""

    def __init__(self, directory: Path, workers: int = 2) -> None:
        self.url = ""
        self._directory = directory
        self._workers = workers
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "SparkCluster":
        try:
            self._start("master", MASTER, "--port", "0")
            foreign.until(lambda: self._said("master", r"Starting Spark master at (\S+)"), 60)
            self.url = self._said("master", r"Starting Spark master at (\S+)")
            for number in range(self._workers):
                work = str(self._directory / f"work-{number}")
                size = ("--cores", "1", "--memory", "1g", "--work-dir", work)
                self._start(f"worker-{number}", WORKER, *size, self.url)
            for number in range(self._workers):
                foreign.until(partial(self._said, f"worker-{number}", "(registered)"), 60)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()

    def kill_worker(self, number: int) -> None:
        """Its executors end with it."""
        process = self._processes[1 + number]
        process.kill()
        process.wait()

    def _start(self, name: str, main: str, *words: str) -> None:
        java = find_java()
        place = ("--host", "127.0.0.1", "--webui-port", "0")
        command = [
            str(java.executable),
            "-Xmx256m",
            "-cp",
            f"{spark_home()}/jars/*",
            main,
            *place,
            *words,
        ]
        self._directory.mkdir(parents=True, exist_ok=True)
        with (self._directory / f"{name}.log").open("wb") as log:
            self._processes.append(
                subprocess.Popen(command, stdout=log, stderr=log, env=environment(java))
            )

    def _said(self, name: str, pattern: str) -> str:
        text = (self._directory / f"{name}.log").read_text(errors="replace")
        found = re.search(pattern, text)
        return found[1] if found else ""

    def _end(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            process.wait(60)
