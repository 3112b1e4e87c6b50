"""A world to try the fan-out in: subscribers come and go, stall and are cut off, the topic grows,
the broker is killed and started again; then each subscriber is held against the log.

`exact` runs it on any broker that can be killed: ours, or Apache Kafka.
"""

import asyncio
import json
from pathlib import Path
from random import Random
from typing import Protocol

from confluent_kafka import Message, Producer
from confluent_kafka.admin import NewPartitions
from tests import foreign
from tests.fanout_lives import Life, Place, Wish, live
from tests.fanout_process import FanoutProcess

TOPIC = "ticks"
KEYS = [f"{'ab'[number % 2]}-{number}" for number in range(500)]
SECONDS_OF_CALM = 1.0


def price(message: Message) -> int:
    found: int = json.loads(message.value() or b"{}")["price"]
    return found


def wishes(random: Random) -> Wish:
    key, other = random.choice(KEYS), random.choice(KEYS)
    return random.choice(
        [
            Wish({"key": key}, lambda m: m.key() == key.encode()),
            Wish({"keys": [key, other]}, lambda m: m.key() in (key.encode(), other.encode())),
            Wish({"prefix": "a-1"}, lambda m: (m.key() or b"").startswith(b"a-1")),
            Wish({"where": "value.price > 950"}, lambda m: price(m) > 950),
            Wish(
                {"where": "value.price < 100 and value.even == true"},
                lambda m: price(m) < 100 and price(m) % 2 == 0,
            ),
            Wish(
                {"headers": {"source": "web"}, "where": "value.price < 500"},
                lambda m: ("source", b"web") in (m.headers() or []) and price(m) < 500,
            ),
        ]
    )


class Killable(Protocol):
    @property
    def bootstrap(self) -> str: ...

    def start(self) -> object: ...

    def kill(self) -> None: ...


def exact(
    broker: Killable, directory: Path, records: int, lives: int, partitioner: str, seed: int
) -> None:
    random = Random(seed)
    foreign.create_topic(broker.bootstrap, TOPIC, partitions=4)
    with FanoutProcess(
        broker.bootstrap,
        directory / "fanout.log",
        *("--metadata-interval", "0.5", "--max-requests-per-second", "1000"),
    ) as fanout:
        uri = fanout.url.replace("http", "ws") + "/v1"
        everybody = asyncio.run(world(broker, uri, random, records, lives, partitioner))
        assert "Traceback" not in fanout.log, fanout.log
    log = everything(broker)
    assert len(log) >= records
    for life in everybody:
        life.check(log)
    assert sum(len(life.delivered) for life in everybody) > records // 100
    assert any(life.gaps for life in everybody)


async def world(
    broker: Killable,
    uri: str,
    random: Random,
    records: int,
    lives: int,
    partitioner: str,
) -> list[Life]:
    over = asyncio.Event()
    everybody = [
        Life(wishes(random), TOPIC, random.choice(["pause", "pause", "drop-oldest", "conflate"]))
        for _ in range(lives)
    ]
    # Some who want all, so that somebody is slow for certain.
    everybody += [Life(Wish({}, lambda _: True), TOPIC, each) for each in ("conflate", "pause")]
    async with asyncio.TaskGroup() as group:
        for number, life in enumerate(everybody):
            seed = Random(random.random())
            group.create_task(live(life, uri, seed, over, ends=number % 3 == 0))
        await asyncio.sleep(0.5)
        await write(broker, random, records, partitioner)
        await asyncio.sleep(SECONDS_OF_CALM)
        over.set()
    return everybody


async def write(broker: Killable, random: Random, records: int, partitioner: str) -> None:
    """The topic grows after a third, the broker is killed and started again after two."""
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "partitioner": partitioner,
            "linger.ms": 5,
            "enable.idempotence": True,
            "log_level": 0,
            "topic.metadata.refresh.interval.ms": 1000,
        }
    )
    for number in range(records):
        if number == records // 3:
            foreign.admin(broker.bootstrap).create_partitions([NewPartitions(TOPIC, 7)])
        if number == 2 * records // 3:
            await asyncio.to_thread(broker.kill)
            await asyncio.sleep(0.5)
            await asyncio.to_thread(broker.start)
        cost = random.randint(0, 999)
        value = json.dumps({"n": number, "price": cost, "even": cost % 2 == 0})
        headers: list[tuple[str, str | bytes | None]] = [("source", "app" if number % 5 else "web")]
        while True:
            try:
                producer.produce(TOPIC, value, random.choice(KEYS), headers=headers)
                break
            except BufferError:
                producer.poll(0)
                await asyncio.sleep(0.01)
        if number % 500 == 0:
            producer.poll(0)
            await asyncio.sleep(0.01)
    assert await asyncio.to_thread(producer.flush, 60) == 0


def everything(broker: Killable) -> dict[Place, Message]:
    """As a plain consumer reads it."""
    log: dict[Place, Message] = {}
    for partition in range(7):
        _, end = foreign.watermarks(broker.bootstrap, TOPIC, partition)
        for message in foreign.read(broker.bootstrap, TOPIC, end, partition=partition):
            log[partition, message.offset() or 0] = message
    return log
