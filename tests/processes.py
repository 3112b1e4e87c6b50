"""Processes as Linux tells of them in /proc: whose they are, what they run, and their end."""

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")


class Process(NamedTuple):
    pid: int
    parent: int
    session: int
    name: str
    command: bytes

    @property
    def worked_ns(self) -> int:
        """How long its first thread has had a processor; 0 if it has ended."""
        with suppress(OSError):
            return int((_PROC / str(self.pid) / "schedstat").read_text().split()[0])
        return 0


def running() -> list[Process]:
    """All there are; one that nobody has asked for its exit code yet is none any more."""
    found = []
    for path in _PROC.glob("[0-9]*"):
        with suppress(OSError):  # It has ended meanwhile.
            start, _, rest = (path / "stat").read_text().rpartition(")")
            state, *numbers = rest.split()
            if state != "Z":
                parent, _, session = map(int, numbers[:3])
                name = start.partition("(")[2]
                command = (path / "cmdline").read_bytes()
                found.append(Process(int(path.name), parent, session, name, command))
    return found


def kill(processes: Iterable[Process]) -> None:
    for each in processes:
        with suppress(ProcessLookupError):
            os.kill(each.pid, signal.SIGKILL)
