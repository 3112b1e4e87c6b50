"""The fan-out with a schema registry: filters see decoded values, and decode=json delivers them.

What confluent-kafka's serializers have written is read by clients that know nothing of us.
"""

import ast
import asyncio
import json
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import httpx
import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from httpx_sse import connect_sse
from tests import decoded_ticks, foreign
from tests.broker_process import COMMAND
from tests.decoded_ticks import FORMS, tick
from tests.fanout_process import FanoutProcess, PatientFanoutProcess
from tests.in_process import InProcessBroker
from tests.registry_process import RegistryProcess
from websockets.sync.client import ClientConnection, connect

from kafkaesque.client.event_json import bytes_of
from kafkaesque.client.subscriber import Subscriber

pytestmark = pytest.mark.slow

TOPICS = 16


@dataclass
class World:
    bootstrap: str
    registry: RegistryProcess
    schemas: SchemaRegistryClient
    fanout: FanoutProcess
    topics: list[str]
    directory: Path

    @property
    def web(self) -> str:
        return self.fanout.url.partition("://")[2]

    def topic(self) -> str:
        return self.topics.pop()

    def metric(self, name: str) -> float:
        with urlopen(f"{self.fanout.url}/metrics", timeout=foreign.TIMEOUT_S) as answer:
            for line in answer.read().decode().splitlines():
                if line.startswith(f"{name} "):
                    return float(line.split()[1])
        raise AssertionError(f"there is no {name}")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory = tmp_path_factory.mktemp("decode")
    with InProcessBroker(None) as broker:
        topics = [foreign.create_topic(broker.bootstrap) for _ in range(TOPICS)]
        with (
            RegistryProcess(broker.bootstrap, directory / "registry.log") as registry,
            SchemaRegistryClient({"url": registry.url}) as schemas,
            PatientFanoutProcess(
                broker.bootstrap, directory / "fanout.log", "--registry", registry.url
            ) as fanout,
        ):
            world = World(broker.bootstrap, registry, schemas, fanout, topics, directory)
            yield world
            assert "Traceback" not in fanout.log
            world.registry.stop()


@contextmanager
def subscribed(world: World, **request: Any) -> Iterator[ClientConnection]:
    with connect(f"ws://{world.web}/v1", open_timeout=60) as connection:
        connection.send(json.dumps({"type": "subscribe", "id": 1, **request}))
        answer = json.loads(connection.recv(foreign.TIMEOUT_S))
        assert answer["type"] == "subscribed", answer
        yield connection


def events(connection: ClientConnection, count: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while len(found) < count:
        message = json.loads(connection.recv(foreign.TIMEOUT_S))
        if message["type"] == "event":
            found.append(message)
    return found


@pytest.mark.parametrize("form", FORMS)
def test_a_filter_sees_what_foreign_serializers_wrote(world: World, form: str) -> None:
    topic = world.topic()
    serialize = decoded_ticks.serializer(world.schemas, form)
    where = 'value.price > 100 and value.ticker == "AMZN"'
    with subscribed(world, topic=topic, where=where, encoding="json", decode="json") as connection:
        values = [serialize(tick(number), topic) for number in range(95, 120)]
        decoded_ticks.write(world.bootstrap, topic, values)
        wanted = [number for number in range(95, 120) if number > 100 and number % 2 == 0]
        found = events(connection, len(wanted))
    assert [event["offset"] for event in found] == [number - 95 for number in wanted]
    assert [event["value"]["price"] for event in found] == wanted
    assert found[0]["value_schema_id"] == struct.unpack_from(">I", values[0], 1)[0]
    # The same for who comes later: a reader of older records learns schemas, too.
    with subscribed(
        world, topic=topic, where=where, encoding="json", **{"from": "earliest"}
    ) as connection:
        again = events(connection, len(wanted))
    assert [event["offset"] for event in again] == [number - 95 for number in wanted]
    assert bytes_of(again[0]["value"]) == values[wanted[0] - 95]


def test_server_sent_events_have_the_json_value_itself(world: World) -> None:
    topic = world.topic()
    serialize = decoded_ticks.serializer(world.schemas, "avro")
    values = [
        serialize(tick(1), topic),
        b'{"price": 7}',
        b"\0\0\0\0\x07",
        serialize(tick(2), topic),
    ]
    decoded_ticks.write(world.bootstrap, topic, values, [b"a", values[0], None, b"\xff"])
    query = urlencode({"topic": topic, "decode": "json", "from": "earliest"})
    with (
        httpx.Client(timeout=foreign.TIMEOUT_S) as client,
        connect_sse(client, "GET", f"{world.fanout.url}/sse?{query}") as source,
    ):
        messages = (event for event in source.iter_sse() if event.data and event.event == "message")
        found = [json.loads(next(messages).data) for _ in values]
    assert found[0]["value"] == {"ticker": "GOOG", "price": 1.0, "at": "1970-01-01T00:00:00Z"}
    assert found[0]["key"] == "a"
    # A framed key is decoded, plain JSON stays the text that it is, garbage the bytes that it is.
    assert found[1]["key"] == found[0]["value"]
    assert found[1]["value"] == '{"price": 7}'
    assert "value_schema_id" not in found[1]
    assert found[2]["value"] == "\0\0\0\0\x07"
    assert found[3]["key"] == {"base64": "/w=="}
    assert found[3]["value"]["price"] == 2.0


def test_the_samples_protocol_and_event_frames_have_json_text(world: World) -> None:
    topic = world.topic()
    value = decoded_ticks.serializer(world.schemas, "avro")(tick(1), topic)
    said = b'{"ticker":"GOOG","price":1.0,"at":"1970-01-01T00:00:00Z"}'
    with connect(f"ws://{world.web}/ws?decode=json", open_timeout=60) as connection:
        connection.recv(foreign.TIMEOUT_S)
        connection.send(f"{topic}/*")
        foreign.until(lambda: world.metric("kafkaesque_fanout_subscriptions") >= 1)
        decoded_ticks.write(world.bootstrap, topic, [value], [b"k"])
        assert connection.recv(foreign.TIMEOUT_S) == b"k"
        assert connection.recv(foreign.TIMEOUT_S) == said

    async def listen() -> bytes:
        uri = f"ws://{world.web}/v1"
        async with asyncio.timeout(foreign.TIMEOUT_S), Subscriber(uri, decode="json") as subscriber:
            await subscriber.subscribe(topic, start="earliest")
            async for event in subscriber:
                found: bytes = event.value
                return found
        raise AssertionError

    assert asyncio.run(listen()) == said


def test_listen_prints_what_is_decoded(world: World) -> None:
    topic = world.topic()
    value = decoded_ticks.serializer(world.schemas, "avro")(tick(1), topic)
    command = [str(COMMAND), "listen", "--uri", f"ws://{world.web}/ws", "--topic", topic]
    with subprocess.Popen(
        [*command, "--decode", "json", "-n", "1"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"connected to ws://{world.web}/ws?decode=json\n"
        assert process.stdout.readline().startswith("listening for")
        foreign.until(lambda: world.metric("kafkaesque_fanout_subscriptions") >= 1)
        decoded_ticks.write(world.bootstrap, topic, [value], [b"k"])
        key, said = ast.literal_eval(process.stdout.readline())
        assert (key, json.loads(said)["ticker"]) == (b"k", "GOOG")
        assert process.wait(foreign.TIMEOUT_S) == 0


def test_records_wait_for_a_registry_that_is_being_restarted(world: World) -> None:
    """In order, and none is left out; other topics go on meanwhile."""
    topic, other = world.topic(), world.topic()
    serialize = decoded_ticks.serializer(world.schemas, "avro")
    known = serialize(tick(200), topic)
    size = {"name": "size", "type": "int", "default": 0}
    widened = {**decoded_ticks.AVRO, "fields": [*decoded_ticks.AVRO_FIELDS, size]}
    schema_id = world.schemas.register_schema(f"{topic}-value", Schema(json.dumps(widened), "AVRO"))
    new = b"\0" + struct.pack(">I", schema_id) + known[5:] + b"\x0a"
    with (
        subscribed(world, topic=topic, where="value.price > 100", encoding="json") as connection,
        subscribed(world, topic=other, encoding="json") as beside,
    ):
        decoded_ticks.write(world.bootstrap, topic, [known])
        assert [event["offset"] for event in events(connection, 1)] == [0]
        world.registry.stop()
        decoded_ticks.write(world.bootstrap, topic, [known, new, known, new])
        decoded_ticks.write(world.bootstrap, other, [b"on we go"])
        assert [event["value"] for event in events(beside, 1)] == ["on we go"]
        time.sleep(0.5)
        world.registry = RegistryProcess(
            world.bootstrap, world.directory / "registry.log", port=world.registry.port
        )
        assert [event["offset"] for event in events(connection, 4)] == [1, 2, 3, 4]


def test_a_schema_that_nobody_knows_is_counted_and_holds_up_nothing(world: World) -> None:
    topic = world.topic()
    good = decoded_ticks.serializer(world.schemas, "avro")(tick(150), topic)
    garbage = [b"\0" + struct.pack(">I", 1_000_000 + n) + b"?" for n in range(2000)]
    before = world.metric("kafkaesque_fanout_undecodable_total")
    with subscribed(world, topic=topic, where="value.price > 100", encoding="json") as connection:
        decoded_ticks.write(world.bootstrap, topic, [*garbage, good])
        assert [event["offset"] for event in events(connection, 1)] == [2000]
    assert world.metric("kafkaesque_fanout_undecodable_total") - before == 2000


def test_decode_is_refused_by_a_fanout_without_a_registry(world: World) -> None:
    topic = world.topic()
    with FanoutProcess(world.bootstrap, world.directory / "plain.log") as plain:
        web = plain.url.partition("://")[2]
        with connect(f"ws://{web}/v1", open_timeout=60) as connection:
            request = {"type": "subscribe", "id": 1, "topic": topic, "decode": "json"}
            connection.send(json.dumps(request))
            answer = json.loads(connection.recv(foreign.TIMEOUT_S))
            assert (answer["type"], "--registry" in answer["message"]) == ("error", True)
        with connect(f"ws://{web}/ws?decode=json", open_timeout=60) as connection:
            connection.recv(foreign.TIMEOUT_S)
            connection.send(f"{topic}/*")
            with pytest.raises(Exception, match="--registry"):
                connection.recv(foreign.TIMEOUT_S)
        answered = httpx.get(f"{plain.url}/sse?topic={topic}&decode=json", timeout=60)
        assert (answered.status_code, "--registry" in answered.text) == (400, True)
        refused = httpx.get(f"{plain.url}/sse?topic={topic}&decode=yaml", timeout=60)
        assert refused.status_code == 400
