"""Subscribers come while records with schemas that nobody has seen are written: each gets exactly
what its filter matches, in order, from where it began."""

import json
import struct
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import fastavro
import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from tests import foreign
from tests.decoded_ticks import AVRO, AVRO_FIELDS
from tests.fanout_process import PatientFanoutProcess
from tests.in_process import InProcessBroker
from tests.registry_process import RegistryProcess
from websockets.sync.client import connect

pytestmark = pytest.mark.slow

PARTITIONS = 3
SCHEMAS = 12
RECORDS_OF_EACH = 80
SUBSCRIBERS = 8
TOPIC = "ticks"

Prices = dict[tuple[int, int], int]


def variant(number: int) -> dict[str, Any]:
    extra = {"name": f"extra{number}", "type": "int", "default": number}
    return {**AVRO, "fields": [*AVRO_FIELDS, extra]}


def write(bootstrap: str, schemas: SchemaRegistryClient, prices: Prices, numbers: range) -> None:
    """Each of these schemas is new. `prices` are by partition and offset."""
    random = Random(numbers[0])
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 1, "log_level": 0})
    for number in numbers:
        schema = variant(number)
        schema_id = schemas.register_schema(f"{TOPIC}-{number}", Schema(json.dumps(schema), "AVRO"))
        parsed = fastavro.parse_schema(schema)
        for _ in range(RECORDS_OF_EACH):
            price = random.randrange(200)
            out = BytesIO(b"\0" + struct.pack(">I", schema_id))
            out.seek(5)
            tick = {"ticker": "AMZN", "price": float(price), "at": 0, f"extra{number}": number}
            fastavro.schemaless_writer(out, parsed, tick)

            def note(_error: Any, message: Any, price: int = price) -> None:
                prices[message.partition(), message.offset()] = price

            producer.produce(
                TOPIC, out.getvalue(), partition=random.randrange(PARTITIONS), callback=note
            )
        assert producer.flush(foreign.TIMEOUT_S) == 0


def live(web: str, number: int, written: threading.Event, ends: dict[int, int]) -> Any:
    """One subscriber, until it has come to the end: where it began, and the offsets it got."""
    random = Random(number)
    time.sleep(random.random())
    least = random.randrange(50, 190)
    request = {
        "type": "subscribe",
        "id": 1,
        "topic": TOPIC,
        "where": f"value.price >= {least}",
        "encoding": "json",
        "policy": random.choice(("pause", "drop-oldest")),
        "from": random.choice(("latest", "earliest")),
        "decode": random.choice(("none", "json")),
    }
    began: dict[str, int] = {}
    got: dict[int, list[int]] = defaultdict(list)
    with connect(f"ws://{web}/v1", open_timeout=60) as connection:
        connection.send(json.dumps(request))
        deadline = time.monotonic() + foreign.TIMEOUT_S
        asked = False
        while time.monotonic() < deadline:
            if written.is_set() and not asked:
                connection.send(json.dumps({"type": "position", "id": 1}))
                asked = True
            try:
                message = json.loads(connection.recv(0.1))
            except TimeoutError:
                continue
            match message["type"]:
                case "subscribed":
                    began = message["position"]
                case "event":
                    got[message["partition"]].append(message["offset"])
                    if request["decode"] == "json":
                        assert message["value"]["price"] >= least
                case "position":
                    asked = False
                    if all(message["position"][str(part)] == end for part, end in ends.items()):
                        return least, began, got
                    time.sleep(0.05)
                case "gap" | "error":
                    raise AssertionError(message)
    raise AssertionError("it has not come to the end")


def test_each_gets_exactly_what_matches_though_schemas_come_late(tmp_path: Path) -> None:
    prices: Prices = {}
    ends: dict[int, int] = {}
    written = threading.Event()
    with (
        InProcessBroker(None) as broker,
        RegistryProcess(broker.bootstrap, tmp_path / "registry.log") as registry,
        SchemaRegistryClient({"url": registry.url}) as schemas,
    ):
        foreign.create_topic(broker.bootstrap, TOPIC, PARTITIONS)
        # Those that only readers of older records meet, and those that the feed meets first.
        write(broker.bootstrap, schemas, prices, range(SCHEMAS // 2))
        with (
            PatientFanoutProcess(
                broker.bootstrap, tmp_path / "fanout.log", "--registry", registry.url
            ) as fanout,
            ThreadPoolExecutor(SUBSCRIBERS) as pool,
        ):
            web = fanout.url.partition("://")[2]
            lives = [pool.submit(live, web, number, written, ends) for number in range(SUBSCRIBERS)]
            write(broker.bootstrap, schemas, prices, range(SCHEMAS // 2, SCHEMAS))
            for partition in range(PARTITIONS):
                ends[partition] = foreign.watermarks(broker.bootstrap, TOPIC, partition)[1]
            written.set()
            for each in lives:
                least, began, got = each.result()
                for partition in range(PARTITIONS):
                    wanted = sorted(
                        offset
                        for (place, offset), price in prices.items()
                        if place == partition and offset >= began[str(partition)] and price >= least
                    )
                    assert got[partition] == wanted
        assert "Traceback" not in fanout.log
    assert len(prices) == SCHEMAS * RECORDS_OF_EACH
