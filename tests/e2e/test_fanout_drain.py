"""The drainer of the fan-out's benchmark, compiled: it counts what a server really sent."""

import shutil
import socket
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from benchmarks.fanout.clients import Scripted, Step
from benchmarks.fanout.drainer import Drained, command, drainers
from benchmarks.fanout.load import Rounds, value

ROUNDS = Rounds(warm_up=1, counted=3)
SLOW = (sys.executable, "-m", "benchmarks.fanout.slow_drain")


@pytest.fixture(params=["C", "Python"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Sequence[str]:
    if request.param == "Python":
        return SLOW
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        pytest.skip("no C compiler")
    return command(tmp_path)


def drained(program: Sequence[str], directory: Path, sent: Sequence[bytes]) -> Drained:
    """What two clients make of it, one of which is sent nothing but its greeting."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        clients = [Scripted(each, [Step(b"hello", b"who?"), Step(b"me", b"ok")]) for each in (5, 5)]
        accepted: list[socket.socket] = []
        thread = threading.Thread(target=greet, args=(server, len(clients), accepted))
        thread.start()
        with drainers(clients, port, ROUNDS, directory, program) as drains:
            thread.join()
            for piece in sent:
                for connection in accepted:
                    connection.sendall(piece)
                time.sleep(0.002)
            found = drains.finish(5)
        for connection in accepted:
            connection.close()
        return found


def greet(server: socket.socket, count: int, accepted: list[socket.socket]) -> None:
    for _ in range(count):
        connection, _ = server.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        assert connection.recv(5, socket.MSG_WAITALL) == b"hello"
        connection.sendall(b"hm. wh")
        connection.sendall(b"o?")
        assert connection.recv(2, socket.MSG_WAITALL) == b"me"
        connection.sendall(b"ok")
        accepted.append(connection)


def messages(*rounds: int, key: int = 5) -> bytes:
    return b"".join(b"\x82\x40" + value(key, each, time.monotonic_ns(), 64) for each in rounds)


def test_messages_count_once_however_they_are_cut(program: Sequence[str], tmp_path: Path) -> None:
    data = messages(0, 1, 2, 3)
    found = drained(program, tmp_path, [data[at : at + 11] for at in range(0, len(data), 11)])
    assert found.fault is None
    assert (found.connections, found.messages) == (2, 6)
    assert sorted(found.samples[0::2]) == [1, 1, 2, 2, 3, 3]
    assert 0 < found.latencies_ms(1, 3)[-1] < 60_000


def test_what_is_missing_twice_or_not_asked_for_is_told(
    program: Sequence[str], tmp_path: Path
) -> None:
    found = drained(program, tmp_path, [messages(1, 1), messages(1, key=6), messages(3)])
    assert (found.messages, found.missing, found.duplicates, found.strays) == (4, 2, 2, 2)
