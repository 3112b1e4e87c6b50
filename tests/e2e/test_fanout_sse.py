"""Server-Sent Events of the fan-out that are cut at random: nothing is missing, or comes twice.

Two topics in one stream, written to meanwhile. httpx-sse with the policy `pause`, as anybody uses
it, is cut a hundred times by a proxy. Two others do not read for a while and hang up in the midst
of what comes; what they were given and what they were told that they missed is together all.
"""

import json
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random

import httpx
import pytest
from confluent_kafka import Producer
from httpx_sse import connect_sse
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.cutting_proxy import CuttingProxy
from tests.fanout_process import FanoutProcess
from tests.plain_log import plain_log

pytestmark = pytest.mark.slow

TOPICS = ("orders", "ticks")
PARTITIONS = 3
CUTS = 100
HANG_UPS = 40
QUERY = "/sse?topic=orders&topic=ticks&prefix=k&from=earliest&buffer=20&policy="

Place = tuple[str, int, int]
"""Topic, partition, offset."""


class Writing(threading.Thread):
    """Into all partitions until told to end; every fourth record has a key that nobody wants."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self._ending = threading.Event()
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 1, "log_level": 0})
        self._count = 0
        self.start()

    def end(self) -> None:
        self._ending.set()
        self.join()
        assert self._producer.flush(foreign.TIMEOUT_S) == 0

    def write_last(self) -> None:
        """A wanted record at the end of each partition: all ids end alike."""
        for topic in TOPICS:
            for partition in range(PARTITIONS):
                self._producer.produce(topic, "last", "k-last", partition)
        assert self._producer.flush(foreign.TIMEOUT_S) == 0

    def run(self) -> None:
        random = Random(5)
        while not self._ending.wait(0.005):
            for _ in range(10):
                key = f"{'x' if self._count % 4 == 0 else 'k'}-{random.randrange(60)}"
                topic, partition = random.choice(TOPICS), random.randrange(PARTITIONS)
                self._producer.produce(topic, "v" * random.randrange(2000), key, partition)
                self._count += 1
            self._producer.poll(0)


class Reading(threading.Thread):
    """`ends`, once it is known, is the id after which nothing comes any more."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.last_id = ""
        self.ends: str | None = None
        self.delivered: list[Place] = []
        self.gaps: list[Place] = []
        """Every place in a range that was reported."""
        self.missed = 0
        self.connections = 0
        self.error: Exception | None = None
        self.start()

    @property
    def headers(self) -> dict[str, str]:
        return {"Last-Event-ID": self.last_id} if self.last_id else {}

    def run(self) -> None:
        try:
            while self.last_id != self.ends:
                self.connections += 1
                self.connect()
        except Exception as error:
            self.error = error

    def connect(self) -> None:
        raise NotImplementedError

    def take(self, event: str, event_id: str, data: str) -> None:
        self.last_id = event_id or self.last_id
        if event == "message":
            told = json.loads(data)
            self.delivered.append((told["topic"], told["partition"], told["offset"]))
        elif event == "gap":
            told = json.loads(data)
            for partition, first, last in told["ranges"]:
                self.gaps += [
                    (told["topic"], partition, offset) for offset in range(first, last + 1)
                ]
            self.missed += told["missed"]

    def check(self, wanted: set[Place]) -> None:
        delivered, missed = set(self.delivered), set(self.gaps) & wanted
        assert len(delivered) == len(self.delivered), "something came twice"
        assert not delivered & missed
        assert delivered | missed == wanted
        self.check_count(len(missed))
        order: dict[tuple[str, int], int] = defaultdict(lambda: -1)
        for topic, partition, offset in self.delivered:
            assert order[topic, partition] < offset
            order[topic, partition] = offset

    def check_count(self, missed: int) -> None:
        assert self.missed == missed


class HttpxReading(Reading):
    def __init__(self, url: str) -> None:
        self._address = f"{url}{QUERY}pause"
        super().__init__()

    def connect(self) -> None:
        try:
            with (
                httpx.Client(timeout=foreign.TIMEOUT_S) as client,
                connect_sse(client, "GET", self._address, headers=self.headers) as source,
            ):
                source.response.raise_for_status()
                for message in source.iter_sse():
                    if not message.data:  # Of a `retry` alone; a browser says nothing.
                        continue
                    self.take(message.event, message.id, message.data)
                    if self.last_id == self.ends:
                        return
        except httpx.TransportError:
            pass


class StallingReading(Reading):
    """Does not read for a while, then reads on, and hangs up after so many bytes."""

    def __init__(self, fanout: FanoutProcess, policy: str, seed: int) -> None:
        host, _, port = fanout.url.partition("://")[2].partition(":")
        self._server = (host, int(port))
        self._policy = policy
        self._random = Random(seed)
        super().__init__()

    def connect(self) -> None:
        allowed = self._random.randrange(400_000)
        if self.connections > HANG_UPS:
            allowed = 1 << 40
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
            connection.settimeout(foreign.TIMEOUT_S)
            connection.connect(self._server)
            lines = [f"GET {QUERY}{self._policy} HTTP/1.1", "Host: x"]
            lines += [f"{name}: {value}" for name, value in self.headers.items()]
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            for fields in parsed(self._received(connection, allowed)):
                self.take(fields.get("event", "message"), fields["id"], fields["data"])
                if self.last_id == self.ends:
                    return

    def check_count(self, missed: int) -> None:
        if self._policy == "conflate":
            # What is overtaken is counted with the first of its ranges: who is cut before the next
            # one is told of the others again.
            assert self.missed >= missed
        else:
            super().check_count(missed)

    def _received(self, connection: socket.socket, allowed: int) -> Iterator[bytes]:
        while allowed > 0:
            data = connection.recv(min(allowed, 16_384))
            if not data:
                return
            allowed -= len(data)
            yield data
            if self.ends is None and self._random.random() < 0.04:
                time.sleep(self._random.uniform(0.05, 0.2))


def parsed(received: Iterator[bytes]) -> Iterator[Mapping[str, str]]:
    """The fields of each whole message that has data."""
    waiting = b""
    for data in received:
        waiting += data
        *whole, waiting = waiting.split(b"\n\n")
        for message in whole:
            fields = {}
            for line in message.decode().splitlines():
                name, _, value = line.partition(": ")
                fields[name] = value
            if "data" in fields:
                yield fields


@pytest.mark.timeout(300)
def test_streams_that_are_cut_a_hundred_times_are_whole(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        for topic in TOPICS:
            foreign.create_topic(broker.bootstrap, topic, partitions=PARTITIONS)
        options = ("--send-buffer-bytes", "8192")
        with FanoutProcess(broker.bootstrap, tmp_path / "fanout.log", *options) as fanout:
            port = int(fanout.url.rpartition(":")[2])
            writing = Writing(broker.bootstrap)
            with CuttingProxy(port, CUTS, 60_000, seed=3) as proxy:
                paused = HttpxReading(proxy.url)
                stalling = {
                    policy: StallingReading(fanout, policy, seed)
                    for seed, policy in enumerate(("drop-oldest", "conflate"))
                }
                readings: list[Reading] = [paused, *stalling.values()]

                def is_enough() -> bool:
                    assert [each.error for each in readings] == [None] * len(readings)
                    return proxy.cut >= CUTS and all(
                        each.connections > HANG_UPS and each.gaps for each in stalling.values()
                    )

                foreign.until(is_enough, 150)
                writing.end()
                ends = end_id(broker.bootstrap)
                for reading in readings:
                    reading.ends = ends
                writing.write_last()
                for reading in readings:
                    reading.join(foreign.TIMEOUT_S)
                    assert reading.last_id == ends
            assert "Traceback" not in fanout.log
        wanted = everything(broker.bootstrap)
    for reading in readings:
        reading.check(wanted)
    assert not paused.gaps
    assert paused.connections > CUTS


def end_id(bootstrap: str) -> str:
    """Of the last record that is still to come in each partition."""
    return ",".join(
        f"{topic}/{partition}:{foreign.watermarks(bootstrap, topic, partition)[1] + 1}"
        for topic in TOPICS
        for partition in range(PARTITIONS)
    )


def everything(bootstrap: str) -> set[Place]:
    """What a plain consumer finds with the same filter."""
    return {
        (topic, *place)
        for topic in TOPICS
        for place, message in plain_log(bootstrap, topic, PARTITIONS).items()
        if (message.key() or b"").startswith(b"k")
    }
