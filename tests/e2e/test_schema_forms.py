"""`Producer`, `Consumer`, `Table` and `App` with schemas, over our broker and our registry."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field
from tests.broker_process import free_port
from tests.foreign import name, produce, until
from tests.registry_process import RegistryProcess
from tests.running_app import RunningApp
from tests.schema_world import SchemaWorld, schema_world

from kafkaesque import App, Consumer, Event, Producer, Table
from kafkaesque.client.registry import RegistryAwayError, RegistryClient, RegistryError, Schema
from kafkaesque.client.serde import DecodeEventError

pytestmark = pytest.mark.slow

TICK = {
    "type": "record",
    "name": "Tick",
    "namespace": "org",
    "fields": [{"name": "symbol", "type": "string"}, {"name": "price", "type": "double"}],
}
TICK_JSON = {
    "title": "Tick",
    "type": "object",
    "properties": {"symbol": {"type": "string"}, "price": {"type": "number"}},
    "additionalProperties": False,
}
TICK_PROTO = """
syntax = "proto3";
package org;
message Tick { string symbol = 1; double price = 2; }
"""
VALUE = {"symbol": "AMZN", "price": 3.5}


class Tick(BaseModel):
    symbol: str
    price: float = Field(gt=0)
    at: datetime = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemaWorld]:
    with schema_world(tmp_path_factory.mktemp("forms")) as world:
        yield world


@pytest.fixture(scope="module")
def registry(world: SchemaWorld) -> Iterator[RegistryClient]:
    with RegistryClient(world.url) as client:
        yield client


def send(world: SchemaWorld, topic: str, *values: Any, **options: Any) -> None:
    with Producer(world.bootstrap, topic, registry=world.url, **options) as producer:
        for value in values:
            producer.send(value=value, key="k").result(60)


def read(world: SchemaWorld, topic: str, **options: Any) -> list[Any]:
    with Consumer(topic, world.bootstrap, until="end", registry=world.url, **options) as consumer:
        return [event.value for event in consumer]


@pytest.mark.parametrize(
    ("form", "schema"),
    [("avro", TICK), ("json", TICK_JSON), ("json-schema", TICK_JSON), ("protobuf", TICK_PROTO)],
)
def test_values_come_back_in_every_form(world: SchemaWorld, form: str, schema: Any) -> None:
    topic = world.topic()
    send(world, topic, VALUE, None, VALUE, value=form, schema=schema)
    form = "json-schema" if form == "json" else form
    assert read(world, topic, value=form) == [VALUE, None, VALUE]


@pytest.mark.parametrize("form", ["avro", "json"])
def test_models_come_back_as_what_they_are(world: SchemaWorld, form: str) -> None:
    topic = world.topic()
    tick = Tick(symbol="AMZN", price=3.5, at=datetime(2026, 5, 6, 7, 8, tzinfo=UTC))
    send(world, topic, tick, {"symbol": "A", "price": "1"}, value=form, schema=Tick)
    assert read(world, topic, value=form, schema=Tick) == [tick, Tick(symbol="A", price=1)]


@pytest.mark.parametrize(
    ("form", "schema", "words"),
    [
        ("avro", TICK, "field org.Tick.price takes double, not str"),
        ("json", TICK_JSON, "field price: the value is not of type"),
        ("protobuf", TICK_PROTO, "field price takes double, not str"),
        ("avro", Tick, "price"),
        ("json", Tick, "price"),
    ],
)
def test_what_does_not_fit_names_field_and_subject_and_is_not_sent(
    world: SchemaWorld, form: str, schema: Any, words: str
) -> None:
    topic = world.topic()
    with Producer(world.bootstrap, topic, value=form, schema=schema, registry=world.url) as one:
        with pytest.raises(TypeError) as raised:
            one.send(value={"symbol": "A", "price": "high"})
        assert len(one) == 0
    assert f"subject {topic}-value" in str(raised.value)
    assert words in str(raised.value)
    assert read(world, topic, value="bytes") == []


def test_a_model_that_was_changed_into_what_it_may_not_be(world: SchemaWorld) -> None:
    topic, tick = world.topic(), Tick(symbol="A", price=1)
    tick.price = -1
    with pytest.raises(TypeError, match="field price"):
        send(world, topic, tick, value="json", schema=Tick)


def test_keys_have_schemas_too(world: SchemaWorld, registry: RegistryClient) -> None:
    topic = world.topic()
    send(world, topic, VALUE, value="avro", schema=TICK, key="avro", key_schema='"string"')
    assert registry.versions(f"{topic}-key") == registry.versions(f"{topic}-value") == [1]
    options: Any = {"key": "avro", "value": "avro", "registry": registry}
    with Consumer(topic, world.bootstrap, until="end", **options) as consumer:
        assert [(event.key, event.value) for event in consumer] == [("k", VALUE)]


def test_the_subject_may_be_another(world: SchemaWorld, registry: RegistryClient) -> None:
    topic = world.topic()
    send(world, topic, VALUE, value="avro", schema=TICK, subject="{topic}.{record}")
    assert registry.versions(f"{topic}.org.Tick") == [1]
    subject = name("by-function")
    send(world, topic, VALUE, value="avro", schema=TICK, subject=lambda *_: subject)
    assert registry.versions(subject) == [1]
    send(world, topic, Tick(symbol="A", price=1), value="json", schema=Tick, subject="{record}")
    assert "Tick" in registry.subjects()


def test_ids_and_latest_register_nothing(world: SchemaWorld, registry: RegistryClient) -> None:
    topic = world.topic()
    place = registry.register(name("elsewhere"), Schema(TICK_JSON_TEXT, "JSON"))
    send(world, topic, VALUE, value="json", schema=place.id)
    with pytest.raises(TypeError, match="is of type JSON"):
        send(world, topic, VALUE, value="avro", schema=place.id)
    assert f"{topic}-value" not in registry.subjects()
    registry.register(f"{topic}-value", Schema(TICK_JSON_TEXT, "JSON"))
    send(world, topic, VALUE, value="json-schema", use_latest=True)
    assert read(world, topic, value="json-schema") == [VALUE, VALUE]


TICK_JSON_TEXT = Schema(str(TICK_JSON).replace("'", '"').replace("False", "false"), "JSON").text


def test_without_registering_the_schema_must_be_there(
    world: SchemaWorld, registry: RegistryClient, tmp_path: Path
) -> None:
    topic, path = world.topic(), tmp_path / "tick.proto"
    path.write_text(TICK_PROTO)
    options: Any = {"value": "protobuf", "schema": path, "auto_register": False}
    with pytest.raises(RegistryError, match=f"subject {topic}-value has no place.*register it"):
        send(world, topic, VALUE, **options)
    registry.register(f"{topic}-value", Schema(TICK_PROTO, "PROTOBUF"))
    send(world, topic, VALUE, **options)
    assert read(world, topic, value="protobuf") == [VALUE]


def test_a_schema_that_does_not_go_with_the_last_is_refused(world: SchemaWorld) -> None:
    topic = world.topic()
    send(world, topic, VALUE, value="avro", schema=TICK)
    other = {**TICK, "fields": [*TICK["fields"], {"name": "volume", "type": "long"}]}
    with pytest.raises(RegistryError, match="volume"):
        send(world, topic, VALUE, value="avro", schema=other)


def test_a_reader_has_its_own_schema(world: SchemaWorld) -> None:
    topic = world.topic()
    send(world, topic, VALUE, value="avro", schema=TICK)
    note = {"name": "note", "type": "string", "default": "none"}
    reader = {**TICK, "fields": [TICK["fields"][1], note]}
    assert read(world, topic, value="avro", schema=reader) == [{"price": 3.5, "note": "none"}]


def test_older_and_newer_records_of_a_model(world: SchemaWorld) -> None:
    topic = world.topic()
    send(world, topic, VALUE, value="avro", schema=TICK)
    newer = {**TICK, "namespace": "org", "fields": [*TICK["fields"], NOTE]}
    send(world, topic, {**VALUE, "note": "x"}, value="avro", schema=newer)
    assert read(world, topic, value="avro", schema=Tick) == [
        Tick.model_validate(VALUE),
        Tick.model_validate(VALUE),
    ]


NOTE = {"name": "note", "type": ["null", "string"], "default": None}


def test_what_cannot_be_decoded_is_an_error_in_its_place(world: SchemaWorld) -> None:
    topic = world.topic()
    produce(world.bootstrap, topic, [b"plain", b"\0\0\x7f\xff\xffx"])
    send(world, topic, VALUE, value="avro", schema=TICK)
    found: list[DecodeEventError] = []
    assert read(world, topic, value="avro", on_error=found.append) == [VALUE]
    assert [error.event.value for error in found] == [b"plain", b"\0\0\x7f\xff\xffx"]
    assert "byte 112, not 0" in str(found[0])
    with pytest.raises(DecodeEventError, match="read it as 'avro'"):
        read(world, topic, value="json-schema", start=2)


def check_letters(world: SchemaWorld, dead: str, topic: str) -> None:
    with Consumer(dead, world.bootstrap, until="end", key="bytes", value="bytes") as letters:
        (letter,) = list(letters)
    headers = dict(letter.headers)
    assert (letter.value, headers["mine"]) == (b"plain", b"1")
    assert headers["kafkaesque.topic"] == topic.encode()
    assert headers["kafkaesque.offset"] == b"0"
    assert headers["kafkaesque.attempts"] == b"0"
    assert b"the value is not avro" in (headers["kafkaesque.error"] or b"")


def with_a_bad_event(world: SchemaWorld) -> str:
    topic = world.topic()
    with Producer(world.bootstrap, topic, value="bytes") as producer:
        producer.send(value=b"plain", headers={"mine": "1"}).result(60)
    send(world, topic, VALUE, value="avro", schema=TICK)
    return topic


def test_a_consumers_dead_letters(world: SchemaWorld) -> None:
    topic = with_a_bad_event(world)
    dead = f"{topic}.dead"
    assert read(world, topic, value="avro", dead_letters=dead, group=name("group")) == [VALUE]
    check_letters(world, dead, topic)


def test_an_awaiting_consumers_dead_letters(world: SchemaWorld) -> None:
    topic = with_a_bad_event(world)

    async def main() -> list[Any]:
        options: Any = {"until": "end", "value": "avro", "registry": world.url}
        async with Consumer(
            topic, world.bootstrap, dead_letters=f"{topic}.dead", **options
        ) as consumer:
            return [event.value async for event in consumer]

    assert asyncio.run(main()) == [VALUE]
    check_letters(world, f"{topic}.dead", topic)


def test_a_program_that_awaits(world: SchemaWorld) -> None:
    topic = world.topic()

    async def main() -> list[Any]:
        options: Any = {"value": "avro", "schema": Tick, "registry": world.url}
        async with Producer(world.bootstrap, topic, **options) as producer:
            await producer.send(value=Tick(symbol="A", price=1))
            await producer.send_many(None, [Tick(symbol="B", price=n) for n in (1, 2)])
        async with Consumer(topic, world.bootstrap, until="end", **options) as consumer:
            return [event.value.symbol async for event in consumer]

    assert asyncio.run(main()) == ["A", "B", "B"]


def test_a_table_of_models(world: SchemaWorld) -> None:
    topic = world.topic()
    send(world, topic, Tick(symbol="A", price=1), value="avro", schema=Tick)
    with Table(topic, world.bootstrap, value="avro", schema=Tick, registry=world.url) as table:
        assert dict(table) == {"k": Tick(symbol="A", price=1)}


def test_handlers_are_given_models_and_what_is_none_is_a_dead_letter(world: SchemaWorld) -> None:
    topic = with_a_bad_event(world)
    app = App(world.bootstrap, registry=world.url)
    seen: list[Event] = []

    @app.handle(topic, group=name("group"), value="avro", schema=Tick)
    def take(event: Event) -> None:
        seen.append(event)

    with RunningApp(app):
        until(lambda: len(seen) == 1)
    assert seen[0].value == Tick.model_validate(VALUE)
    check_letters(world, f"{topic}.dead", topic)


def test_a_registry_that_is_away_is_waited_for(world: SchemaWorld, tmp_path: Path) -> None:
    topic = world.topic()
    send(world, topic, VALUE, value="avro", schema=TICK)
    port = free_port()
    away = world._replace(url=f"http://127.0.0.1:{port}")
    with pytest.raises(RegistryAwayError):
        send(away, topic, VALUE, value="avro", schema=TICK)
    app, seen = App(away.bootstrap, registry=away.url), list[Any]()

    @app.handle(topic, group=name("group"), value="avro")
    def take(event: Event) -> None:
        seen.append(event.value)

    options: Any = {"value": "avro", "registry": away.url, "on_error": "skip"}
    with (
        RunningApp(app),
        Consumer(topic, away.bootstrap, timeout=5, **options) as consumer,
    ):
        assert list(consumer) == []
        assert seen == []
        with RegistryProcess(world.bootstrap, tmp_path / "log", port=port):
            assert next(iter(consumer)).value == VALUE
            until(lambda: seen == [VALUE])
