"""A broker as a user runs it: `kafkaesque broker` in a process of its own, which can be killed."""

import os
import random
import re
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType

COMMAND = Path(sys.executable).with_name("kafkaesque")
_LISTENING = re.compile(rb"listening on ([^ ,]+)")


# Below those that a system gives to outgoing connections: one of these would take the port of a
# broker that has not started yet or starts again, even the client's that looks for that broker.
_PORTS = range(20_000, 32_000)
# Not the seeded one: hypothesis lets that begin anew in every process.
_random = random.SystemRandom()
_given: set[int] = set()


def free_port() -> int:
    """One that stays free until it is used; no port is given twice by a process."""
    while True:
        port = _random.choice(_PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            if port not in _given:
                _given.add(port)
                return port


class BrokerProcess:
    """Starts on a free port that it keeps over restarts; its log goes to `<data_dir>.log`."""

    def __init__(self, data_dir: Path, *args: str) -> None:
        self.data_dir = data_dir
        self.log_path = data_dir.with_name(data_dir.name + ".log")
        self.port = free_port()
        self._args = args
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    @property
    def rss_bytes(self) -> int:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def segments(self, topic: str) -> list[Path]:
        """The segment files of a topic's first partition, the oldest first."""
        return sorted((self.data_dir / f"{topic}-0").glob("*.log"))

    def start(self) -> "BrokerProcess":
        """Start, and return when it listens."""
        command = [COMMAND, "broker", "--port", str(self.port), "--data-dir", self.data_dir]
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [*map(str, command), *self._args], stdout=subprocess.PIPE, stderr=log
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not _LISTENING.search(line):
            self._process.wait()
            code = self._end(signal.SIGTERM)
            raise RuntimeError(f"the broker did not start (exit code {code}):\n{self.log}")
        return self

    def kill(self) -> None:
        """As if the power of the process were cut: SIGKILL."""
        self._end(signal.SIGKILL)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Tell it to stop, and wait: the exit code."""
        return self._end(number)

    def _end(self, number: signal.Signals) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        assert process.stdout is not None
        with process.stdout:
            process.send_signal(number)
            try:
                return process.wait(timeout=60)
            except BaseException:
                process.kill()
                process.wait()
                raise

    def __enter__(self) -> "BrokerProcess":
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()
