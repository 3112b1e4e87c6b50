"""The process that Spark's Python processes are forked from: it loads what they need, once.

    asked at its socket ──► forks ──► the child becomes what was asked for: it runs the module

It ends when its stdin does, of which the driver has the other end.

It has one thread, and forks only for as long as it has one: a fork has the locks of all threads,
and nobody to open them. What it loads takes seconds, the parts that every process needs first; a
request waits for those, the others are loaded whenever nobody asks.

What was asked for must fit what is loaded: settings that Python and libraries read when they start
are the server's own. Others are refused, and start a Python of their own.
Above: forks.py starts it. Below: asking.py.
"""

import atexit
import gc
import importlib
import os
import runpy
import selectors
import shutil
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from kafkaesque.pipelines.forking.asking import FORKED, REFUSED, Request, exit_code, received

FIRST: Final = (
    "pyspark.worker",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.worker.write_into_data_source",
    "pyspark.sql.worker.commit_data_source_write",
    "pyspark.sql.worker.data_source_pushdown_filters",
    "pyspark.sql.worker.python_streaming_sink_runner",
    "pyspark.sql.streaming.python_streaming_source_runner",
    "pyspark_kafkaesque",
    "pyspark_kafkaesque_lake",
    "kafkaesque.pipelines.source.stream",
    "kafkaesque.pipelines.source.decoding.values",
    "pandas",
    "pyarrow.acero",
)
"""Loaded before anything is forked. (The first array that Arrow makes loads pandas.)"""
THEN: Final = (
    "kafkaesque.pipelines.sink.stream",
    "kafkaesque.pipelines.sink.batch",
    "kafkaesque.pipelines.lake.writer",
    "pyarrow.parquet",
    "sqlalchemy.orm",
    "pydantic",
    "pyiceberg.table",
    "pyiceberg.catalog.sql",
    "pyiceberg.io.pyarrow",
)
"""Loaded as soon as nobody asks."""

_DAEMON = "pyspark.daemon"
_READ_AT_START = ("PYTHON", "LD_", "OMP_", "OPENBLAS_", "MKL_", "ARROW_", "JE_ARROW_", "MALLOC_")
_NOT_READ = ("PYTHON_", "PYTHONPATH", "PYTHONUNBUFFERED")
"""Spark's own, and what can be had later as well."""
_REQUEST_S = 10.0
_GRACE_S = 5.0


class Child(NamedTuple):
    """A process, by its number and a descriptor that is readable when it has ended."""

    pid: int
    ended: int
    connection: socket.socket


class Server:
    """Forks for those who ask at `directory`/socket, and takes the directory with it."""

    def __init__(self, listener: socket.socket, directory: str) -> None:
        self._listener = listener
        self._directory = directory
        self._left = deque(THEN)
        self._children: dict[int, Child] = {}
        self._doomed: list[tuple[float, Child]] = []
        self._selector = selectors.DefaultSelector()
        self._selector.register(sys.stdin, selectors.EVENT_READ, self._end)
        self._selector.register(listener, selectors.EVENT_READ, self._accept)

    def serve(self) -> Request:
        """Returns in a process that was forked, with what it is to be; the server ends in here."""
        load(FIRST)
        while True:
            found = self._selector.select(0 if self._left else self._patience())
            for key, _ in found:
                request: Request | None = key.data()
                if request is not None:
                    return request
            self._end_doomed()
            if not found and self._left:
                load([self._left.popleft()])

    def _accept(self) -> Request | None:
        connection, _ = self._listener.accept()
        connection.settimeout(_REQUEST_S)
        try:
            request, descriptors = received(connection)
        except (OSError, TypeError, ValueError):
            connection.close()
            return None
        try:
            pid = os.fork() if fits(request) and is_alone() else None
        except OSError:
            pid = None
        if pid == 0:
            self._leave()
            for place, each in enumerate(descriptors):
                os.dup2(each, place)
        for each in descriptors:
            os.close(each)
        if pid == 0:
            connection.close()
            return request
        self._note(connection, pid)
        return None

    def _note(self, connection: socket.socket, pid: int | None) -> None:
        _say(connection, REFUSED if pid is None else FORKED)
        if pid is None:
            connection.close()
            return
        child = Child(pid, os.pidfd_open(pid), connection)
        self._children[pid] = child
        self._selector.register(child.ended, selectors.EVENT_READ, lambda: self._reap(child))
        self._selector.register(connection, selectors.EVENT_READ, lambda: self._doom(child))

    def _reap(self, child: Child) -> None:
        """It has ended: say how to whom asked for it."""
        _, status = os.waitpid(child.pid, 0)
        del self._children[child.pid]
        self._selector.unregister(child.ended)
        os.close(child.ended)
        with suppress(KeyError):
            self._selector.unregister(child.connection)
        _say(child.connection, exit_code(os.waitstatus_to_exitcode(status)))
        child.connection.close()

    def _doom(self, child: Child) -> None:
        """Who asked for it was ended: so is it, gently at first, unless it has ended just now."""
        if child.pid not in self._children:
            return
        self._selector.unregister(child.connection)
        os.kill(child.pid, signal.SIGTERM)
        self._doomed.append((time.monotonic() + _GRACE_S, child))

    def _end_doomed(self) -> None:
        while self._doomed and self._doomed[0][0] <= time.monotonic():
            _, child = self._doomed.pop(0)
            if self._children.get(child.pid) is child:
                os.kill(child.pid, signal.SIGKILL)

    def _patience(self) -> float | None:
        return max(0.0, self._doomed[0][0] - time.monotonic()) if self._doomed else None

    def _leave(self) -> None:
        """In a process that was forked: what is the server's alone."""
        self._selector.close()
        self._listener.close()
        for child in self._children.values():
            os.close(child.ended)
            child.connection.close()

    def _end(self) -> None:
        """The driver has: the JVM does, too, and with it what was forked."""
        shutil.rmtree(self._directory, ignore_errors=True)
        sys.exit()


def load(modules: Sequence[str]) -> None:
    """As far as they can be: who needs one that cannot will say so."""
    for name in modules:
        with suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    # What is loaded for good is left alone by the processes' collectors, and its memory is shared.
    gc.freeze()


def fits(request: Request, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether what is loaded is as the request's own Python would have loaded it."""
    return request.arguments[:1] == ["-m"] and all(
        environ.get(name) == value
        for name, value in request.environ.items()
        if name.startswith(_READ_AT_START) and not name.startswith(_NOT_READ)
    )


def is_alone() -> bool:
    """Whether this process has one thread."""
    return len(list(Path("/proc/self/task").iterdir())) == 1


def search_path(request: Request, own: Sequence[str]) -> list[str]:
    """Where the request's Python would look for modules; `own` is where the server does."""
    given = [path for path in request.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if not sys.flags.safe_path:
        given, own = [request.directory, *given], own[1:]
    return [*given, *(path for path in own if path not in given)]


def shown_name(module: str, arguments: Sequence[str]) -> str:
    """What it does. (Linux keeps 15 letters.) A daemon of Spark's is named for its workers."""
    doing = arguments[0] if module == _DAEMON and arguments else module
    return doing.rpartition(".")[2].removeprefix("python_")


def become(request: Request) -> None:
    """Run what was asked for, as `python -m` does."""
    os.environ.clear()
    os.environ.update(request.environ)
    os.chdir(request.directory)
    sys.path[:] = search_path(request, sys.path)
    _, module, *arguments = request.arguments
    with suppress(OSError):
        # As `ps` and `top` show it: all of them have the server's command line.
        Path("/proc/self/comm").write_text(shown_name(module, arguments))
    sys.argv = [module, *arguments]
    if module == _DAEMON:
        become_daemon()
        return
    # It has perhaps been loaded; now it is run.
    sys.modules.pop(module, None)
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except BrokenPipeError:
        if not module.startswith("pyspark."):
            raise
        sys.exit(1)  # Spark has hung up: it wants no answer.


def become_daemon() -> None:
    """Spark's own, which forks a worker for whoever connects.

    Spark hangs up on a worker that has had nothing to do for a minute. By a Unix socket that worker
    cannot say that it has heard so, and would say this on stderr, at length: it ends in silence.
    """
    from pyspark import daemon

    work = daemon.worker

    def work_or_end(sock: socket.socket, authenticated: bool) -> int:
        if has_hung_up(sock):
            os._exit(0)
        return work(sock, authenticated)

    daemon.worker = work_or_end
    daemon.manager()


def has_hung_up(connection: socket.socket) -> bool:
    """Waits for whatever comes next."""
    try:
        return not connection.recv(1, socket.MSG_PEEK)
    except OSError:
        return True


def _reseed() -> None:
    """Python's own `random` does so by itself."""
    if (numpy_random := sys.modules.get("numpy.random")) is not None:
        numpy_random.seed()


def _say(connection: socket.socket, said: bytes) -> None:
    with suppress(OSError):  # Who asked has ended.
        connection.sendall(said)


class End:
    """The last thing that a process does: to free what it shares would be to copy it first."""

    code = 1

    def __call__(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        os._exit(self.code)


def main(descriptor: int, directory: str) -> None:
    # Before anything is loaded, so that whatever else is to be done at the end comes first.
    atexit.register(end := End())
    os.register_at_fork(after_in_child=_reseed)
    try:
        become(Server(socket.socket(fileno=descriptor), directory).serve())
        end.code = 0
    except SystemExit as told:
        end.code = exit_code_of(told)
        raise


def exit_code_of(told: SystemExit) -> int:
    """As Python understands it: what is no number was printed."""
    if told.code is None:
        return 0
    return told.code & 0xFF if isinstance(told.code, int) else 1


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
