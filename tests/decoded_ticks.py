"""Ticks as foreign programs write them: confluent-kafka's serializers for Avro, JSON Schema and
Protobuf, each of which registers its schema. `FORMS` names them."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tests import foreign

FORMS = ("avro", "json", "protobuf")

AVRO_FIELDS: list[dict[str, Any]] = [
    {"name": "ticker", "type": "string"},
    {"name": "price", "type": "double"},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}, "default": 0},
]
AVRO = {"type": "record", "name": "Tick", "namespace": "market", "fields": AVRO_FIELDS}
JSON = {
    "title": "Tick",
    "type": "object",
    "properties": {"ticker": {"type": "string"}, "price": {"type": "number"}},
    "required": ["ticker", "price"],
}


def tick(number: int) -> dict[str, Any]:
    return {"ticker": ("AMZN", "GOOG")[number % 2], "price": float(number)}


def tick_class() -> Any:
    """Of `message Tick { string ticker = 1; double price = 2; }`."""
    file = descriptor_pb2.FileDescriptorProto(name="tick.proto", package="market", syntax="proto3")
    message = file.message_type.add(name="Tick")
    string, double = 9, 1
    for number, (name, kind) in enumerate((("ticker", string), ("price", double)), 1):
        message.field.add(name=name, number=number, type=kind, label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("market.Tick"))


def serializer(registry: SchemaRegistryClient, form: str) -> Callable[[dict[str, Any], str], bytes]:
    """(tick, topic) -> what a foreign producer would send."""
    made: Any
    if form == "avro":
        made = AvroSerializer(registry, json.dumps(AVRO))
    elif form == "json":
        made = JSONSerializer(json.dumps(JSON), registry)
    else:
        kind = tick_class()
        protobuf = ProtobufSerializer(kind, registry, {"use.deprecated.format": False})

        def made(value: dict[str, Any], context: SerializationContext) -> Any:
            return protobuf(kind(**value), context)

    def serialize(value: dict[str, Any], topic: str) -> bytes:
        found: bytes = made(value, SerializationContext(topic, MessageField.VALUE))
        return found

    return serialize


def write(
    bootstrap: str, topic: str, values: Sequence[bytes], keys: Sequence[bytes | None] = ()
) -> None:
    """In order, to the first partition."""
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for number, value in enumerate(values):
        producer.produce(topic, value, keys[number] if keys else None, partition=0)
    assert producer.flush(foreign.TIMEOUT_S) == 0
