"""`topic consume` decodes and `topic produce --schema` encodes: with a registry that is there, and
with one that is not."""

import io
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from tests import decoded_ticks, foreign
from tests.broker_process import free_port
from tests.commands import Commands
from tests.decoded_ticks import FORMS, tick
from tests.in_process import InProcessBroker
from tests.registry_process import RegistryProcess

pytestmark = pytest.mark.slow

AT = "1970-01-01T00:00:00Z"


@dataclass
class World:
    bootstrap: str
    url: str
    schemas: SchemaRegistryClient


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    log = tmp_path_factory.mktemp("registry") / "log"
    with (
        InProcessBroker(None) as broker,
        RegistryProcess(broker.bootstrap, log) as registry,
        SchemaRegistryClient({"url": registry.url}) as schemas,
    ):
        yield World(broker.bootstrap, registry.url, schemas)


@pytest.fixture
def commands(
    world: World, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Commands:
    monkeypatch.setenv("KAFKAESQUE_REGISTRY", world.url)
    return Commands(world.bootstrap, capfd)


@pytest.fixture
def topic(world: World) -> str:
    return foreign.create_topic(world.bootstrap)


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


@pytest.mark.parametrize("form", FORMS)
def test_consume_decodes_by_itself(world: World, commands: Commands, topic: str, form: str) -> None:
    value = decoded_ticks.serializer(world.schemas, form)(tick(1), topic)
    decoded_ticks.write(world.bootstrap, topic, [value, b"plain"], [b"k", None])
    consume = ("topic", "consume", topic, "-o", ":end")
    said = {**tick(1), "at": AT} if form == "avro" else tick(1)
    first, second = map(json.loads, commands.succeed(*consume, "--no-pretty-print").lines)
    assert (first["key"], first["message"]) == ("k", said)
    assert first["value_schema_id"] == int.from_bytes(value[1:5], "big")
    assert second["message"] == "plain"
    texts = commands.succeed(*consume, "-f", r"%v %v{hex}\n").lines
    assert json.loads(texts[0].rpartition(" ")[0]) == said
    assert texts[0].endswith(value.hex())
    assert texts[1] == f"plain {b'plain'.hex()}"
    raw = commands.succeed(*consume, "--no-decode", "-f", r"%v{hex}\n").lines
    assert raw[0] == value.hex()


def test_consume_searches_with_a_filter(world: World, commands: Commands, topic: str) -> None:
    serialize = decoded_ticks.serializer(world.schemas, "avro")
    values = [serialize(tick(number), topic) for number in range(50)]
    decoded_ticks.write(world.bootstrap, topic, values)
    consume = ("topic", "consume", topic, "-f", r"%o\n", "--where")
    found = commands.succeed(*consume, "value.price >= 47", "-o", ":end").lines
    assert found == ["47", "48", "49"]
    assert commands.succeed(*consume, 'value.ticker == "GOOG"', "-n", 2).lines == ["1", "3"]
    assert commands.succeed(*consume, "offset < 2", "-o", ":end").lines == ["0", "1"]
    refused = commands(*consume, "value.price >", "-n", 1)
    assert (refused.exit_code, "--where" in refused.err) == (2, True)


def test_consume_goes_on_without_a_registry(commands: Commands, world: World, topic: str) -> None:
    value = decoded_ticks.serializer(world.schemas, "avro")(tick(1), topic)
    decoded_ticks.write(world.bootstrap, topic, [value] * 3)
    away = f"http://127.0.0.1:{free_port()}"
    done = commands("topic", "consume", topic, "-o", ":end", "-f", r"%v{hex}\n", "--registry", away)
    assert (done.exit_code, done.lines) == (0, [value.hex()] * 3)
    assert done.err.count("\n") == 1
    assert "printed as they are" in done.err


def read_by_confluent(world: World, topic: str, count: int) -> list[Any]:
    deserialize = AvroDeserializer(world.schemas)
    context = SerializationContext(topic, MessageField.VALUE)
    return [
        deserialize(each.value(), context) for each in foreign.read(world.bootstrap, topic, count)
    ]


def test_produce_encodes_by_a_file_a_subject_and_an_id(
    world: World,
    commands: Commands,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "tick.avsc"
    file.write_text(json.dumps(decoded_ticks.AVRO))
    lines = "".join(f"{json.dumps(tick(number))}\n" for number in range(3))
    produce = ("topic", "produce", topic, "-f", r"%v\n")
    typed(monkeypatch, lines)
    commands.succeed(*produce, "--schema", file)
    place = world.schemas.get_latest_version(f"{topic}-value")
    for options in (["--schema", f"{topic}-value"], ["--schema-id", place.schema_id]):
        typed(monkeypatch, lines)
        commands.succeed(*produce, *options)
    found = read_by_confluent(world, topic, 9)
    assert [each["price"] for each in found] == [0.0, 1.0, 2.0] * 3
    assert [each["ticker"] for each in found[:2]] == ["AMZN", "GOOG"]


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (
            ".proto",
            'syntax = "proto3"; message Tick { string ticker = 1; double price = 2; }',
        ),
        (".json", json.dumps(decoded_ticks.JSON)),
    ],
)
def test_produce_takes_other_schemas_too(
    commands: Commands,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    suffix: str,
    text: str,
) -> None:
    file = tmp_path / f"tick{suffix}"
    file.write_text(text)
    typed(monkeypatch, json.dumps(tick(1)))
    commands.succeed("topic", "produce", topic, "-k", "k", "--schema", file)
    (line,) = commands.succeed("topic", "consume", topic, "-n", 1, "-f", r"%k %v\n").lines
    assert json.loads(line.removeprefix("k ")) == tick(1)
    typed(monkeypatch, '{"ticker": "A", "price": "dear"}')
    done = commands("topic", "produce", topic, "--schema", file)
    assert (done.exit_code, "field price" in done.err) == (1, True)


def test_nothing_of_a_bad_line_is_sent(
    world: World,
    commands: Commands,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "tick.avsc"
    file.write_text(json.dumps(decoded_ticks.AVRO))
    lines = [json.dumps(tick(1)), '{"ticker": "A", "price": "dear"}', json.dumps(tick(2))]
    typed(monkeypatch, "\n".join(lines))
    done = commands("topic", "produce", topic, "-f", r"%v\n", "--schema", file)
    assert done.exit_code == 1
    assert "line 2 of the input" in done.err
    assert "field price takes double" in done.err
    assert f"subject {topic}-value" in done.err
    assert foreign.watermarks(world.bootstrap, topic) == (0, 1)
    typed(monkeypatch, "no json")
    done = commands("topic", "produce", topic, "--schema", f"{topic}-value")
    assert (done.exit_code, "has to be JSON" in done.err) == (1, True)


def test_keys_have_schemas_of_their_own(
    commands: Commands, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key.avsc"
    file.write_text('"string"')
    typed(monkeypatch, "hello")
    commands.succeed("topic", "produce", topic, "-k", "AMZN", "--key-schema", file)
    done = commands.succeed("topic", "consume", topic, "-n", 1, "-f", r"%k %v %k{hex}\n")
    key, value, data = done.out.split()
    assert (key, value) == ("AMZN", "hello")
    assert bytes.fromhex(data)[:1] == b"\0"


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["--schema", "nobody-value"], 1, "schema list"),
        (["--schema", "missing.avsc"], 1, "there is no file"),
        (["--schema-id", "1", "--schema", "a"], 2, "not both"),
        (["--registry", "localhost:8081", "--schema-id", "1"], 2, "no URL"),
    ],
)
def test_schemas_that_cannot_be(
    commands: Commands, topic: str, options: list[str], code: int, says: str
) -> None:
    done = commands("topic", "produce", topic, *options)
    assert done.exit_code == code
    assert says in done.err.replace("\n", " ")


def test_a_schema_needs_a_registry(
    commands: Commands, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KAFKAESQUE_REGISTRY")
    done = commands("topic", "produce", topic, "--schema-id", "1")
    assert (done.exit_code, "KAFKAESQUE_REGISTRY" in done.err) == (2, True)
