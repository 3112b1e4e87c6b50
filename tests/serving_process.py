"""A command of ours that serves, in a process of its own: started when it is made, until `stop`."""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from tests.broker_process import COMMAND

S = TypeVar("S", bound="ServingProcess")

PATIENT = (sys.executable, "-P", str(Path(__file__).with_name("patient_command.py")))
"""The command, with more patience for others."""


class ServingProcess:
    """`serves` matches the line that it prints when it does; what it complains of is its `log`."""

    command: Sequence[str] = (str(COMMAND),)

    def __init__(self, args: list[str], serves: "re.Pattern[str]", log_path: Path) -> None:
        self._log_path = log_path
        with log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.command, *args], stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = serves.fullmatch(line)
        if not found:
            self.process.kill()
            self.stop()
            raise RuntimeError(f"kafkaesque {args[0]} did not start: {line}{self.log}")
        self.found = found

    @property
    def log(self) -> str:
        return self._log_path.read_text()

    def stop(self) -> int:
        """Tell it to stop, and wait: the exit code."""
        self.process.terminate()
        code = self.process.wait(timeout=60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def __enter__(self: S) -> S:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.stop()
