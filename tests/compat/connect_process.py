"""Programs of Kafka Connect in a process of their own: MirrorMaker 2 and the two kinds of worker.

Each of their settings becomes a file of properties; what they say goes to `<name>.out` beside them.
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
        self,
        main_class: str,
        place: Path,
        *settings: Mapping[str, str],
        classes: Path | None = None,
    ) -> None:
        name = main_class.rpartition(".")[2]
        files = [place / f"{name}-{number}.properties" for number in range(len(settings))]
        for path, content in zip(files, settings, strict=True):
            path.write_text("".join(f"{key}={value}\n" for key, value in content.items()))
        path_of_classes = [*([classes] if classes else []), *tools.ecosystem_jars()]
        java = ["java", *FLAGS, "-cp", ":".join(map(str, path_of_classes))]
        self._command = [*java, main_class, *map(str, files)]
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
