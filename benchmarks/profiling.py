"""`python -m benchmarks.profiling`: where a broker's time goes while it takes and gives records.

For each of the two routes py-spy looks at the broker twice: once for a flame graph (.svg, for a
browser), once for tables of functions (.txt), both in benchmarks/results/. The tables leave out
threads that wait for work; one that waits for the disk is working. py-spy has to be allowed to look
into another process: root, or kernel.yama.ptrace_scope=0.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from tests import foreign
from tests.broker_process import BrokerProcess

RESULTS = Path(__file__).parent / "results"
TOPIC = "profiled"
VALUE = os.urandom(1024)

_SPY = Path(sys.executable).with_name("py-spy")
_NATIVE = ["--native"] if sys.platform == "linux" else []
_ROWS = 25
_IDLE = "Disk._work "
"""What a thread that waits for a blocking call to make is in."""

Load = Callable[[str, Callable[[], bool]], None]


def produce(bootstrap: str, goes_on: Callable[[], bool]) -> None:
    settings = {"acks": "all", "linger.ms": 5, "batch.size": 1_000_000}
    producer = Producer({"bootstrap.servers": bootstrap, **settings})
    while goes_on():
        for _ in range(1000):
            try:
                producer.produce(TOPIC, VALUE, partition=0)
            except BufferError:
                producer.poll(0.05)
    producer.flush()


def consume(bootstrap: str, goes_on: Callable[[], bool]) -> None:
    """From the beginning to the end, and again."""
    consumer = foreign.consumer(bootstrap, fetch_message_max_bytes=4 << 20)
    while goes_on():
        consumer.assign([TopicPartition(TOPIC, 0, OFFSET_BEGINNING)])
        while _some(consumer) and goes_on():
            pass
    consumer.close()


def _some(consumer: Consumer) -> bool:
    return bool(consumer.consume(10_000, 0.2))


def record(load: Load, broker: BrokerProcess, seconds: int, kind: str, output: Path) -> None:
    """One look of py-spy while the load is on."""
    options = [
        "--pid",
        str(broker.pid),
        "--duration",
        str(seconds),
        "--rate",
        "200",
        "--function",
        *_NATIVE,
    ]
    command = [str(_SPY), "record", *options, "--format", kind, "--output", str(output)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as spy:
        load(broker.bootstrap, lambda: spy.poll() is None)
        assert spy.stderr is not None
        said = spy.stderr.read().decode()
    if spy.returncode:
        sys.exit(f"py-spy could not look at the broker:\n{said}")


def table(collapsed: str) -> str:
    """Functions by their share of the samples, from lines of `frame;frame;… count`."""
    own: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for line in collapsed.splitlines():
        stack, _, count = line.rpartition(" ")
        frames = stack.split(";")
        if not _is_waiting(frames):
            own[frames[-1]] += int(count)
            total.update(dict.fromkeys(frames, int(count)))
    ours = Counter({name: hits for name, hits in total.items() if "kafkaesque/" in name})
    sections = (("by themselves", own), ("ours, with what they call", ours))
    return "\n".join(_section(title, hits, own.total()) for title, hits in sections)


def _is_waiting(frames: list[str]) -> bool:
    """Whether a thread of ours waits for work: py-spy does not see that on every machine."""
    callers = [frame for frame in frames if "(kafkaesque/" in frame]
    return frames[-1].startswith("epoll_") or (bool(callers) and _IDLE in callers[-1])


def _section(title: str, hits: Counter[str], samples: int) -> str:
    rows = [f"     %  functions {title}, of {samples} samples"]
    rows += [f"{100 * count / samples:6.1f}  {name}" for name, count in hits.most_common(_ROWS)]
    return "\n".join(rows) + "\n"


@contextmanager
def bounded_broker(directory: Path, configs: dict[str, str]) -> Iterator[BrokerProcess]:
    """A broker whose topic keeps half a gigabyte, however long the load goes on."""
    bounds = {"segment.bytes": str(64 << 20), "retention.bytes": str(512 << 20)}
    often = "log.retention.check.interval.ms=1000"
    with BrokerProcess(directory / "data", "--set", often) as broker:
        foreign.create_topic(broker.bootstrap, TOPIC, configs={**bounds, **configs})
        yield broker


def run(seconds: int, configs: dict[str, str]) -> None:
    RESULTS.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as directory,
        bounded_broker(Path(directory), configs) as broker,
    ):
        for load in (produce, consume):
            graph = RESULTS / f"profile-{load.__name__}.svg"
            record(load, broker, seconds, "flamegraph", graph)
            raw = Path(directory) / "raw"
            record(load, broker, seconds, "raw", raw)
            functions = table(raw.read_text())
            graph.with_suffix(".txt").write_text(functions)
            print(f"{load.__name__}: {graph}\n{functions}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=int, default=5, help="per look; there are four")
    parser.add_argument("--caching", action="store_true", help="with write.caching=true")
    arguments = parser.parse_args()
    run(arguments.seconds, {"write.caching": "true"} if arguments.caching else {})
