"""Publish a made-up stock tick to `stock_avro_topic` every second, as Avro, until Ctrl-C.

The schema is registered as `stock_avro_topic-value`; each record begins with its id.
Run it with `python avro_produce.py [BOOTSTRAP_SERVERS] [REGISTRY_URL]`.
"""

import json
import random
import sys
import time
from datetime import UTC, datetime

from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

TOPIC = "stock_avro_topic"
TICKERS = ["AAPL", "AMZN", "GOOG", "MSFT"]
SCHEMA = {
    "type": "record",
    "name": "StockTick",
    "fields": [
        {"name": "event_time", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "ticker", "type": "string"},
        {"name": "price", "type": "double"},
    ],
}

servers = sys.argv[1] if len(sys.argv) > 1 else "localhost:19092"
registry = sys.argv[2] if len(sys.argv) > 2 else "http://localhost:8081"

producer = Producer({"bootstrap.servers": servers})
serialize = AvroSerializer(SchemaRegistryClient({"url": registry}), json.dumps(SCHEMA))
value_of_topic = SerializationContext(TOPIC, MessageField.VALUE)


def complain(error: KafkaError | None, message: Message) -> None:
    if error is not None:
        print(f"not published to {message.topic()}: {error}", flush=True)


try:
    while True:
        ticker = random.choice(TICKERS)
        tick = {
            "event_time": datetime.now(UTC),
            "ticker": ticker,
            "price": round(random.uniform(1, 100), 2),
        }
        value = serialize(tick, value_of_topic)
        producer.produce(TOPIC, key=ticker, value=value, on_delivery=complain)
        producer.flush()
        print(f"published {ticker} {tick['price']} in {len(value)} bytes", flush=True)
        time.sleep(1)
except KeyboardInterrupt:
    pass
