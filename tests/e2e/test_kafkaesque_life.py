"""How a `Kafkaesque` begins and ends: closed, dropped, forgotten, forked, killed; and its repr."""

import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import warnings
import weakref
from pathlib import Path

import pytest
from tests import foreign

from kafkaesque import Kafkaesque
from kafkaesque.errors import StartError

pytestmark = pytest.mark.slow

FORGOTTEN = """
import sys
from kafkaesque import Kafkaesque
k = Kafkaesque(sys.argv[1] or None, max_events=50, drop=10)
k.serve()
k.extend("t", range(100))
group = k.group("g")
group.join("c")
print(group.next("c").value, group.next("c").value)
"""

PUTS = """
import sys
from kafkaesque import Kafkaesque
k = Kafkaesque(sys.argv[1], max_events=20, drop=10, stale=sys.argv[2])
n = int(sys.argv[3])
while True:
    offset = k.put("t", n)
    sys.stdout.write(f"{offset} {n}\\n")
    sys.stdout.flush()
    n += 1
"""


def _threads() -> set[threading.Thread]:
    return set(threading.enumerate())


def _takes_connections(bootstrap: str) -> bool:
    host, port = bootstrap.split(":")
    try:
        socket.create_connection((host, int(port)), 1).close()
    except OSError:
        return False
    return True


def test_on_disk_everything_is_there_again(tmp_path: Path) -> None:
    k = Kafkaesque(str(tmp_path / "data"))
    k.create("t", 2)
    k.extend("t", ["a", b"\xff", {"n": 1}], partition=1)
    k.commit("c", "t", 2, partition=1)
    k.close()
    k = Kafkaesque(tmp_path / "data")
    assert k.topic("t")[1, :] == ["a", b"\xff", {"n": 1}]
    assert k.committed("c", "t", 1) == 2
    assert k.put("t", "next", partition=1) == 3
    k.close()


def test_nothing_is_left_of_one_that_was_closed() -> None:
    before = _threads()
    with Kafkaesque() as k:
        server = k.bootstrap_servers
        k.put("t", "x")
        k.group("g").join("c")
        assert _takes_connections(server)
    assert _threads() <= before
    assert not _takes_connections(server)
    k.close()


def test_nothing_is_left_of_one_that_could_not_start(tmp_path: Path) -> None:
    before = _threads()
    (tmp_path / "file").write_text("")
    with pytest.raises(StartError):
        Kafkaesque(tmp_path / "file")
    assert _threads() <= before


def test_after_close_every_call_says_so() -> None:
    k = Kafkaesque()
    topic, group = k.topic("t"), k.group("g")
    k.close()
    for call in (
        lambda: k.put("t", "x"),
        lambda: k.get("t", 0),
        lambda: k.topics,
        lambda: k.serve(),
        lambda: k.group("g"),
        lambda: topic[0],
        lambda: group.next("c"),
        lambda: k.__enter__(),
    ):
        with pytest.raises(RuntimeError, match="this broker is closed: open another"):
            call()


def test_one_that_nobody_holds_any_more_ends() -> None:
    before = _threads()
    k = Kafkaesque()
    server = k.serve()
    k.group("g").join("c")
    gone = weakref.ref(k)
    del k
    assert gone() is None
    assert _threads() <= before
    assert not _takes_connections(server)


def test_one_in_a_cycle_ends_even_if_the_collector_comes_to_it_in_its_own_thread() -> None:
    before = _threads()
    k = Kafkaesque()
    k.group("g").join("c")
    thread, cycle = k._thread, [k]
    cycle.append(cycle)  # type: ignore[arg-type]

    async def collect() -> int:
        return gc.collect()

    gc.disable()
    try:
        del k, cycle
        thread.call(collect)
    finally:
        gc.enable()
    foreign.until(lambda: _threads() <= before)


def test_a_topic_or_group_keeps_it_open() -> None:
    topic = Kafkaesque().topic("t")
    assert topic.put("x") == 0
    topic._kafkaesque.close()


@pytest.mark.parametrize("directory", ["", "data"])
def test_a_program_that_never_closes_it_ends_and_leaves_clean_data(
    tmp_path: Path, directory: str
) -> None:
    where = str(tmp_path / directory) if directory else ""
    command = [sys.executable, "-W", "error", "-c", FORGOTTEN, where]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "50 51\n")
    if directory:
        assert (tmp_path / directory / ".kafka_cleanshutdown").exists()
        k = Kafkaesque(where)
        assert (k.earliest("t"), k.latest("t")) == ((50, 50), (99, 99))
        assert k.committed("g", "t") == 52, "a consumer that leaves is done with its last event"
        k.close()


def test_every_put_that_returned_is_there_after_a_kill(tmp_path: Path) -> None:
    data, stale = tmp_path / "data", tmp_path / "x.csv"
    n = 0
    for _ in range(4):
        command = [sys.executable, "-c", PUTS, str(data), str(stale), str(n)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        for _ in range(45):
            n = int(process.stdout.readline().split()[0]) + 1
        process.send_signal(signal.SIGKILL)
        for line in process.stdout.read().splitlines(keepends=True):
            if line.endswith(b"\n"):
                n = int(line.split()[0]) + 1
        process.wait()
        process.stdout.close()
        k = Kafkaesque(data, max_events=20, drop=10, stale=stale)
        rows = [(row.offset, row.value) for row in k.stale("t")]
        start, end = k.earliest("t")[0], k.latest("t")[0] + 1
        assert end in (n, n + 1), "at most the put that had not returned is there beyond"
        there = rows + [(offset, k.get("t", offset)) for offset in range(start, end)]
        assert there == [(offset, offset) for offset in range(end)]
        n = end
        k.close()


def test_one_directory_is_for_one_at_a_time(tmp_path: Path) -> None:
    k = Kafkaesque(tmp_path / "data")
    before = _threads()
    with pytest.raises(StartError, match=r"in use|another"):
        Kafkaesque(tmp_path / "data")
    assert _threads() <= before
    k.put("t", "x")
    k.close()
    Kafkaesque(tmp_path / "data").close()


def test_a_forked_child_is_told_to_connect_and_harms_nothing() -> None:
    with Kafkaesque() as k:
        k.put("t", "x")
        group = k.group("g")
        group.join("c")
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            # Python 3.12 warns that threads are not forked along: that is what is tested.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            _report_from_the_child(k, writer)
        os.close(writer)
        with os.fdopen(reader) as said:
            assert said.read() == (
                f"this broker runs in process {os.getpid()}: from another one, connect a Kafka "
                "client to its bootstrap_servers|<Kafkaesque in memory, of another process>"
            )
        assert os.waitpid(child, 0)[1] == 0
        event = group.next("c")
        assert event is not None
        assert event.value == "x"
        assert foreign.values(foreign.read(k.bootstrap_servers, "t", 1)) == [b"x"]


def _report_from_the_child(k: Kafkaesque, writer: int) -> None:
    try:
        k.put("t", "y")
    except RuntimeError as error:
        said = f"{error}|{k!r}"
    k.close()
    os.write(writer, said.encode())
    os._exit(0)


def test_its_repr_shows_topics_partitions_offsets_and_groups(tmp_path: Path) -> None:
    k = Kafkaesque()
    assert repr(k) == "<Kafkaesque in memory>"
    k.create("empty")
    k.create("t", 3)
    k.put("t", "x", partition=0)
    k.extend("t", "abc", partition=1)
    k.commit("reader", "t", 2, partition=1)
    k.group("g", ["t"]).join("c")
    assert repr(k) == (
        "<Kafkaesque in memory\n"
        "  topic empty: 0: empty, next 0\n"
        "  topic t: 0: offset 0, 1: offsets 0-2, 2: empty, next 0\n"
        "  group g: members c\n"
        "  group reader: t-1 at 2, no members>"
    )
    assert repr(k.topic("t")) == "<Topic t: 0: offset 0, 1: offsets 0-2, 2: empty, next 0>"
    assert repr(k.group("g")) == "<ConsumerGroup g: c: t-0, t-1, t-2>"
    assert repr(k.group("other")) == "<ConsumerGroup other: nobody>"
    server = k.serve()
    assert repr(k).startswith(f"<Kafkaesque in memory, serving {server}\n")
    k.close()
    assert repr(k) == "<Kafkaesque in memory, closed>"
    on_disk = Kafkaesque(tmp_path / "data")
    assert repr(on_disk) == f"<Kafkaesque {tmp_path / 'data'}>"
    on_disk.close()
    assert repr(on_disk) == f"<Kafkaesque {tmp_path / 'data'}, closed>"
