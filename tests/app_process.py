"""`kafkaesque run` in a process of its own, with the App of recording_app.py."""

import json
import os
import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from tests.broker_process import COMMAND

MODULE = Path(__file__).with_name("recording_app.py")


class Handled(NamedTuple):
    partition: int
    offset: int
    process: int


class AppProcess:
    """`environment` is what recording_app.py looks at. It may be started again after a kill."""

    def __init__(self, directory: Path, **environment: Any) -> None:
        self.record_path = directory / "handled.txt"
        self.log_path = directory / "app.log"
        self._environment = {"file": str(self.record_path), "kind": "one"} | environment
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        return self.log_path.read_text()

    def handled(self) -> list[Handled]:
        if not self.record_path.exists():
            return []
        lines = self.record_path.read_text().splitlines()
        return [Handled(*map(int, line.split())) for line in lines]

    def start(self) -> "AppProcess":
        environment = {**os.environ, "RECORDING_APP": json.dumps(self._environment)}
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [COMMAND, "run", MODULE], env=environment, stdout=log, stderr=log
            )
        return self

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        return self._end(number)

    def _end(self, number: signal.Signals) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        process.send_signal(number)
        try:
            return process.wait(timeout=60)
        except BaseException:
            process.kill()
            process.wait()
            raise

    def __enter__(self) -> "AppProcess":
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()
