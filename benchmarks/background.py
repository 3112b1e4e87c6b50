"""A second client beside the one that is measured, in a process of its own.

In a thread it would take the interpreter's lock from the clock that runs. `loading` sends records
at a steady rate until its block ends; `Reader` reads a topic from its start as fast as it can.
`python -m benchmarks.background load|read ...` is that process.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from select import select

from benchmarks.drive import VALUE, eager_producer, idle_consumer, read
from confluent_kafka import Producer, TopicPartition

BEAT_S = 0.01


@contextmanager
def loading(bootstrap: str, topic: str, mb_per_s: float) -> Iterator[None]:
    """Steady load; the block begins when its first record has been acknowledged."""
    process = _start("load", bootstrap, topic, str(mb_per_s))
    try:
        _first_line(process)
        yield
        if process.poll() is not None:
            raise RuntimeError(f"the load ended early, with exit code {process.returncode}")
    finally:
        _end(process)


class Reader:
    """Reads so many records of a topic's first partition; ready to read when made."""

    def __init__(self, bootstrap: str, topic: str, count: int) -> None:
        self._process = _start("read", bootstrap, topic, str(count))
        try:
            _first_line(self._process)
        except BaseException:
            self.close()
            raise

    def go(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    @property
    def reads(self) -> bool:
        """Until it says how long that took: to end takes its process some time more."""
        assert self._process.stdout is not None
        return not select([self._process.stdout], [], [], 0)[0]

    def seconds(self) -> float:
        """Wait for the end: how long it took."""
        return float(_first_line(self._process))

    def close(self) -> None:
        _end(self._process)


def _start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.background", *arguments]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )


def _first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"the client in the background failed, exit code {process.wait()}")
    return line


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    process.wait(30)
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        stream.close()


def _load(bootstrap: str, topic: str, mb_per_s: float) -> None:
    first = eager_producer(bootstrap)
    first.produce(topic, VALUE)
    first.flush()
    print("loading", flush=True)
    producer = Producer(
        {"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 5, "log_level": 0}
    )
    per_beat = max(1, round(mb_per_s * 1e6 * BEAT_S / len(VALUE)))
    beat = time.perf_counter()
    while True:
        for _ in range(per_beat):
            try:
                producer.produce(topic, VALUE)
            except BufferError:
                break
        producer.poll(0)
        beat += BEAT_S
        time.sleep(max(0.0, beat - time.perf_counter()))


def _read(bootstrap: str, topic: str, count: int) -> None:
    consumer = idle_consumer(bootstrap)
    consumer.list_topics(topic, 30)
    print("ready", flush=True)
    sys.stdin.readline()
    start = time.perf_counter()
    consumer.assign([TopicPartition(topic, 0, 0)])
    read(consumer, count)
    print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    kind, address, name, amount = sys.argv[1:]
    if kind == "load":
        _load(address, name, float(amount))
    else:
        _read(address, name, int(amount))
