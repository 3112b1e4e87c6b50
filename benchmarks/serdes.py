"""`python -m benchmarks.serdes`: our codecs beside confluent-kafka's serializers.

Both make framed bytes of the same values and read them again, in one process, against one registry:
what counts is the ratio. Rates are per second of the processor, and of the best of ROUNDS. Theirs
are asked as their users ask them, with a context for each record; ours as Producer and Consumer
ask them.
"""

import json
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pydantic import BaseModel
from tests.proto_files import generated
from tests.schema_world import schema_world

from kafkaesque.client.schema_forms.forms import close, forms
from kafkaesque.client.schema_forms.options import SchemaOptions
from kafkaesque.client.serde import encode

RECORDS = 5_000
ROUNDS = 5
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

AVRO = {
    "type": "record",
    "name": "Tick",
    "fields": [
        {"name": "symbol", "type": "string"},
        {"name": "price", "type": "double"},
        {"name": "volume", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "note", "type": ["null", "string"], "default": None},
    ],
}
JSON = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Tick",
    "type": "object",
    "properties": {
        "symbol": {"type": "string"},
        "price": {"type": "number"},
        "volume": {"type": "integer"},
        "at": {"type": "string"},
        "note": {"type": ["string", "null"]},
    },
    "required": ["symbol", "price", "volume", "at"],
}
PROTO = """
syntax = "proto3";
package benchmark;
import "google/protobuf/timestamp.proto";
message Tick {
  string symbol = 1;
  double price = 2;
  int64 volume = 3;
  google.protobuf.Timestamp at = 4;
  optional string note = 5;
}
"""
VALUE = {"symbol": "AMZN", "price": 74.95, "volume": 1200, "at": NOW, "note": "open"}
JSON_VALUE = {**VALUE, "at": NOW.isoformat()}


class Rates(NamedTuple):
    """Records per second."""

    encode: float
    decode: float


class Tick(BaseModel):
    symbol: str
    price: float
    volume: int
    at: datetime
    note: str | None = None


def ours(topic: str, form: str, schema: Any, url: str, value: Any) -> Rates:
    key, made = forms("str", form, SchemaOptions(schema=schema, registry=url))
    assert made.for_topic is not None
    for_topic, decode = made.for_topic, made.decode
    data = for_topic(topic).encode(value)
    rates = Rates(
        rate(lambda: encode(for_topic(topic), value, "value")),
        rate(lambda: decode(data)),
    )
    close(key, made)
    return rates


def theirs(topic: str, serializer: Any, deserializer: Any, value: Any) -> Rates:
    def context() -> SerializationContext:
        return SerializationContext(topic, MessageField.VALUE)

    data = serializer(value, context())
    return Rates(
        rate(lambda: serializer(value, context())),
        rate(lambda: deserializer(data, context())),
    )


def rate(call: Callable[[], object]) -> float:
    seconds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(RECORDS):
            call()
        seconds.append(time.process_time() - start)
    return RECORDS / min(seconds)


def measure(directory: Path) -> dict[str, tuple[Rates, Rates]]:
    """Ours and theirs, by form."""
    kind = generated(directory, {"benchmark_tick.proto": PROTO})["benchmark_tick.proto"].Tick
    message = kind(symbol="AMZN", price=74.95, volume=1200, note="open")
    message.at.FromDatetime(NOW)
    with (
        schema_world(directory) as world,
        SchemaRegistryClient({"url": world.url}) as client,
        # Readers are other programs: they know nothing that a writer was told.
        SchemaRegistryClient({"url": world.url}) as reading,
    ):
        url, conf = world.url, {"use.deprecated.format": False}
        avro = AvroSerializer(client, json.dumps(AVRO)), AvroDeserializer(reading)
        text = json.dumps(JSON)
        plain = JSONSerializer(text, client), JSONDeserializer(text)
        proto = ProtobufSerializer(kind, client, conf), ProtobufDeserializer(kind, conf, reading)
        their_avro = theirs("avro", *avro, VALUE)
        their_proto = theirs("proto", *proto, message)
        model = Tick.model_validate(VALUE)
        return {
            "avro": (ours("avro", "avro", AVRO, url, VALUE), their_avro),
            "avro, a model": (ours("model", "avro", Tick, url, model), their_avro),
            "json": (
                ours("json", "json", JSON, url, JSON_VALUE),
                theirs("json", *plain, JSON_VALUE),
            ),
            "protobuf": (ours("proto", "protobuf", kind, url, message), their_proto),
            "protobuf, dicts": (ours("dicts", "protobuf", PROTO, url, VALUE), their_proto),
        }


def main() -> None:
    print(
        f"{'':18}{'encode/s':>10}{'theirs':>10}{'ratio':>7}{'decode/s':>11}{'theirs':>10}{'ratio':>7}"
    )
    with tempfile.TemporaryDirectory() as directory:
        for name, (mine, other) in measure(Path(directory)).items():
            written = f"{mine.encode:10,.0f}{other.encode:10,.0f}{mine.encode / other.encode:7.1f}"
            read = f"{mine.decode:11,.0f}{other.decode:10,.0f}{mine.decode / other.decode:7.1f}"
            print(f"{name:18}{written}{read}")


if __name__ == "__main__":
    main()
