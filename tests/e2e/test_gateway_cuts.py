"""Streams that are cut at random, a hundred times: nothing is missing, nothing comes twice.

Two clients at once: ours, and httpx-sse as anybody uses it, which gives back the last id it has
seen. Meanwhile events are written to three partitions, and the gateway is restarted once.
"""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import orjson
import pytest
from confluent_kafka import Producer
from httpx_sse import connect_sse
from tests import foreign
from tests.broker_process import BrokerProcess, free_port
from tests.cutting_proxy import CuttingProxy
from tests.gateway_process import GatewayProcess

from kafkaesque.client.http import HttpConsumer

pytestmark = pytest.mark.slow

CUTS = 100
PARTITIONS = 3
LAST = b"last"
Place = tuple[int, int]


class Writing:
    """Events into all partitions until told to end, with a last one for each partition."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.count = 0
        self._ending = threading.Event()
        self._producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
        self._topic = topic
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ending.set()
        self._thread.join()

    def _write(self) -> None:
        while not self._ending.wait(0.01):
            for _ in range(3):
                self._send(self.count % PARTITIONS, b"x" * (self.count % 90))
        for partition in range(PARTITIONS):
            self._send(partition, LAST)
        assert self._producer.flush(20) == 0

    def _send(self, partition: int, value: bytes) -> None:
        self._producer.produce(self._topic, value, partition=partition)
        self.count += 1


def our_client(url: str, topic: str) -> Iterator[tuple[Place, bytes]]:
    for event in HttpConsumer(topic, url, value="bytes"):
        yield (event.partition, event.offset), event.value


def foreign_client(url: str, topic: str) -> Iterator[tuple[Place, bytes]]:
    last_id = ""
    with httpx.Client(timeout=60) as client:
        while True:
            headers = {"last-event-id": last_id} if last_id else {}
            address = f"{url}/topics/{topic}/events?from=earliest"
            try:
                with connect_sse(client, "GET", address, headers=headers) as source:
                    source.response.raise_for_status()
                    for message in source.iter_sse():
                        last_id = message.id or last_id
                        if message.data:
                            told = orjson.loads(message.data)
                            yield (told["partition"], told["offset"]), told["value"].encode()
            except httpx.TransportError:
                pass


class Reading(threading.Thread):
    """Reads until it has seen the last event of every partition."""

    def __init__(self, events: Iterator[tuple[Place, bytes]]) -> None:
        super().__init__(daemon=True)
        self.places: list[Place] = []
        self._events = events
        self.start()

    def run(self) -> None:
        ends = 0
        for place, value in self._events:
            self.places.append(place)
            ends += value == LAST
            if ends == PARTITIONS:
                return


@pytest.mark.timeout(300)
def test_a_stream_that_is_cut_a_hundred_times_is_whole(tmp_path: Path) -> None:
    port = free_port()
    log = tmp_path / "log"
    clients: list[Callable[[str, str], Iterator[tuple[Place, bytes]]]] = [
        our_client,
        foreign_client,
    ]
    with BrokerProcess(tmp_path / "data") as broker:
        topic = foreign.create_topic(broker.bootstrap, partitions=PARTITIONS)
        gateway = GatewayProcess(broker.bootstrap, log, port=port)
        writing = Writing(broker.bootstrap, topic)
        proxies = [CuttingProxy(port, CUTS, 4000, seed) for seed in range(len(clients))]
        readings = [
            Reading(client(proxy.url, topic))
            for client, proxy in zip(clients, proxies, strict=True)
        ]
        foreign.until(lambda: all(proxy.cut >= CUTS / 2 for proxy in proxies), 100)
        assert gateway.stop() == 0
        with GatewayProcess(broker.bootstrap, log, port=port):
            foreign.until(lambda: all(proxy.cut >= CUTS for proxy in proxies), 100)
            writing.end()
            for reading in readings:
                reading.join(60)
        for proxy in proxies:
            proxy.__exit__(None, None, None)
        offsets = [foreign.watermarks(broker.bootstrap, topic, each)[1] for each in range(3)]
    assert sum(offsets) == writing.count
    everything = {partition: list(range(end)) for partition, end in enumerate(offsets)}
    for reading in readings:
        assert not reading.is_alive()
        for partition, wanted in everything.items():
            assert [offset for at, offset in reading.places if at == partition] == wanted
