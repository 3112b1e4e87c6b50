"""`python -m benchmarks.request_costs`: what the worst requests of each API cost, and what a good
client beside them has to bear.

For each API and each array that its request has, the largest that is let in, and one of 1 KB and
of 1 MB: the longest time that a callback of the loop took, in milliseconds of CPU, and the most
bytes that were in flight meanwhile. The broker is in this process and in memory.

Then, of the largest: the p99 of a good client, a durable Produce of 100 bytes every two
milliseconds, beside an attacker who sends that request again and again, as a ratio to the p99
beside nobody, before and after it. The broker is `kafkaesque broker`, and so is an attacker a
process of its own. The next column is what the same attacker does with a request that is as large
and costs next to nothing, so what is the machine's doing and not the request's: bytes have to be
received, too. With `--kafka` the last ones are those of Apache Kafka, which syncs each batch.
"""

import argparse
import asyncio
import multiprocessing
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import NamedTuple

from benchmarks.micro.connection_cases import _require
from benchmarks.peers.apache import JAVA_FLAGS
from tests.broker_process import BrokerProcess
from tests.compat.apache_kafka import ApacheKafka
from tests.request_costs import (
    KB,
    MOST,
    SIZES,
    crowded_frame,
    crowded_requests,
    measure,
    world,
)
from tests.wire.client import RawClient, request_frame
from tests.wire.requests import batch, create_topic, produce, produce_answer

from kafkaesque.broker.apis import APIS
from kafkaesque.protocol.messages.create_topics import CreateTopicsResponse
from kafkaesque.protocol.messages.produce import ProduceResponse

_EVERY_SECONDS = 0.002
_WINDOW_SECONDS = 1.5
_WARM_WINDOWS = 10
"""A JVM compiles for a while."""
_PRODUCE_VERSION = 9
_CREATE_VERSION = 5


class GoodClient:
    def __init__(self, bootstrap: str) -> None:
        self._client = RawClient(bootstrap)
        for name, partitions in (("good", 1), ("0", 100)):
            self._client.call(create_topic(name, partitions), CreateTopicsResponse, _CREATE_VERSION)

    def p99_ms(self) -> float:
        """From being due to being answered."""
        request = produce("good", 0, batch([bytes(100)]))
        taken = []
        due = time.perf_counter()
        end = due + _WINDOW_SECONDS
        while due < end:
            time.sleep(max(0.0, due - time.perf_counter()))
            answer = self._client.call(request, ProduceResponse, _PRODUCE_VERSION)
            _require(produce_answer(answer).error_code == 0)
            taken.append((time.perf_counter() - due) * 1000)
            # A client that is late does not ask for all that it has missed.
            due = max(due + _EVERY_SECONDS, time.perf_counter())
        return statistics.quantiles(taken, n=100)[-1]


def attack(address: tuple[str, int], frame: bytes, is_over: Event) -> None:
    """Send it, wait for the answer or the end of the connection, and again."""
    while not is_over.is_set():
        # With a timeout MSG_WAITALL would not wait.
        with socket.create_connection(address) as connection:
            try:
                while not is_over.is_set():
                    connection.sendall(frame)
                    _receive(connection)
            except OSError:
                pass


def _receive(connection: socket.socket) -> None:
    head = _exactly(connection, 4)
    left = int.from_bytes(head)
    while left:
        left -= len(_exactly(connection, min(left, 1 << 16)))


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = connection.recv(size, socket.MSG_WAITALL)
    if len(data) < size:
        raise ConnectionResetError
    return data


@contextmanager
def under_attack(address: tuple[str, int], frame: bytes) -> Iterator[None]:
    context = multiprocessing.get_context("fork")
    is_over = context.Event()
    attacker = context.Process(target=attack, args=(address, frame, is_over), daemon=True)
    attacker.start()
    try:
        yield
    finally:
        is_over.set()
        attacker.join(30)
        attacker.kill()


class Beside(NamedTuple):
    """p99 in milliseconds: alone, under attack, beside as many bytes that cost nothing."""

    alone: float
    attacked: float
    harmless: float

    @classmethod
    def measured(cls, bootstrap: str, good: GoodClient, frame: bytes) -> "Beside":
        host, _, port = bootstrap.partition(":")
        before = good.p99_ms()
        with under_attack((host, int(port)), frame):
            attacked = good.p99_ms()
        with under_attack((host, int(port)), harmless_frame(len(frame))):
            harmless = good.p99_ms()
        return cls((before + good.p99_ms()) / 2, attacked, harmless)

    def __str__(self) -> str:
        ratios = self.attacked / self.alone, self.harmless / self.alone
        figures = f"{self.alone:>9.2f}{self.attacked:>9.2f}{ratios[0]:>7.1f}"
        return f"{figures}{self.harmless:>10.2f}{ratios[1]:>7.1f}"


def beside(frame: bytes) -> Beside:
    with (
        tempfile.TemporaryDirectory() as directory,
        BrokerProcess(Path(directory) / "data") as broker,
    ):
        good = GoodClient(broker.bootstrap)
        good.p99_ms()
        return Beside.measured(broker.bootstrap, good, frame)


@contextmanager
def apache_kafka() -> Iterator[Callable[[bytes], Beside]]:
    """The same beside one that has been up for a while."""
    with tempfile.TemporaryDirectory() as directory:
        kafka = ApacheKafka(
            Path(directory) / "data", {"log.flush.interval.messages": "1"}, java_flags=JAVA_FLAGS
        )
        kafka.start()
        try:
            good = GoodClient(kafka.bootstrap)
            for _ in range(_WARM_WINDOWS):
                good.p99_ms()
            yield lambda frame: Beside.measured(kafka.bootstrap, good, frame)
        finally:
            kafka.kill()


def harmless_frame(size: int) -> bytes:
    """A Produce of one record to a partition that is not there."""
    return request_frame(produce("0", 1000, bytes(size)), _PRODUCE_VERSION, 1)


async def held(key: int, path: tuple[str, ...], size: int) -> str:
    broker = await world()
    cost = await measure(broker, crowded_frame(key, APIS[key].max_version, path, size))
    await broker.close()
    end = "answered" if cost.answered else "closed"
    return f"{cost.held_seconds * 1000:>9.1f}{cost.in_flight // KB:>14,}{cost.left:>7}  {end}"


def requests(only: str) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    for key, api in APIS.items():
        for path in crowded_requests(key, api.max_version):
            if only in (title := f"{api.name} {'.'.join(path)}"):
                yield title, key, path


def print_costs(only: str) -> None:
    print(f"{'request':58}{'size':>6}{'held ms':>9}{'in flight KB':>14}{'after':>7}")
    for title, key, path in requests(only):
        for name, size in SIZES.items():
            print(f"{title:58}{name:>6}{asyncio.run(held(key, path, size))}", flush=True)


def print_good_clients(only: str, *, with_kafka: bool) -> None:
    heading = f"{'alone ms':>9}{'beside':>9}{'ratio':>7}{'harmless':>10}{'ratio':>7}"
    rows: dict[str, list[Beside]] = {"ours": []}
    with ExitStack() as stack:
        measures: dict[str, Callable[[bytes], Beside]] = {"ours": beside}
        if with_kafka:
            measures["Kafka"] = stack.enter_context(apache_kafka())
            rows["Kafka"] = []
        print(f"{'request':58}{'KB':>6}{'   '.join([heading] * len(rows))}", flush=True)
        for title, key, path in requests(only):
            frame = crowded_frame(key, APIS[key].max_version, path, SIZES[MOST])
            for name, measure in measures.items():
                rows[name].append(measure(frame))
            figures = "   ".join(str(of_one[-1]) for of_one in rows.values())
            print(f"{title:58}{len(frame) // KB:>6}{figures}", flush=True)
    for name, of_one in rows.items():
        ratios = [row.attacked / row.alone for row in of_one]
        median, worst = statistics.median(ratios), max(ratios)
        print(f"{name}: ratio of p99: median {median:.1f}, worst {worst:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", metavar="PART", help="of the name, as in 'Metadata'")
    parser.add_argument("--part", choices=("costs", "good-clients"), help="one of the two tables")
    parser.add_argument("--kafka", action="store_true", help="good clients of Apache Kafka, too")
    arguments = parser.parse_args()
    if arguments.part != "good-clients":
        print_costs(arguments.only)
    if arguments.part != "costs":
        print_good_clients(arguments.only, with_kafka=arguments.kafka)
