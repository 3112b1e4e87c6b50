"""The gateway as a user runs it: `kafkaesque gateway` in a process of its own, on a free port."""

import re
import subprocess
from pathlib import Path
from types import TracebackType

from tests.broker_process import COMMAND

_SERVES = re.compile(r"kafkaesque gateway on (http://\S+) \(brokers \S+\); stop with Ctrl-C\n")


class GatewayProcess:
    """What it complains of goes to `log_path`."""

    def __init__(self, bootstrap: str, log_path: Path, *args: str, port: int = 0) -> None:
        self._log_path = log_path
        command = [str(COMMAND), "gateway", "--brokers", bootstrap, "--port", str(port), *args]
        with log_path.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = _SERVES.fullmatch(line)
        assert found, f"the gateway did not start: {line}{self.complaints}"
        self.url = found[1]
        self.port = int(self.url.rpartition(":")[2])

    @property
    def complaints(self) -> str:
        return self._log_path.read_text()

    def stop(self) -> int:
        self.process.terminate()
        code = self.process.wait(timeout=20)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def __enter__(self) -> "GatewayProcess":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.stop()
