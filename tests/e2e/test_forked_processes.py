"""Processes that are forked from one that has loaded all: as their own Python would run them."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.foreign import until
from tests.processes import Process, running
from tests.small_disks import mounted

from kafkaesque.pipelines.forking import forks
from kafkaesque.pipelines.forking.forks import Forks

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux alone"),
]

SEEDED = {**os.environ, "PYTHONHASHSEED": "0"}
TELLING = """
import json, os, sys
import numpy.random
def told():
    return {
        "arguments": sys.argv[1:], "name": __name__, "directory": os.getcwd(),
        "given": os.environ.get("GIVEN"), "seed": os.environ.get("PYTHONHASHSEED"),
        "is_forked": "pyspark.worker" in sys.modules, "read": sys.stdin.read(),
        "shown": open("/proc/self/comm").read().strip(), "number": numpy.random.random(),
    }
print(json.dumps(told()))
if os.fork() == 0:
    print(json.dumps(numpy.random.random()))
    os._exit(0)
os.wait()
sys.exit(7)
"""
ENDING = """
import atexit, sys, threading, time
atexit.register(print, "tidied")
threading.Thread(target=lambda: (time.sleep(0.2), print("joined"))).start()
if sys.argv[1] == "raise":
    raise ValueError("of its own")
sys.exit("said at the end" if sys.argv[1] == "say" else int(sys.argv[1]))
"""
WAITING = """
import signal, sys, time
if "stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("here")
time.sleep(600)
"""


def started() -> Forks:
    found = forks.start(SEEDED)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def server() -> Iterator[Forks]:
    found = started()
    yield found
    found.end()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """With modules that say what they are, that end and that wait."""
    (tmp_path / "telling.py").write_text(TELLING)
    (tmp_path / "ending.py").write_text(ENDING)
    (tmp_path / "waiting.py").write_text(WAITING)
    return tmp_path


def told(server: Forks, place: Path, **environ: str) -> tuple[dict[str, Any], float]:
    """What a process says of itself, and the number that a fork of it came by."""
    done = subprocess.run(
        [server.python, "-m", "telling", "one", "two"],
        env={**SEEDED, **environ},
        cwd=place,
        input="heard",
        stdout=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 7
    first, second = map(json.loads, done.stdout.splitlines())
    return first, second


def waiting(server: Forks, place: Path, *words: str) -> tuple["subprocess.Popen[str]", Process]:
    """Who asked for a process, and the process."""
    before = children(server)
    asking = subprocess.Popen(
        [server.python, "-m", "waiting", *words],
        env=SEEDED,
        cwd=place,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert asking.stdout is not None
    assert asking.stdout.readline() == "here\n"
    (child,) = [each for each in children(server) if each not in before]
    return asking, child


def children(server: Forks) -> list[Process]:
    return [each for each in running() if each.parent == server.process.pid]


def test_a_forked_process_is_what_was_asked_for(server: Forks, place: Path) -> None:
    found, _ = told(server, place, GIVEN="so")
    del found["number"]
    assert found == {
        "arguments": ["one", "two"],
        "name": "__main__",
        "directory": str(place),
        "given": "so",
        "seed": "0",
        "is_forked": True,
        "read": "heard",
        "shown": "telling",
    }


@pytest.mark.parametrize("module", ["pyspark.worker", "pyspark.sql.worker.create_data_source"])
def test_a_worker_on_whom_spark_hangs_up_ends_in_silence(
    server: Forks, place: Path, module: str
) -> None:
    """Spark's daemon says by which socket it can be reached, and its worker who it is."""
    by_sockets = {
        "PYTHON_UNIX_DOMAIN_ENABLED": "true",
        "PYTHON_WORKER_FACTORY_SOCK_DIR": str(server.python.parent),
        "SPARK_REUSE_WORKER": "1",
        "PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE": "true",
    }
    command = [str(server.python), "-m", "pyspark.daemon", module]
    daemon = subprocess.Popen(
        command,
        env={**SEEDED, **by_sockets},
        cwd=place,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert daemon.stdout is not None
    (length,) = struct.unpack(">i", daemon.stdout.read(4))
    with socket.socket(socket.AF_UNIX) as spark:
        spark.connect(daemon.stdout.read(length))
        (worker,) = struct.unpack(">i", spark.recv(4, socket.MSG_WAITALL))
        assert worker in {each.pid for each in running()}
    until(lambda: worker not in {each.pid for each in running()})
    _, said = daemon.communicate()
    assert said == b""


@pytest.mark.parametrize(
    "module",
    [
        "pyspark.sql.streaming.python_streaming_source_runner",
        "pyspark.sql.worker.plan_data_source_read",
    ],
)
def test_so_does_one_that_has_come_to_spark(server: Forks, place: Path, module: str) -> None:
    path = server.python.parent / ".spark.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        runner = subprocess.Popen(
            [server.python, "-m", module],
            env={**SEEDED, "PYTHON_WORKER_FACTORY_SOCK_PATH": str(path)},
            cwd=place,
            stderr=subprocess.PIPE,
        )
        spark, _ = listener.accept()
        with spark:
            spark.recv(4, socket.MSG_WAITALL)
        _, said = runner.communicate()
    path.unlink()
    assert runner.returncode == 1
    assert said == b""


def test_what_fits_no_fork_has_a_python_of_its_own(server: Forks, place: Path) -> None:
    found, _ = told(server, place, PYTHONHASHSEED="1")
    assert found["seed"] == "1"
    assert not found["is_forked"]
    version = subprocess.run([server.python, "--version"], stdout=subprocess.PIPE, text=True)
    assert version.stdout.split()[1] == ".".join(map(str, sys.version_info[:3]))


def test_no_two_processes_draw_the_same_numbers(server: Forks, place: Path) -> None:
    (first, after_first), (second, after_second) = told(server, place), told(server, place)
    assert len({first["number"], after_first, second["number"], after_second}) == 4


@pytest.mark.parametrize(
    ("word", "code", "last"),
    [
        ("0", 0, ""),
        ("3", 3, ""),
        ("say", 1, "said at the end"),
        ("raise", 1, "ValueError: of its own"),
    ],
)
def test_a_process_ends_as_python_does(
    server: Forks, place: Path, word: str, code: int, last: str
) -> None:
    command = [str(server.python), "-m", "ending", word]
    done = subprocess.run(command, env=SEEDED, cwd=place, capture_output=True, text=True)
    assert done.returncode == code
    assert done.stdout == "joined\ntidied\n"
    assert done.stderr.endswith(f"{last}\n" if last else "")


@pytest.mark.parametrize("words", [(), ("stubborn",)])
def test_who_asked_takes_the_process_along(server: Forks, place: Path, words: list[str]) -> None:
    asking, child = waiting(server, place, *words)
    with asking:
        asking.kill()
    until(lambda: child not in children(server))


def test_who_asked_may_end_with_the_process(server: Forks, place: Path) -> None:
    asking, child = waiting(server, place)
    # Both at once, as the server sees it.
    os.kill(server.process.pid, signal.SIGSTOP)
    with asking:
        os.kill(child.pid, signal.SIGKILL)
        asking.kill()
    os.kill(server.process.pid, signal.SIGCONT)
    assert told(server, place)[0]["is_forked"]


def test_a_process_that_a_signal_ends_is_told_so(server: Forks, place: Path) -> None:
    asking, child = waiting(server, place)
    with asking:
        os.kill(child.pid, signal.SIGKILL)
        assert asking.wait(60) == 128 + signal.SIGKILL


@pytest.mark.parametrize("said", [b"", b"\0", b"\0\0\0\1{", b"GET / HTTP/1.1\r\n\r\n"])
def test_nonsense_at_the_socket_does_no_harm(server: Forks, place: Path, said: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(str(server.python.with_name(forks.SOCKET)))
        stranger.sendall(said)
    assert told(server, place)[0]["is_forked"]


def test_without_the_server_python_is_as_it_was(place: Path) -> None:
    server = started()
    assert told(server, place)[0]["is_forked"]
    asking, child = waiting(server, place)
    with asking:
        server.process.kill()
        assert asking.wait(60) == 1
    os.kill(child.pid, signal.SIGKILL)
    assert not told(server, place)[0]["is_forked"]
    server.end()


def test_nothing_is_left_when_it_ends() -> None:
    server = started()
    time.sleep(0.5)  # In the middle of loading.
    server.end()
    assert not server.python.parent.exists()


def test_where_no_socket_can_be_nothing_is_forked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / ("long" * 30)
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    assert forks.start(SEEDED) is None
    assert not list(place.iterdir())


def test_where_no_script_can_be_run_nothing_is_forked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mounted(tmp_path / "disk", "noexec") as place:
        monkeypatch.setattr(tempfile, "tempdir", str(place))
        assert forks.start(SEEDED) is None
        assert not list(place.iterdir())
