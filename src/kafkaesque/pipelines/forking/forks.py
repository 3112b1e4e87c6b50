"""The server of Spark's Python processes, as the driver starts and ends it.

The server lives as long as its stdin is open, of which the other end is the driver's alone: it ends
however the driver does. Its socket is there before it is, so that nobody comes too early. The
directory with the socket is the user's alone, and goes with the server.

    kafkaesque-python-…/socket     where asking.py asks
    kafkaesque-python-…/python     what Spark takes for its Python: a script that starts asking.py
    kafkaesque-python-…/.….sock    by which Spark and what was forked talk, where it has room
    kafkaesque-python-…/warehouse  tables without a place of their own, while the session lasts
Above: session.py. Below: server.py, asking.py.
"""

import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kafkaesque.pipelines.forking import asking

ONE_THREAD: Final = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
"""By which libraries start no thread when they are loaded. (Spark tells its workers to calculate
in as many as a task has cores: one.)"""

SOCKET: Final = "socket"
_LONGEST_PATH = 107
_SPARKS_NAME = len("/.01234567-89ab-cdef-0123-456789abcdef.sock")
_SERVER = "kafkaesque.pipelines.forking.server"
_SCRIPT = """\
#!/bin/sh
exec {python} -I -S {asking} {socket} "$@"
"""


@dataclass(frozen=True, slots=True)
class Forks:
    """`python` is what Spark is to start as its Python."""

    process: subprocess.Popen[bytes]
    python: Path

    @property
    def directory(self) -> Path:
        return self.python.parent

    @property
    def settings(self) -> dict[str, str]:
        """What else Spark is to be told."""
        return talking_in(self.directory)

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        # Of one that was killed.
        shutil.rmtree(self.directory, ignore_errors=True)


def start(environ: Mapping[str, str]) -> Forks | None:
    """With the environment that the JVM has. None where processes cannot be forked: not on Linux,
    its kernel is older than 5.3, or there can be no socket, or script that runs, among temporary
    files."""
    if sys.platform != "linux":
        return None
    directory = Path(tempfile.mkdtemp(prefix="kafkaesque-python-"))
    try:
        os.close(os.pidfd_open(os.getpid()))
        python = _script(directory)
        return Forks(_server(directory, environ), python)
    except OSError:
        shutil.rmtree(directory, ignore_errors=True)
        return None


def talking_in(directory: Path) -> dict[str, str]:
    """So that rows come by sockets in there, for a tenth less than by TCP, if their paths fit."""
    if len(os.fsencode(directory)) + _SPARKS_NAME > _LONGEST_PATH:
        return {}
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": str(directory),
    }


def _script(directory: Path) -> Path:
    python = directory / "python"
    python.write_text(
        _SCRIPT.format(
            python=shlex.quote(sys.executable),
            asking=shlex.quote(asking.__file__),
            socket=shlex.quote(str(directory / SOCKET)),
        )
    )
    python.chmod(0o700)
    if not os.access(python, os.X_OK):
        raise PermissionError(f"{directory} is mounted with noexec")
    return python


def _server(directory: Path, environ: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(directory / SOCKET))
        listener.listen()
        command = [sys.executable, "-u", "-m", _SERVER, str(listener.fileno()), str(directory)]
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            env={**environ, **ONE_THREAD},
            pass_fds=[listener.fileno()],
            process_group=0,
        )
