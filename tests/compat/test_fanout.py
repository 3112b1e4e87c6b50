"""The fan-out on Apache Kafka itself: plain, and with SASL (SCRAM-SHA-256) over TLS.

The one that speaks TLS to Kafka speaks it to its clients, too. What it does on our broker is in
tests/e2e/.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Producer
from httpx_sse import connect_sse
from tests import foreign
from tests.certificates import make_certificate
from tests.compat.secure_kafka import SecureKafka, secure_kafka
from tests.fanout_lives import Life, Wish
from tests.fanout_process import FanoutProcess
from tests.keyed_writers import WRITERS
from tests.open_transaction import open_transaction
from tests.plain_log import plain_log
from websockets.asyncio.client import ClientConnection, connect

pytestmark = pytest.mark.compat

TIMEOUT_S = 60
PARTITIONS = 12
KEYS = [f"key-{number}" for number in range(300)]


@dataclass(frozen=True)
class Served:
    """A fan-out, and the address at which tests write without any of its secrets."""

    fanout: FanoutProcess
    bootstrap: str
    trust: ssl.SSLContext | None

    def topic(self, partitions: int = 1) -> str:
        return foreign.create_topic(self.bootstrap, partitions=partitions)

    @property
    def verify(self) -> ssl.SSLContext | bool:
        return self.trust or False

    def stats(self) -> dict[str, Any]:
        found: dict[str, Any] = httpx.get(f"{self.fanout.url}/stats", verify=self.verify).json()
        return found

    @asynccontextmanager
    async def connect(self, path: str) -> AsyncIterator[ClientConnection]:
        url = self.fanout.url.replace("http", "ws", 1) + path
        async with asyncio.timeout(TIMEOUT_S), connect(url, ssl=self.trust) as connection:
            yield connection


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    with secure_kafka(tmp_path_factory.mktemp("kafka")) as running:
        yield running


@pytest.fixture(scope="module", params=["plain", "SASL_SSL"])
def served(
    kafka: SecureKafka, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Served]:
    directory = tmp_path_factory.mktemp("served")
    brokers, options, trust = kafka.plain, ["--metadata-interval", "0.5"], None
    if request.param == "SASL_SSL":
        brokers = kafka.connection.bootstrap_servers
        options += [*kafka.options, "--sasl-mechanism", "SCRAM-SHA-256"]
        own = make_certificate(directory)
        options += ["--tls-cert", str(own.certificate), "--tls-key", str(own.key)]
        trust = ssl.create_default_context(cafile=own.certificate)
    with FanoutProcess(brokers, directory / "fanout.log", *options) as fanout:
        yield Served(fanout, kafka.plain, trust)
        assert "Traceback" not in fanout.log


def test_the_samples_protocol(served: Served) -> None:
    topic = served.topic(3)

    async def program() -> list[str | bytes]:
        async with served.connect("/ws") as connection:
            assert await connection.recv() == "what topic/key do you want?\n"
            await connection.send(f"{topic}/dave")
            await subscribed(served, topic)
            producer = Producer({"bootstrap.servers": served.bootstrap, "log_level": 0})
            for key, value in (("max", "no"), ("dave", "Hey, Dave"), (None, "no"), ("dave", None)):
                producer.produce(topic, value, key)
                assert await asyncio.to_thread(producer.flush, TIMEOUT_S) == 0
            return [await connection.recv() for _ in range(4)]

    assert asyncio.run(program()) == [b"dave", b"Hey, Dave", b"dave", b""]


async def subscribed(served: Served, topic: str) -> None:
    """Somebody is."""

    def is_there() -> bool:
        return topic in served.stats()["topics"]

    await asyncio.to_thread(foreign.until, is_there)


def price(value: bytes | None) -> int:
    found: int = json.loads(value or b"{}")["price"]
    return found


WISHES = [
    Wish({}, lambda _: True),
    Wish({"key": "key-7"}, lambda message: message.key() == b"key-7"),
    Wish({"keys": ["key-1", "key-2"]}, lambda message: message.key() in (b"key-1", b"key-2")),
    Wish({"prefix": "key-1"}, lambda message: (message.key() or b"").startswith(b"key-1")),
    Wish({"where": "value.price > 500"}, lambda message: price(message.value()) > 500),
    Wish(
        {"headers": {"source": "web"}},
        lambda message: ("source", b"web") in (message.headers() or []),
    ),
]


def write_prices(bootstrap: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, "linger.ms": 5})
    for number in range(1000):
        value = json.dumps({"price": number * 7 % 1000})
        source = "web" if number % 3 else "app"
        producer.produce(topic, value, f"key-{number % 20}", headers=[("source", source)])
    assert producer.flush(TIMEOUT_S) == 0


def test_filters_and_resuming(served: Served) -> None:
    """Everybody is cut off in the midst, misses some, and comes back."""
    topic = served.topic(3)
    lives = [Life(wish, topic, "pause") for wish in WISHES]

    async def begin(life: Life) -> None:
        async with served.connect("/v1") as connection:
            await connection.send(life.request)
            assert life.take(await connection.recv()) == "subscribed"
            ready.release()
            while len(life.delivered) < 30:
                life.take(await connection.recv())
            connection.transport.abort()

    async def resume(life: Life, count: int) -> None:
        async with served.connect("/v1") as connection:
            await connection.send(life.request)
            while len(life.delivered) < count:
                life.take(await connection.recv())
            await connection.send('{"type":"unsubscribe","id":1}')
            while life.take(await connection.recv()) != "unsubscribed":
                pass

    ready = asyncio.Semaphore(0)

    async def program() -> None:
        async with asyncio.TaskGroup() as group:
            for life in lives:
                group.create_task(begin(life))
            for _ in lives:
                await ready.acquire()
            await asyncio.to_thread(write_prices, served.bootstrap, topic)
        await asyncio.to_thread(write_prices, served.bootstrap, topic)
        log = await asyncio.to_thread(plain_log, served.bootstrap, topic, 3)
        async with asyncio.TaskGroup() as group:
            for life in lives:
                count = sum(map(life.wish.matches, log.values()))
                group.create_task(resume(life, count))
        for life in lives:
            life.check(log)

    asyncio.run(program())


def test_a_stream_of_events_goes_on_where_it_was(served: Served) -> None:
    topic = served.topic()
    foreign.produce(served.bootstrap, topic, [str(number) for number in range(10)])
    address = f"{served.fanout.url}/sse?topic={topic}&from=earliest"
    values: list[str] = []
    last_id = ""
    while len(values) < 10:
        headers = {"Last-Event-ID": last_id} if last_id else {}
        with (
            httpx.Client(verify=served.verify, timeout=TIMEOUT_S) as client,
            connect_sse(client, "GET", address, headers=headers) as source,
        ):
            for message in source.iter_sse():
                last_id = message.id or last_id
                if message.event == "message" and message.data:
                    values.append(json.loads(message.data)["value"])
                    if len(values) % 3 == 0 or len(values) == 10:
                        break
    assert values == [str(number) for number in range(10)]
    assert last_id == "0:10"


@pytest.mark.parametrize("writer", WRITERS)
def test_one_key_of_twelve_partitions_costs_a_twelfth(served: Served, writer: str) -> None:
    topic = served.topic(PARTITIONS)
    write = WRITERS[writer]
    life = Life(Wish({"key": KEYS[0]}, lambda m: m.key() == KEYS[0].encode()), topic, "pause")

    def partitions_read() -> int:
        found: int = served.stats()["topics"][topic]["partitions_read"]
        return found

    async def program() -> float:
        async with served.connect("/v1") as connection:
            await connection.send(life.request)
            assert life.take(await connection.recv()) == "subscribed"
            first = [(key, "first") for key in KEYS]
            placed = await asyncio.to_thread(write, served.bootstrap, topic, first)
            await asyncio.to_thread(foreign.until, lambda: partitions_read() == 1)
            # As much for each partition as for the one that is read.
            one_each = {partition: key for key, partition in placed.items()}
            one_each[placed[KEYS[0]]] = KEYS[0]
            records = [(key, "v" * 1000) for key in one_each.values()] * 200
            before = (await asyncio.to_thread(served.stats))["bytes_fetched"]
            await asyncio.to_thread(write, served.bootstrap, topic, records)
            while len(life.delivered) < 201:
                life.take(await connection.recv())
            await asyncio.sleep(0.2)
            after = (await asyncio.to_thread(served.stats))["bytes_fetched"]
            produced = sum(len(key) + len(value) for key, value in records)
            return float((after - before) / produced)

    assert 1 / PARTITIONS < asyncio.run(program()) < 1.1 / PARTITIONS
    groups = foreign.admin(served.bootstrap).list_consumer_groups().result(TIMEOUT_S)
    assert groups.valid == []


def test_what_was_aborted_is_never_delivered(served: Served) -> None:
    topic = served.topic()

    async def program() -> list[tuple[int, str]]:
        got: list[tuple[int, str]] = []
        async with served.connect("/v1") as connection:
            request = {"type": "subscribe", "id": 1, "topic": topic, "encoding": "json"}
            await connection.send(json.dumps(request))
            assert json.loads(await connection.recv())["type"] == "subscribed"
            await asyncio.to_thread(write_transactions, served.bootstrap, topic)
            while len(got) < 4:
                event = json.loads(await connection.recv())
                got.append((event["offset"], event["value"]))
        return got

    got = asyncio.run(program())
    committed = plain_log(served.bootstrap, topic, 1)
    assert got == [
        (offset, (message.value() or b"").decode()) for (_, offset), message in committed.items()
    ]
    assert [value for _, value in got] == ["plain", "committed 1", "committed 2", "end"]


def write_transactions(bootstrap: str, topic: str) -> None:
    with open_transaction(bootstrap, foreign.name("copier"), topic) as producer:
        foreign.produce(bootstrap, topic, ["plain"])
        producer.abort_transaction(foreign.TIMEOUT_S)
        producer.begin_transaction()
        for number in (1, 2):
            producer.produce(topic, f"committed {number}", partition=0)
        producer.commit_transaction(foreign.TIMEOUT_S)
    foreign.produce(bootstrap, topic, ["end"])


def test_a_wrong_password_is_told_at_the_start(kafka: SecureKafka, tmp_path: Path) -> None:
    options = [option.replace("open-sesame", "wrong") for option in kafka.options]
    with pytest.raises(RuntimeError, match="does not let 'eve' in"):
        FanoutProcess(kafka.connection.bootstrap_servers, tmp_path / "fanout.log", *options)
