"""Threads and processes put at once: dense offsets, no event lost, each once, in its order."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from tests import foreign

from kafkaesque import KafkaError, Kafkaesque

pytestmark = pytest.mark.slow

PRODUCER = """
import sys
from confluent_kafka import Producer
bootstrap, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 1, "enable.idempotence": True})
for n in range(count):
    producer.produce("t", f"{name}:{n}", partition=n % 3)
sys.exit(producer.flush(60))
"""


def _at_once(*works: Callable[[], Any]) -> list[Any]:
    """Each in a thread of its own, begun together: what they returned."""
    barrier = threading.Barrier(len(works))

    def run(work: Callable[[], Any]) -> Any:
        barrier.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as threads:
        return list(threads.map(run, works))


def _check_each_once_and_in_order(k: Kafkaesque, expected: dict[str, int]) -> None:
    """Events are `writer:n`. Per partition and writer n must rise; over all, each n comes once."""
    seen: dict[str, list[int]] = {writer: [] for writer in expected}
    for span in k._spans("t"):
        values = k.topic("t")[span.name.partition, :]
        assert len(values) == span.end, "offsets are dense"
        last: dict[str, int] = {}
        for value in values:
            writer, n = value.split(":")
            assert int(n) > last.get(writer, -1)
            last[writer] = int(n)
            seen[writer].append(int(n))
    assert {writer: sorted(n) for writer, n in seen.items()} == {
        writer: list(range(count)) for writer, count in expected.items()
    }


@pytest.mark.parametrize("directory", [None, "data"])
def test_eight_threads_put_and_extend_at_once(tmp_path: Path, directory: str | None) -> None:
    k = Kafkaesque(tmp_path / directory if directory else None)

    def put(name: str) -> list[int]:
        return [k.put("t", f"{name}:{n}") for n in range(100)]

    def extend(name: str) -> list[int]:
        offsets = []
        for n in range(0, 100, 5):
            offsets += k.extend("t", [f"{name}:{i}" for i in range(n, n + 5)])
        return offsets

    works = [lambda n=n: (put if n % 2 else extend)(f"w{n}") for n in range(8)]
    offsets = _at_once(*works)
    assert sorted(chain(*offsets)) == list(range(800))
    for n, mine in enumerate(offsets):
        assert [k.get("t", offset) for offset in mine[::20]] == [f"w{n}:{i * 20}" for i in range(5)]
    for mine in offsets[::2]:
        assert all(mine[n + 4] == mine[n] + 4 for n in range(0, 100, 5)), "nothing in between"
    _check_each_once_and_in_order(k, {f"w{n}": 100 for n in range(8)})
    k.close()


def test_threads_that_make_the_same_topic_at_once_make_one() -> None:
    k = Kafkaesque(partitions=2)
    _at_once(*[lambda n=n: k.put("t", n) for n in range(8)])
    assert sorted(k.topic("t")) == list(range(8))
    k.close()


def test_four_processes_and_four_threads_put_at_once(tmp_path: Path) -> None:
    count = 3000
    with Kafkaesque(tmp_path / "data", partitions=3) as k:
        k.create("t")
        command = [sys.executable, "-c", PRODUCER, k.bootstrap_servers]
        processes = [subprocess.Popen([*command, f"p{n}", str(count)]) for n in range(4)]

        def put(name: str) -> None:
            for n in range(0, 300, 3):
                k.put("t", f"{name}:{n}", partition=0)
                k.extend("t", [f"{name}:{n + 1}", f"{name}:{n + 2}"], key=name)

        _at_once(*[lambda n=n: put(f"t{n}") for n in range(4)])
        assert [process.wait(60) for process in processes] == [0] * 4
        expected = {f"p{n}": count for n in range(4)} | {f"t{n}": 300 for n in range(4)}
        _check_each_once_and_in_order(k, expected)


def test_readers_never_see_a_gap_while_others_write() -> None:
    k = Kafkaesque(max_events=50, drop=10)
    k.put("t", 0)
    ended = threading.Event()

    def write() -> None:
        for n in range(1, 500):
            assert k.put("t", n) == n
        ended.set()

    def read() -> int:
        latest = 0
        while not ended.is_set():
            offset, value = k.latest("t")
            assert offset == value >= latest
            latest = offset
            earliest, value = k.earliest("t")
            assert earliest == value
        return latest

    _at_once(write, read, read)
    assert k.latest("t") == (499, 499)
    k.close()


def test_calls_of_other_threads_end_when_it_is_closed() -> None:
    k = Kafkaesque(partitions=2)
    k.create("idle")
    group = k.group("g", ["idle"])
    group.join("c")
    ends: list[BaseException] = []
    running = threading.Semaphore(0)

    def forever(work: Callable[[], Any]) -> None:
        try:
            while True:
                work()
                running.release()
        except (RuntimeError, KafkaError) as error:
            ends.append(error)

    def wait() -> None:
        running.release()
        group.next("c", timeout=3600)

    works = [lambda: k.put("t", "x"), lambda: k.extend("t", "xy"), lambda: len(k.topic("idle"))]
    threads = [threading.Thread(target=forever, args=[w], daemon=True) for w in [*works, wait] * 2]
    for thread in threads:
        thread.start()
    for _ in range(50):
        running.acquire()
    k.close()
    for thread in threads:
        thread.join(foreign.TIMEOUT_S)
    assert len(ends) == len(threads)
    for error in ends:
        assert "this broker is closed" in str(error) or "not in group g" in str(error)


def test_a_call_that_is_under_way_is_brought_to_its_end() -> None:
    k = Kafkaesque()
    begun = threading.Event()

    async def take_a_while() -> int:
        begun.set()
        await asyncio.sleep(0.1)
        return await k._node.committed("c", "t", None) or 0

    k.put("t", "x")
    with ThreadPoolExecutor(1) as threads:
        under_way = threads.submit(lambda: k._call(take_a_while))
        begun.wait()
        k.close()
        assert under_way.result() == 0
