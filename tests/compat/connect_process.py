"""Programs of Kafka Connect in a process of their own: MirrorMaker 2 and the distributed worker.

What they say goes to a file beside their settings, `<name>.out`.
"""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.compat import tools

FLAGS = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
STOP_TIMEOUT_S = 30.0


class ConnectProcess:
    """Not running until `start`; `kill` is SIGKILL, and it may be started again."""

    def __init__(
        self, main_class: str, settings: Mapping[str, str], place: Path, name: str, *more: Path
    ) -> None:
        properties = place / f"{name}.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        path = ":".join(map(str, (*more, *tools.ecosystem_jars())))
        self._command = ["java", *FLAGS, "-cp", path, main_class, str(properties)]
        self._output = place / f"{name}.out"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def said(self) -> str:
        return self._output.read_text(errors="replace")

    def start(self) -> None:
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def check(self) -> None:
        """It must not have ended by itself."""
        assert self._process is not None
        assert self._process.poll() is None, self.said[-3000:]

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(STOP_TIMEOUT_S)
