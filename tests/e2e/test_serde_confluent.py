"""Our forms and confluent-kafka's serializers, over our broker and registry: each reads the other.

Their serializers are used as their users use them, with their own registry client.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import DeserializingConsumer, SerializingProducer
from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry import SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import StringSerializer
from pydantic import BaseModel
from tests.foreign import TIMEOUT_S, name
from tests.proto_files import generated
from tests.schema_world import SchemaWorld, schema_world

from kafkaesque import Consumer, Producer
from kafkaesque.client.registry import Reference, RegistryClient, Schema

PLACE_AVRO = {
    "type": "record",
    "name": "Place",
    "namespace": "org",
    "fields": [{"name": "city", "type": "string"}],
}
TICK_AVRO = {
    "type": "record",
    "name": "Tick",
    "namespace": "org",
    "fields": [
        {"name": "symbol", "type": "string"},
        {"name": "price", "type": "double"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "place", "type": ["null", "org.Place"], "default": None},
    ],
}
PLACE_JSON = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TICK_JSON = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Tick",
    "type": "object",
    "properties": {"symbol": {"type": "string"}, "place": {"$ref": "place.json"}},
}
PLACE_PROTO = """
syntax = "proto3";
package compat.place;
message Country { string code = 1; }
message Place { string city = 1; Country country = 2; }
"""
TICK_PROTO = """
syntax = "proto3";
package compat.tick;
import "compat/place.proto";
import "google/protobuf/timestamp.proto";
message First { int32 n = 1; }
message Tick {
  message Leg { int64 quantity = 1; message Deep { string note = 1; } }
  string symbol = 1;
  double price = 2;
  repeated Leg legs = 3;
  compat.place.Place place = 4;
  google.protobuf.Timestamp at = 5;
}
"""
NOW = datetime(2026, 11, 15, 12, 30, 1, 250_000, tzinfo=UTC)
AVRO_VALUE = {"symbol": "AMZN", "price": 3.5, "at": NOW, "place": {"city": "Basel"}}
JSON_VALUE = {"symbol": "AMZN", "place": {"city": "Basel"}}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemaWorld]:
    with schema_world(tmp_path_factory.mktemp("confluent")) as world:
        yield world


@pytest.fixture(scope="module")
def theirs(world: SchemaWorld) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": world.url}) as client:
        yield client


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> Any:
    directory: Path = tmp_path_factory.mktemp("generated")
    files = {"compat/place.proto": PLACE_PROTO, "compat/tick.proto": TICK_PROTO}
    return generated(directory, files)["compat/tick.proto"]


def they_write(world: SchemaWorld, topic: str, serializer: Any, *values: Any) -> None:
    producer = SerializingProducer(
        {
            "bootstrap.servers": world.bootstrap,
            "log_level": 0,
            "key.serializer": StringSerializer(),
            "value.serializer": serializer,
        }
    )
    for value in values:
        producer.produce(topic, key="k", value=value, headers=[])
    assert producer.flush(TIMEOUT_S) == 0


def they_read(world: SchemaWorld, topic: str, deserializer: Any, count: int) -> list[Any]:
    consumer = DeserializingConsumer(
        {
            "bootstrap.servers": world.bootstrap,
            "log_level": 0,
            "group.id": name("theirs"),
            "auto.offset.reset": "earliest",
            "value.deserializer": deserializer,
        }
    )
    consumer.subscribe([topic])
    found: list[Any] = []
    while len(found) < count:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None
        found.append(message.value())
    consumer.close()
    return found


def we_write(world: SchemaWorld, topic: str, *values: Any, **options: Any) -> None:
    with Producer(world.bootstrap, topic, registry=world.url, **options) as producer:
        producer.send_many(None, values, key="k").result(TIMEOUT_S)


def we_read(world: SchemaWorld, topic: str, **options: Any) -> list[Any]:
    with Consumer(topic, world.bootstrap, until="end", registry=world.url, **options) as consumer:
        return [event.value for event in consumer]


def place_of(world: SchemaWorld, schema: Any, kind: Any) -> str:
    """The subject of the schema that others refer to."""
    subject = name("place")
    with RegistryClient(world.url) as registry:
        registry.register(subject, Schema(json.dumps(schema), kind))
    return subject


def test_avro_both_ways_with_a_reference(world: SchemaWorld, theirs: SchemaRegistryClient) -> None:
    subject, text = place_of(world, PLACE_AVRO, "AVRO"), json.dumps(TICK_AVRO)
    topic, back = world.topic(), world.topic()
    ours = Schema(text, "AVRO", (Reference("org.Place", subject, 1),))
    we_write(world, topic, AVRO_VALUE, {**AVRO_VALUE, "place": None}, value="avro", schema=ours)
    read = they_read(world, topic, AvroDeserializer(theirs), 2)
    assert read == [AVRO_VALUE, {**AVRO_VALUE, "place": None}]
    schema = TheirSchema(text, "AVRO", [SchemaReference("org.Place", subject, 1)])
    they_write(world, back, AvroSerializer(theirs, schema), *read)
    assert we_read(world, back, value="avro") == read


class Leg(BaseModel):
    quantity: int


class Trade(BaseModel):
    symbol: str
    price: float
    at: datetime
    legs: list[Leg] = []
    note: str | None = None


TRADE = Trade(symbol="AMZN", price=3.5, at=NOW, legs=[Leg(quantity=2)])


@pytest.mark.slow
def test_a_model_is_read_by_their_avro(world: SchemaWorld, theirs: SchemaRegistryClient) -> None:
    topic = world.topic()
    we_write(world, topic, TRADE, value="avro", schema=Trade)
    (read,) = they_read(world, topic, AvroDeserializer(theirs), 1)
    assert Trade(**read) == TRADE
    text = theirs.get_latest_version(f"{topic}-value").schema.schema_str
    they_write(world, topic, AvroSerializer(theirs, text), read)
    assert we_read(world, topic, value="avro", schema=Trade) == [TRADE, TRADE]


@pytest.mark.slow
def test_a_model_is_read_by_their_json(world: SchemaWorld, theirs: SchemaRegistryClient) -> None:
    topic = world.topic()
    we_write(world, topic, TRADE, value="json", schema=Trade)
    found = theirs.get_latest_version(f"{topic}-value").schema
    (read,) = they_read(world, topic, JSONDeserializer(found.schema_str), 1)
    assert Trade.model_validate(read) == TRADE
    they_write(world, topic, JSONSerializer(found.schema_str, theirs), read)
    assert we_read(world, topic, value="json", schema=Trade) == [TRADE, TRADE]


@pytest.mark.slow
def test_json_both_ways_with_a_reference(world: SchemaWorld, theirs: SchemaRegistryClient) -> None:
    subject, text = place_of(world, PLACE_JSON, "JSON"), json.dumps(TICK_JSON)
    topic, back = world.topic(), world.topic()
    ours = Schema(text, "JSON", (Reference("place.json", subject, 1),))
    we_write(world, topic, JSON_VALUE, value="json", schema=ours)
    schema = TheirSchema(text, "JSON", [SchemaReference("place.json", subject, 1)])
    deserializer = JSONDeserializer(schema, schema_registry_client=theirs)
    assert they_read(world, topic, deserializer, 1) == [JSON_VALUE]
    they_write(world, back, JSONSerializer(schema, theirs), JSON_VALUE)
    assert we_read(world, back, value="json-schema") == [JSON_VALUE]


def tick(messages: Any) -> Any:
    message = messages.Tick(symbol="AMZN", price=3.5, legs=[{"quantity": 2**40}])
    message.place.city = "Basel"
    message.place.country.code = "CH"
    message.at.FromDatetime(NOW)
    return message


AS_DICT = {
    "symbol": "AMZN",
    "price": 3.5,
    "legs": [{"quantity": 2**40}],
    "place": {"city": "Basel", "country": {"code": "CH"}},
    "at": NOW,
}


def their_protobuf(theirs: SchemaRegistryClient, kind: Any) -> tuple[Any, Any]:
    conf = {"use.deprecated.format": False}
    return ProtobufSerializer(kind, theirs, conf), ProtobufDeserializer(kind, conf, theirs)


@pytest.mark.slow
def test_generated_classes_both_ways_with_an_import(
    world: SchemaWorld, theirs: SchemaRegistryClient, messages: Any
) -> None:
    topic, back, message = world.topic(), world.topic(), tick(messages)
    serializer, deserializer = their_protobuf(theirs, messages.Tick)
    we_write(world, topic, message, AS_DICT, value="protobuf", schema=messages.Tick)
    assert they_read(world, topic, deserializer, 2) == [message, message]
    they_write(world, back, serializer, message)
    assert we_read(world, back, value="protobuf", schema=messages.Tick) == [message]
    assert we_read(world, back, value="protobuf") == [AS_DICT]
    # Both registered the same file: it has one id.
    with RegistryClient(world.url) as registry:
        assert registry.version(f"{topic}-value").id == registry.version(f"{back}-value").id


@pytest.mark.slow
def test_nested_messages_both_ways(
    world: SchemaWorld, theirs: SchemaRegistryClient, messages: Any
) -> None:
    topic, kind = world.topic(), messages.Tick.Leg.Deep
    serializer, deserializer = their_protobuf(theirs, kind)
    we_write(world, topic, kind(note="ours"), value="protobuf", schema=kind)
    they_write(world, topic, serializer, kind(note="theirs"))
    expected = [kind(note="ours"), kind(note="theirs")]
    assert they_read(world, topic, deserializer, 2) == expected
    assert we_read(world, topic, value="protobuf", schema=kind) == expected
    assert we_read(world, topic, value="protobuf") == [{"note": "ours"}, {"note": "theirs"}]


@pytest.mark.slow
def test_protobuf_text_from_dicts_is_read_by_their_classes(
    world: SchemaWorld, theirs: SchemaRegistryClient, messages: Any
) -> None:
    topic = world.topic()
    text = 'syntax = "proto3"; package compat.tick; message First { int32 n = 1; }'
    we_write(world, topic, {"n": 7}, value="protobuf", schema=text)
    _, deserializer = their_protobuf(theirs, messages.First)
    assert they_read(world, topic, deserializer, 1) == [messages.First(n=7)]


@pytest.mark.slow
def test_a_guid_in_a_header_is_read(
    world: SchemaWorld, theirs: SchemaRegistryClient, messages: Any
) -> None:
    from confluent_kafka.schema_registry import header_schema_id_serializer

    conf: Any = {"schema.id.serializer": header_schema_id_serializer}
    topic, text = world.topic(), json.dumps({**TICK_AVRO, "fields": TICK_AVRO["fields"][:2]})
    value = {"symbol": "AMZN", "price": 3.5}
    they_write(world, topic, AvroSerializer(theirs, text, conf=conf), value)
    assert we_read(world, topic, value="avro") == [value]
    back = world.topic()
    serializer = ProtobufSerializer(messages.Tick.Leg, theirs, conf)
    they_write(world, back, serializer, messages.Tick.Leg(quantity=3))
    assert we_read(world, back, value="protobuf") == [{"quantity": 3}]
