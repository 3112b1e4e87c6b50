"""The fan-out as a user runs it: `kafkaesque fanout` in a process of its own, on free ports."""

import re
import subprocess
from pathlib import Path
from types import TracebackType

from tests.broker_process import COMMAND

_SERVES = re.compile(r"kafkaesque fanout on (https?://\S+) and tcp (\S+) \(brokers .+\); stop .+\n")


class FanoutProcess:
    """Starts when it is made; `url` is its web port, `tcp` HOST:PORT; its log is in `log_path`."""

    def __init__(self, bootstrap: str, log_path: Path, *args: str) -> None:
        self._log_path = log_path
        command = [str(COMMAND), "fanout", "--brokers", bootstrap, "--port", "0", "--tcp-port", "0"]
        with log_path.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, *args], stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = _SERVES.fullmatch(line)
        if not found:
            self.process.kill()
            self.stop()
            raise RuntimeError(f"the fan-out did not start: {line}{self.log}")
        self.url, self.tcp = found[1], found[2]

    @property
    def log(self) -> str:
        return self._log_path.read_text()

    def stop(self) -> int:
        """Tell it to stop, and wait: the exit code."""
        self.process.terminate()
        code = self.process.wait(timeout=20)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def __enter__(self) -> "FanoutProcess":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.process.returncode is None:
            self.stop()
