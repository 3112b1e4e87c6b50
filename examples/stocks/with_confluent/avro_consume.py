"""Print the stock ticks of `stock_avro_topic` from the earliest on, until Ctrl-C.

No schema is named here: each record says which one it was written with.
Run it with `python avro_consume.py [BOOTSTRAP_SERVERS] [REGISTRY_URL]`.
"""

import sys
from typing import Any

from confluent_kafka import Consumer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

TOPIC = "stock_avro_topic"

servers = sys.argv[1] if len(sys.argv) > 1 else "localhost:19092"
registry = sys.argv[2] if len(sys.argv) > 2 else "http://localhost:8081"

c = Consumer(
    {
        "bootstrap.servers": servers,
        "group.id": "python-avro-consumer",
        "auto.offset.reset": "earliest",
    }
)
c.subscribe([TOPIC])
deserialize = AvroDeserializer(SchemaRegistryClient({"url": registry}))
value_of_topic = SerializationContext(TOPIC, MessageField.VALUE)

try:
    while True:
        message = c.poll(1.0)
        if message is None:
            continue
        if error := message.error():
            print(f"not read: {error}", flush=True)
            continue
        tick: Any = deserialize(message.value(), value_of_topic)
        place = f"partition {message.partition()}, offset {message.offset()}"
        moment = tick["event_time"].isoformat(timespec="microseconds")
        print(f"{moment}  {tick['ticker']:<4}  {tick['price']:>6.2f}  ({place})", flush=True)
except KeyboardInterrupt:
    pass
finally:
    c.close()
