"""The console as a user runs it: `kafkaesque console` in a process of its own."""

import re
import subprocess
from pathlib import Path
from types import TracebackType

from tests.broker_process import COMMAND

_SERVES = re.compile(r"kafkaesque console on (http://\S+) \(brokers \S+\); stop with Ctrl-C\n")


class ConsoleProcess:
    """Starts on a free port; what it complains of goes to `log_path`."""

    def __init__(self, bootstrap: str, log_path: Path, *args: str) -> None:
        self._log_path = log_path
        command = [str(COMMAND), "console", "--brokers", bootstrap, "--port", "0", *args]
        with log_path.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = _SERVES.fullmatch(line)
        assert found, f"the console did not start: {line}{self.complaints}"
        self.url = found[1]

    @property
    def complaints(self) -> str:
        return self._log_path.read_text()

    def stop(self) -> int:
        self.process.terminate()
        code = self.process.wait(timeout=20)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def __enter__(self) -> "ConsoleProcess":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.stop()
