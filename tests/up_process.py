"""`kafkaesque up` as a user runs it: on free ports, with the processes that it starts."""

import signal
import subprocess
from pathlib import Path
from types import TracebackType

from tests.broker_process import COMMAND, free_port


class Up:
    """`kafkaesque up` with these options; `start` returns when it has said welcome. Spark takes its
    time and half of the machine: it is left out unless asked for."""

    def __init__(self, *args: object, spark: bool = False) -> None:
        ports = [free_port() for _ in range(7)]
        self.port, self.course_port, self.console_port = ports[:3]
        self.registry_port, self.gateway_port = ports[3:5]
        self.fanout_port, self.fanout_tcp_port = ports[5:]
        self.args = [
            *("up", "--port", str(self.port), "--course-port", str(self.course_port)),
            *("--console-port", str(self.console_port), "--gateway-port", str(self.gateway_port)),
            *("--registry-port", str(self.registry_port), "--fanout-port", str(self.fanout_port)),
            *("--fanout-tcp-port", str(self.fanout_tcp_port), *map(str, args)),
            *(() if spark else ("--no-spark",)),
        ]
        self.bootstrap = f"127.0.0.1:{self.port}"
        self.command = [str(COMMAND)]
        self.told = ""
        self.children: dict[str, int] = {}
        self._process: subprocess.Popen[str] | None = None

    @property
    def process(self) -> "subprocess.Popen[str]":
        assert self._process is not None
        return self._process

    def start(self) -> "Up":
        self._process = subprocess.Popen(
            [*self.command, *self.args],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.hear("Stop with Ctrl-C.")
        self.children = children(self.process.pid)
        return self

    def hear(self, part: str) -> str:
        """Read on until a line has this in it: that line."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.told += line
            if part in line:
                return line
        raise AssertionError(f"it ended without {part!r}:\n{self.told}")

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        """Signal it, and read what it still has to say: the exit code."""
        self.process.send_signal(number)
        assert self.process.stdout is not None
        self.told += self.process.stdout.read()
        return self.process.wait(60)

    def __enter__(self) -> "Up":
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.end()
        self.process.communicate()


def children(parent: int) -> dict[str, int]:
    """The processes of a supervisor: the command that each runs, and its id."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            ppid = (path / "stat").read_text().rpartition(")")[2].split()[1]
            command = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:  # It has ended meanwhile.
            continue
        if int(ppid) == parent:
            name = "avro demo" if b"--avro" in command else command[3].decode()
            found[name] = int(path.name)
    return found


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
